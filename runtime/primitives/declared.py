"""Finds what a package outside declares, by its name "module:NAME": plain data that every process can be told."""

from __future__ import annotations

import importlib
from typing import TypeVar

from runtime.errors import SettingsError

Kind = TypeVar("Kind")


def declared(spec: str, kind: type[Kind], what: str) -> Kind:
    """The `kind` that "module:NAME" names; `what` says in errors what was looked for. Raises SettingsError."""
    module_name, _, attribute = spec.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise SettingsError(f"{what} '{spec}' cannot be loaded: {error}", spec=spec) from error
    if not isinstance(found, kind):
        raise SettingsError(f"'{spec}' is a {type(found).__name__}, not a {kind.__name__}", spec=spec)
    return found
