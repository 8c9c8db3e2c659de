"""The `jeeves` program, and how errors leave it.

Errors of ours are one line on standard error and the exit status that their class names; anything else is a bug and
shows its traceback only with JEEVES_DEBUG set.
"""

from __future__ import annotations

import logging
import os
import sys

from runtime.errors import JeevesError


def main() -> None:
    """Entry point of the `jeeves` script."""
    debugging = bool(os.environ.get("JEEVES_DEBUG"))
    # Python prints warnings and errors of a log that nobody has set up: here they are told as one line, or not at all.
    logging.getLogger().addHandler(logging.StreamHandler() if debugging else logging.NullHandler())
    try:
        # Loading the commands takes its time, and whoever interrupts it wants to see no traceback.
        from serve.cli.command_table import app

        app()
    except JeevesError as error:
        if debugging:
            raise
        sys.stderr.write(f"jeeves: {one_line(error.message)}\n")
        raise SystemExit(error.exit_status) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:
        # The reader has gone; point stdout somewhere so that the interpreter's own flush at exit stays quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except OSError as error:
        if debugging:
            raise
        sys.stderr.write(f"jeeves: {one_line(str(error))}\n")
        raise SystemExit(1) from None
    except Exception as error:
        if debugging:
            raise
        problem = one_line(f"{type(error).__name__}: {error}")
        sys.stderr.write(f"jeeves: this is a bug: {problem}; JEEVES_DEBUG=1 shows where\n")
        raise SystemExit(1) from None


def one_line(text: str) -> str:
    """An error message without line breaks."""
    return " ".join(text.split())


if __name__ == "__main__":
    main()
