"""Validates the inputs of commands that ask: question, repository, models, bounds."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from runtime.errors import SettingsError
from runtime.settings import SYSTEM_NAME, Settings

# Commands take all checks of their input from here.
from serve.checked_input import checked_question as checked_question
from serve.checked_input import checked_repository as checked_repository
from serve.checked_input import checked_run_mode as checked_run_mode

SystemOption = Annotated[
    str | None, typer.Option("--system", help="Name of the system; default: the one of the settings.")
]
REASONERS = ("rules", "llm")

RunModeOption = Annotated[
    str | None, typer.Option(help="sequential or parallel, if the pipeline can; default: as configured.")
]


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
