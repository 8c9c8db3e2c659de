"""What packages outside the kernel contribute to it, by the name "module:NAME" under which every process finds it.

Those of this repository are listed here; an installed package names its own by entry point.
"""

from __future__ import annotations

from importlib.metadata import entry_points

STORE_PARTS_GROUP = "jeeves.store_parts"

# What is remembered of repositories belongs to the code index.
_STORE_PARTS = (
    "runtime.codebase.knowledge.earlier_answers:EARLIER_ANSWERS",
    "runtime.codebase.knowledge.relation_store:RELATIONS",
)


def store_parts() -> tuple[str, ...]:
    """The parts of the store beside the kernel's own."""
    return (*_STORE_PARTS, *_installed(STORE_PARTS_GROUP))


def _installed(group: str) -> list[str]:
    return [entry.value for entry in sorted(entry_points(group=group), key=lambda entry: entry.name)]
