"""Makes the question that a host answers of what a caller of the library asked."""

from __future__ import annotations

from pathlib import Path

from runtime.errors import InputError
from runtime.run.bounds import known_limits
from runtime.settings import Settings
from serve.answer_document import Ask
from serve.capability_sections import mode_named
from serve.checked_input import checked_question, checked_repository, checked_run_mode, checked_text
from serve.library.backend import Asked
from serve.pipeline_files import load_named_pipeline
from serve.session_names import check_session_name

MAX_DEADLINE_S = 3_600
MAX_LIMIT = 2**53


def ask_of(asked: Asked, settings: Settings, user_id: str) -> Ask:
    """Return the checked question. Raises InputError and its subclasses, as the HTTP service does."""
    question = checked_question(asked.question, settings)
    chosen = mode_named(settings, asked.mode, asked.pipeline, asked.limits, asked.deadline_s)
    if chosen.reasoner not in (None, settings.reasoner):
        raise InputError(f"mode '{asked.mode}' reasons by {chosen.reasoner}, the settings by {settings.reasoner}")
    allowed = known_limits(load_named_pipeline(settings, chosen.pipeline))
    if unknown := sorted(set(asked.limits) - set(allowed)):
        known = ", ".join(allowed)
        raise InputError(f"limits: there is no {', '.join(unknown)}; the pipeline '{chosen.pipeline}' has {known}")
    return Ask(
        question=question,
        repo=checked_repository(Path(asked.repo or ".")),
        pipeline=chosen.pipeline,
        session_id=asked.session,
        user_id=user_id,
        limits=chosen.limits,
        deadline_s=chosen.deadline_s,
        wait=asked.wait,
        clarify=asked.wait,
        run_mode=checked_run_mode(asked.run_mode, chosen.pipeline, settings),
        mode=asked.mode,
        product=chosen.product,
    )


def check_question(asked: Asked) -> None:
    """Raise QuestionError or InputError for what no place answers; the rest is checked where it is answered."""
    checked_text(asked.question)
    if asked.session is not None:
        check_session_name(asked.session)
    if asked.deadline_s is not None and not 0 < asked.deadline_s <= MAX_DEADLINE_S:
        raise InputError(f"deadline_s is {asked.deadline_s:g}; give more than 0 and at most {MAX_DEADLINE_S} seconds")
    for name, most in asked.limits.items():
        if isinstance(most, bool) or not isinstance(most, int) or not 0 <= most <= MAX_LIMIT:
            raise InputError(f"limits: {name} is {most!r}; give a whole number from 0 to {MAX_LIMIT}")
