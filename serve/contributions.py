"""Lists what is contributed to the kernel, by names ("module:NAME") that every process can load.

Contributions of this repository are listed here; an installed package names its own by entry point.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from runtime.errors import SettingsError

CAPABILITIES_GROUP = "jeeves.capabilities"
STORE_PARTS_GROUP = "jeeves.store_parts"
PROVIDERS_GROUP = "jeeves.providers"

CONFIGS = "configs"

# Capabilities of this repository: no other package takes the name of one.
_OWN = "actors.capabilities."
_OWN_FOLDER = Path(__file__).resolve().parent.parent / "actors" / "capabilities"
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")

# Knowledge of repositories belongs to the code index.
_STORE_PARTS = (
    "runtime.memory.capability_values:VALUES",
    "runtime.codebase.knowledge.earlier_answers:EARLIER_ANSWERS",
    "runtime.codebase.knowledge.relation_store:RELATIONS",
    "actors.capabilities.code_change.store.session_store:CODE_CHANGES",
)
CHANGE_SESSIONS = "actors.capabilities.code_change.session.service:CHANGE_SESSIONS"
# vLLM runs on Ray Serve, which the kernel does not depend on.
_PROVIDERS = ("serve.llm.vllm_provider:PROVIDER",)


def store_parts() -> tuple[str, ...]:
    """Return the parts of the store beside the kernel's own."""
    return (*_STORE_PARTS, *_installed(STORE_PARTS_GROUP))


def providers() -> tuple[str, ...]:
    """Return the providers of models beside the kernel's own."""
    return (*_PROVIDERS, *_installed(PROVIDERS_GROUP))


def capabilities() -> tuple[str, ...]:
    """Return the names of the capabilities that installed packages declare."""
    return tuple(sorted({entry.name for entry in _entries(CAPABILITIES_GROUP, tuple(sys.path))}))


def is_own(name: str) -> bool:
    """Return True for a capability of this repository, whose configuration ships with the rest."""
    return (_OWN_FOLDER / name).is_dir()


def capability_named(name: str) -> str:
    """Return the "module:NAME" of a capability. Raises SettingsError if no package declares it, or several do."""
    found = [entry for entry in _entries(CAPABILITIES_GROUP, tuple(sys.path)) if entry.name == name]
    own = [entry for entry in found if entry.value.startswith(_OWN)]
    values = sorted({entry.value for entry in own or found})
    if not values:
        installed = ", ".join(capabilities())
        raise SettingsError(f"capability '{name}' is not installed; installed: {installed}", name=name)
    if len(values) > 1:
        named = " and ".join(sorted(f"{entry.value} of {_package(entry)}" for entry in found))
        raise SettingsError(f"capability '{name}' is declared twice: {named}; uninstall one", name=name)
    return values[0]


def configs_of(spec: str) -> Path | None:
    """Return the folder `configs` beside the module of "module:NAME", or None if there is none.

    The package is looked up, not imported: whoever lists pipelines runs no code of packages that it does not use.
    """
    module = spec.partition(":")[0]
    if not _MODULE.fullmatch(module):
        return None
    root, *rest = module.split(".")
    try:
        found = find_spec(root)
    except (ImportError, ValueError):
        return None
    places = [] if found is None else found.submodule_search_locations or []
    for place in places:
        path = Path(place).joinpath(*rest)
        configs = (path if path.is_dir() else path.parent) / CONFIGS
        if configs.is_dir():
            return configs
    return None


def _package(entry: EntryPoint) -> str:
    return "an unnamed package" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


def _installed(group: str) -> tuple[str, ...]:
    return tuple(entry.value for entry in _entries(group, tuple(sys.path)))


@cache
def _entries(group: str, _path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Read the entry points of all installed packages, which takes some 50 ms, once per process and search path."""
    return tuple(sorted(entry_points(group=group), key=lambda entry: entry.name))
