"""Validates what any door is asked: question, repository, run mode."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from runtime.errors import InputError, QuestionError, RepositoryError
from runtime.pipeline.run_terms import RunMode

if TYPE_CHECKING:
    from runtime.settings import Settings


# A path has lost one slash of an address. It is not printed: it may hold a password.
_ADDRESS = re.compile(r"[a-z][a-z+]+:/|[\w.-]+@[\w.-]+:", re.IGNORECASE)


def checked_text(question: str) -> str:
    """Return the stripped question. Raises QuestionError if it is empty or no text."""
    text = question.strip()
    if not text:
        raise QuestionError('the question is empty; ask something, for example: jeeves ask "How are errors handled?"')
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise QuestionError("the question contains bytes that are not valid UTF-8; write it as text") from error
    if "\0" in text:
        raise QuestionError("the question holds the character U+0000, which no text may; leave it out")
    return text


def checked_question(question: str, settings: Settings) -> str:
    """Return the stripped question. Raises QuestionError, also if it is longer than the settings allow."""
    text = checked_text(question)
    limit = settings.limits.max_question_chars
    if len(text) > limit:
        raise QuestionError(
            f"the question has {len(text)} characters, at most {limit} are allowed; shorten it or raise "
            "limits.max_question_chars",
            actual=len(text),
            allowed=limit,
        )
    return text


def checked_repository(repo: Path) -> str:
    """Return the absolute path of a folder. Raises RepositoryError."""
    try:
        path = repo.expanduser().resolve()
        if not path.exists():
            if _ADDRESS.match(str(repo)):
                raise RepositoryError("--repo is an address; clone it, and give the folder of the clone")
            raise RepositoryError(f"{repo} does not exist; give the folder of a repository with --repo", path=str(repo))
        if not path.is_dir():
            raise RepositoryError(f"{repo} is not a folder; give the folder that holds it with --repo", path=str(repo))
        next(path.iterdir(), None)
        str(path).encode("utf-8")
    except UnicodeEncodeError as error:
        raise RepositoryError(f"{path!r}: the folder's name is not valid UTF-8; rename it", path=repr(path)) from error
    except (OSError, RuntimeError, ValueError) as error:
        raise RepositoryError(f"{repo} cannot be read: {error}", path=str(repo)) from error
    return str(path)


def checked_run_mode(mode: str | None, pipeline: str, settings: Settings) -> RunMode | None:
    """Return the run mode. Raises InputError if there is none of that name, or the pipeline cannot run in it."""
    if mode is None:
        return None
    known: tuple[RunMode, ...] = get_args(RunMode)
    found = next((one for one in known if one == mode), None)
    if found is None:
        raise InputError(f"no run mode is named '{mode}'; known: {', '.join(known)}", run_mode=mode)
    # Imported here: most questions name no run mode, and need none of it.
    from runtime.pipeline.run_modes import check_run_mode
    from serve.pipeline_files import load_named_pipeline

    check_run_mode(load_named_pipeline(settings, pipeline), found)
    return found
