"""Finds the declared dependency that a text means by the name it gives, in whichever spelling."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runtime.codebase.dependencies.import_names import module_names
from runtime.codebase.dependencies.requirement import Requirement, plain, short_names


def named(requirements: Sequence[Requirement], name: str) -> list[Requirement]:
    """Return all declarations of the dependency of a name: as published, by its last part, or as it is imported.

    The published name goes before the others, so that `click` is not `types-click`.
    """
    wanted = plain(name)
    exact = [each for each in requirements if plain(each.name) == wanted]
    return exact or [each for each in requirements if wanted in _names(each)]


def _names(requirement: Requirement) -> frozenset[str]:
    return short_names(requirement).union(plain(each) for each in module_names(requirement))


def all_names(requirements: Iterable[Requirement]) -> frozenset[str]:
    """Return every plain name by which a text may mean one of the dependencies."""
    return frozenset(name for each in requirements for name in _names(each))
