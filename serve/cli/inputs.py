"""What every command that asks takes in, checked at the door: question, repository, bounds."""

from __future__ import annotations

from pathlib import Path

from runtime.errors import QuestionError, RepositoryError, SettingsError
from runtime.settings import Settings

REASONERS_AVAILABLE = ("rules",)


def checked_question(question: str, settings: Settings) -> str:
    """The question, or QuestionError when it is empty or longer than the settings allow."""
    text = question.strip()
    if not text:
        raise QuestionError('the question is empty; ask something, for example: jeeves ask "How are errors handled?"')
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise QuestionError("the question holds bytes that are no UTF-8; write it as text") from error
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
    """The absolute path of a folder, or RepositoryError."""
    try:
        path = repo.expanduser().resolve()
        if not path.exists():
            raise RepositoryError(f"{repo} does not exist; give the folder of a repository with --repo", path=str(repo))
        if not path.is_dir():
            raise RepositoryError(f"{repo} is not a folder; give the folder that holds it with --repo", path=str(repo))
        next(path.iterdir(), None)
        str(path).encode("utf-8")
    except UnicodeEncodeError as error:
        raise RepositoryError(f"{path!r}: the name of this folder is no UTF-8; rename it", path=repr(path)) from error
    except (OSError, RuntimeError, ValueError) as error:
        raise RepositoryError(f"{repo} cannot be read: {error}", path=str(repo)) from error
    return str(path)


def checked_reasoner(settings: Settings) -> None:
    """Raise SettingsError for a reasoner that this version does not have."""
    if settings.reasoner not in REASONERS_AVAILABLE:
        available = ", ".join(REASONERS_AVAILABLE)
        raise SettingsError(f"reasoner '{settings.reasoner}' is not available in this version; available: {available}")


def limits_from(**given: int | None) -> dict[str, int]:
    """The bounds that were given on the command line; each may only lower the pipeline's own."""
    return {name: value for name, value in given.items() if value is not None}
