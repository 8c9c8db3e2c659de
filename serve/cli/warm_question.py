"""Asks a warm system that has the settings and the code of this command, without reading settings.

That is a shortcut of `jeeves ask` for plain command lines. Typer, settings and pipelines take several times as long to
import and read as a small question to answer. In any doubt nothing is asked or printed here, and the command runs as
ever: it says what is wrong.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime.primitives.settings_sources import state_dir_in

if TYPE_CHECKING:
    from serve.cli.output.display import Display
    from serve.runtimes.answering import AskCallbacks
    from serve.runtimes.warm import WarmRuntime
    from serve.typed_question import TypedQuestion

_WITH_VALUE = ("--repo", "--session", "--pipeline", "--mode", "--config", "--system")
_FLAGS = ("--json", "--explain", "--wait")


def plain_options(arguments: Sequence[str]) -> dict[str, str] | None:
    """Return the options of a plain question, itself under `question`; a flag has an empty value. None: not plain.

    Plain is one question, and each option once, with a value of its own that does not look like an option.
    """
    found: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        name, value = argument, ""
        if not argument.startswith("-"):
            name, value = "question", argument
        elif argument in _WITH_VALUE:
            value = next(rest, "")
        elif argument not in _FLAGS:
            return None
        if name in found or (name not in _FLAGS and (not value or value.startswith("-"))):
            return None
        found[name] = value
    return found if "question" in found else None


def ask_warm_system(arguments: Sequence[str]) -> int | None:
    """Answer the question of a plain `jeeves ask` and return its exit status; None if nothing was asked."""
    options = plain_options(arguments)
    if options is None or not _has_records():
        return None
    from serve.runtimes.shortcut import find_shortcut

    config = options.get("--config")
    shortcut = find_shortcut(Path(config) if config else None, options.get("--system"), os.environ)
    if shortcut is None:
        return None
    typed = _typed(options)
    if typed is None:
        return None
    from runtime.primitives.structured_logs import LogOptions
    from serve.answer_document import exit_status
    from serve.cli.command_settings import log_as_told
    from serve.cli.output.rebuilt_files import reporting_rebuilt_files
    from serve.cli.process_end import run_to_end

    warm, told = shortcut
    folders = [Path(folder) for folder in told.folders]
    log_as_told(LogOptions(told.log_level, told.log_format), folders[0])
    with reporting_rebuilt_files(*folders):
        document = run_to_end(_answered(warm, typed, "--json" in options))
    return None if document is None else exit_status(document)


def _has_records() -> bool:
    """Return True if a system of the state folder may be up; looking for one imports more than this does."""
    try:
        return any((state_dir_in(os.environ) / "warm").rglob("record.json"))
    except (OSError, RuntimeError):
        return False  # the settings tell what is wrong


def _typed(options: dict[str, str]) -> TypedQuestion | None:
    from runtime.errors import JeevesError
    from serve.checked_input import checked_repository
    from serve.cli.asking import is_at_terminal
    from serve.typed_question import TypedQuestion

    try:
        repo = checked_repository(Path(options.get("--repo", "")))
    except JeevesError:
        return None  # other faults are told before this one
    return TypedQuestion(
        question=options["question"],
        repo=repo,
        session_id=options.get("--session"),
        pipeline=options.get("--pipeline"),
        mode=options.get("--mode"),
        explain="--explain" in options,
        wait="--wait" in options or is_at_terminal(),
        clarify="--wait" in options,
    )


async def _answered(warm: WarmRuntime, typed: TypedQuestion, as_json: bool) -> dict[str, Any] | None:
    from serve.cli.asking import shown

    async def answer(callbacks: AskCallbacks, display: Display) -> dict[str, Any] | None:
        display.status("starting")
        return await warm.ask_typed(typed, callbacks)

    return await shown(answer, as_json, typed.clarify)
