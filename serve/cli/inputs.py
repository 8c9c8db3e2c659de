"""Validates the inputs of commands that ask: question, repository, models, bounds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, get_args

import typer

from runtime.errors import InputError, QuestionError, RepositoryError, SettingsError
from runtime.pipeline.config import RunMode
from runtime.settings import SYSTEM_NAME, Settings

SystemOption = Annotated[
    str | None, typer.Option("--system", help="Name of the system; default: the one of the settings.")
]
REASONERS = ("rules", "llm")

RunModeOption = Annotated[
    str | None, typer.Option(help="sequential or parallel, if the pipeline can; default: as configured.")
]


def checked_question(question: str, settings: Settings) -> str:
    """Return the stripped question. Raises QuestionError if it is empty or longer than the settings allow."""
    text = question.strip()
    if not text:
        raise QuestionError('the question is empty; ask something, for example: jeeves ask "How are errors handled?"')
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise QuestionError("the question contains bytes that are not valid UTF-8; write it as text") from error
    if "\0" in text:
        raise QuestionError("the question holds the character U+0000, which no text may; leave it out")
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


def with_models(settings: Settings, reasoner: str | None, models: str | None) -> Settings:
    """Return the settings with the command line's overrides; a model file alone implies the reasoner `llm`.

    Raises SettingsError for an unknown reasoner, and for models that cannot be used: an invalid file, or a missing key,
    tokenizer or certificate.
    """
    if models is not None:
        settings = settings.model_copy(update={"models": settings.models.model_copy(update={"file": models})})
    chosen = reasoner or ("llm" if models is not None else settings.reasoner)
    if chosen not in REASONERS:
        raise SettingsError(f"no reasoner is named '{chosen}'; known: {', '.join(REASONERS)}")
    settings = settings.model_copy(update={"reasoner": chosen})
    if chosen == "llm":
        _check_models(settings)
    return settings


def _check_models(settings: Settings) -> None:
    # Imported here: questions without a model need none of it.
    from runtime.llm.client_opening import check_deployment
    from runtime.llm.provider import all_providers
    from serve.contributions import providers
    from serve.wiring import models_file

    models = models_file(settings)
    if models is None:
        raise SettingsError(
            "the reasoner llm needs a model: name a model file with --models or as models.file in the settings, "
            "or use --reasoner rules"
        )
    known = all_providers(providers())
    for name in models.used_deployments():
        check_deployment(models.deployments[name], known)


def with_system(settings: Settings, system: str | None) -> Settings:
    """Return the settings for the system of that name, if one is given. Raises SettingsError."""
    if system is None:
        return settings
    if not re.fullmatch(SYSTEM_NAME, system):
        raise SettingsError(
            f"'{system}' cannot be the name of a system: at most 32 lower-case letters, digits and _, a letter first"
        )
    return settings.model_copy(update={"system": system})


def limits_from(**given: int | None) -> dict[str, int]:
    """Return the bounds given on the command line; each may only lower the pipeline's own."""
    return {name: value for name, value in given.items() if value is not None}
