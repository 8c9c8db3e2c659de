"""Holds a question as the command line has it, and applies settings to it.

A client that reads no settings sends it to the warm system, so nothing that takes long to import is imported above.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from serve.answer_document import Ask
from serve.principals import at_terminal

if TYPE_CHECKING:
    from runtime.settings import Settings
    from serve.capability_sections import Mode


class TypedQuestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """Represents what was typed: `question` None is asked for at a prompt; all else as `Ask` has it."""

    question: str | None
    repo: str
    session_id: str | None = None
    pipeline: str | None = None
    mode: str | None = None
    limits: dict[str, int] = {}
    deadline_s: float | None = None
    explain: bool = False
    wait: bool = False
    clarify: bool = False
    run_mode: str | None = None


def settled(typed: TypedQuestion, chosen: Mode, settings: Settings) -> Ask:
    """Return the question as it is asked in a mode, of the user who runs this process. Raises InputError and others."""
    from serve.checked_input import checked_question, checked_repository, checked_run_mode
    from serve.session_names import check_session_name

    if typed.session_id is not None:
        check_session_name(typed.session_id)
    return Ask(
        question="" if typed.question is None else checked_question(typed.question, settings),
        repo=checked_repository(Path(typed.repo)),
        pipeline=chosen.pipeline,
        session_id=typed.session_id,
        user_id=at_terminal().user_id,
        limits=chosen.limits,
        deadline_s=chosen.deadline_s,
        explain=typed.explain,
        wait=typed.wait,
        clarify=typed.clarify,
        durable=typed.clarify,
        run_mode=checked_run_mode(typed.run_mode, chosen.pipeline, settings),
        mode=typed.mode,
        product=chosen.product,
    )
