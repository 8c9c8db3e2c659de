"""Names the models of the service, CAPABILITY@REPOSITORY for each registered repository. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from runtime.errors import UnknownNameError

OWNER = "jeeves"


def served_models(capability: str, names: Collection[str]) -> dict[str, str]:
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
