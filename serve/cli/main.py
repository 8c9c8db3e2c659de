"""Runs the `jeeves` program and reports its errors.

A JeevesError is printed as one line on standard error, with the exit status of its class; any other error is a bug,
whose traceback is shown only if JEEVES_DEBUG is set.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Callable, Sequence

from runtime.errors import JeevesError
from runtime.primitives.structured_logs import LogOptions, configure_logs
from runtime.processes.garbage import OBJECTS_BETWEEN_COLLECTIONS
from serve.cli.output.terminal import escape_what_cannot_be_written, print_traceback, warn_line

SINGLE_SETTINGS = frozenset(
    ("STATE_DIR", "SYSTEM", "CONFIG_DIR", "CAPABILITIES", "DEFAULT_PIPELINE", "WARM_PIPELINES", "REASONER")
)
"""Settings that one variable holds. Sections have `__` in the names of their variables."""


def main(arguments: Sequence[str] | None = None, prepare: Callable[[], None] = lambda: None) -> None:
    """Run the `jeeves` script, with the arguments of the process or those given; `prepare` is called first."""
    try:
        _run(arguments, prepare)
    except SystemExit as ended:
        # Commands that start work which may not stop have imported this.
        if (process_end := sys.modules.get("serve.cli.process_end")) is not None:
            process_end.leave(ended.code if isinstance(ended.code, int) else int(ended.code is not None))
        raise


def _run(arguments: Sequence[str] | None, prepare: Callable[[], None]) -> None:
    debugging = bool(os.environ.get("JEEVES_DEBUG"))
    # What a command imports stays until it ends; looking through it by default is a tenth of a warm question.
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    sys.excepthook = print_traceback
    escape_what_cannot_be_written()
    # Without a handler, Python prints warnings and errors of the log; commands choose another place with the settings.
    if debugging:
        configure_logs(LogOptions(), "cli")
    else:
        logging.getLogger().addHandler(logging.NullHandler())
    try:
        prepare()
        _warn_of_variables()
        given = sys.argv[1:] if arguments is None else list(arguments)
        if given[:1] == ["ask"] and (status := _asked_at_once(given[1:])) is not None:
            raise SystemExit(status)
        # Loading the commands takes a while; interrupting it must not show a traceback.
        from serve.cli.command_table import app

        # Given arguments begin with the name of a command, which was not typed behind that of this program.
        app(arguments, prog_name=None if arguments is None else "jeeves")
    except JeevesError as error:
        if debugging:
            raise
        warn_line(f"jeeves: {one_line(error.message)}")
        raise SystemExit(error.exit_status) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:
        # The reader is gone; redirect stdout so that the interpreter's own flush at exit stays quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except OSError as error:
        if debugging:
            raise
        warn_line(f"jeeves: {one_line(str(error))}")
        raise SystemExit(1) from None
    except Exception as error:
        if debugging:
            raise
        problem = one_line(f"{type(error).__name__}: {error}")
        warn_line(f"jeeves: this is a bug: {problem}; JEEVES_DEBUG=1 shows where")
        raise SystemExit(1) from None


def _asked_at_once(arguments: Sequence[str]) -> int | None:
    # Imported here: other commands need none of it.
    from serve.cli.warm_question import ask_warm_system

    return ask_warm_system(arguments)


def _warn_of_variables() -> None:
    ours = (name.upper().partition("JEEVES_") for name in os.environ)
    if all(before or not mark or "__" in name or name in SINGLE_SETTINGS for before, mark, name in ours):
        return  # the settings take a while to import
    from runtime.settings import unknown_variables

    for warning in unknown_variables(os.environ):
        warn_line(f"jeeves: {warning}")


def one_line(text: str) -> str:
    """Return an error message without line breaks."""
    return " ".join(text.split())


if __name__ == "__main__":
    main()
