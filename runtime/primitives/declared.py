"""Loads declarations by name ("module:NAME"); names are plain data and can be sent to any process."""

from __future__ import annotations

import importlib
from typing import TypeVar

from runtime.errors import SettingsError

Kind = TypeVar("Kind")

MAX_PROBLEM_CHARS = 1_000


def declared(spec: str, kind: type[Kind], what: str) -> Kind:
    """Return the object of type `kind` named by `spec` ("module:NAME"), `what` in errors. Raises SettingsError.

    Importing runs code of other authors, which may raise anything.
    """
    module_name, _, attribute = spec.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise SettingsError(f"{what} '{spec}' cannot be loaded: {error}", spec=spec) from error
    except (Exception, SystemExit) as error:
        problem = f"its import raised {type(error).__name__}: {error}"
        raise SettingsError(f"{what} '{spec}' cannot be loaded: {problem[:MAX_PROBLEM_CHARS]}", spec=spec) from error
    if not isinstance(found, kind):
        raise SettingsError(f"'{spec}' is a {type(found).__name__}, not a {kind.__name__}", spec=spec)
    return found
