"""Lists what is contributed to the kernel, by names ("module:NAME") that every process can load.

Contributions of this repository are listed here; an installed package names its own by entry point.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

STORE_PARTS_GROUP = "jeeves.store_parts"
PROVIDERS_GROUP = "jeeves.providers"

# Knowledge of repositories belongs to the code index.
_STORE_PARTS = (
    "runtime.codebase.knowledge.earlier_answers:EARLIER_ANSWERS",
    "runtime.codebase.knowledge.relation_store:RELATIONS",
)
# vLLM runs on Ray Serve, which the kernel does not depend on.
_PROVIDERS = ("serve.llm.vllm_provider:PROVIDER",)


def store_parts() -> tuple[str, ...]:
    """Return the parts of the store beside the kernel's own."""
    return (*_STORE_PARTS, *_installed(STORE_PARTS_GROUP))


def providers() -> tuple[str, ...]:
    """Return the providers of models beside the kernel's own."""
    return (*_PROVIDERS, *_installed(PROVIDERS_GROUP))


@cache
def _installed(group: str) -> tuple[str, ...]:
    """Read the entry points of all installed packages, which takes some 50 ms, once per process."""
    return tuple(entry.value for entry in sorted(entry_points(group=group), key=lambda entry: entry.name))
