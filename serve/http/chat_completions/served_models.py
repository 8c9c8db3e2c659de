"""Names the models of the service: a capability and a registered repository, CAPABILITY@REPOSITORY. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from runtime.errors import UnknownNameError

OWNER = "jeeves"


def registered_names(repositories: tuple[str, ...]) -> dict[str, str]:
    """Return name → path of the registered repositories: their last folder, numbered from the second of one name on."""
    names: dict[str, str] = {}
    for path in repositories:
        plain = PurePath(path).name or "root"
        candidates = (plain if number == 1 else f"{plain}-{number}" for number in range(1, len(repositories) + 1))
        names[next(name for name in candidates if name not in names)] = path
    return names


def served_models(capability: str, names: Mapping[str, str]) -> dict[str, str]:
    """Return model → name of its repository; the plain capability stands for the only one."""
    models = {f"{capability}@{name}": name for name in names}
    return {capability: next(iter(names)), **models} if len(names) == 1 else models


def repository_of(model: str, models: Mapping[str, str]) -> str:
    """Return the name of a model's repository. Raises UnknownNameError."""
    if model not in models:
        known = ", ".join(models)
        raise UnknownNameError(f"there is no model '{model[:200]}'; there are: {known}", name=model[:200], known=[])
    return models[model]


def described(model: str, created_s: int) -> dict[str, Any]:
    """Return the description of a model."""
    return {"id": model, "object": "model", "created": created_s, "owned_by": OWNER}
