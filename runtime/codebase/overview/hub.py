"""Finds what draws the parts together: the file where the whole is entered, by what it imports.

An entry that imports few parts itself is followed through the files that it imports; each step is an import with its
line. Where no single file draws parts together, the part that holds the entry does. Beside it stands the part that
imports most others. Pure functions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from runtime.codebase.overview.part_links import PartLinks

LEAST_PARTS = 2
LEAST_CONNECTED = 3
MAX_ENTRIES_TRIED = 6
MAX_STEPS = 3
# An entry that imports more files than this does something itself.
MAX_FOLLOWED = 3


@dataclass(frozen=True, slots=True)
class Import:
    """Represents one import: the `file`, its `line`, and what is imported (`target`: a file, folder or part)."""

    file: str
    line: int
    target: str


@dataclass(frozen=True, slots=True)
class Hub:
    """Represents what draws parts together: a file, or with `is_part` a part, which holds the file `entry`.

    `entry` is empty for a part that holds none. `steps`: the imports that lead from the entry to it; `imports`: one for
    each part.
    """

    name: str
    entry: str
    steps: tuple[Import, ...]
    imports: tuple[Import, ...]
    is_part: bool = False

    def ordered(self, ranks: Mapping[str, int]) -> Hub:
        """Return the hub with its imports in the order of the parts."""
        last = len(ranks)
        imports = sorted(self.imports, key=lambda one: (ranks.get(one.target, last), one.target))
        return replace(self, imports=tuple(imports))


def hub_of(links: PartLinks, entries: Iterable[str]) -> Hub | None:
    """Return the hub behind the first of the entry files, or folders of packages, that has one."""
    tried = list(dict.fromkeys(entries))[:MAX_ENTRIES_TRIED]
    for entry in tried:
        found = _followed(links, entry)
        if found is not None and (behind := _behind(links, found)) is not None:
            return behind
        if found is not None:
            part = _as_part(links, found.name)
            # Where others of its part import most, the part draws together, and not this file.
            return part if part is not None and len(part.imports) > 2 * len(found.imports) else found
    return next((part for entry in tried if (part := _as_part(links, entry)) is not None), None)


def _behind(links: PartLinks, found: Hub) -> Hub | None:
    """Return the part to which a file that imports hardly any other hands on, if that draws far more together."""
    if len(found.imports) > MAX_FOLLOWED:
        return None
    parts = ((step, _as_part(links, step.target)) for step in found.imports)
    known = [(step, part) for step, part in parts if part is not None]
    step, part = max(known, key=lambda one: (len(one[1].imports), one[1].name), default=(None, None))
    own = _as_part(links, found.name)
    least = max(LEAST_CONNECTED, 2 * len(found.imports), 0 if own is None else len(own.imports) + 1)
    if step is None or part is None or len(part.imports) < least:
        return None
    return replace(part, entry=found.entry, steps=(*found.steps, step))


def _as_part(links: PartLinks, entry: str) -> Hub | None:
    """Return the part that holds an entry, or is it, with its imports; None for one that imports few parts."""
    part = links.part_at(entry) or entry
    imports = tuple(Import(link.file, link.line, link.target) for link in links.edges_from(part))
    return Hub(part, entry, (), imports, is_part=True) if len(imports) >= LEAST_PARTS else None


def connector_of(links: PartLinks, hub: Hub | None, parts: Collection[str]) -> Hub | None:
    """Return the part beside the hub that imports most others, if those are several."""
    targets: dict[str, list[Import]] = {}
    known = set[str]() if hub is None else {hub.name, links.part_at(hub.name)}
    for link in links.edges:
        if link.source in parts and link.source not in known:
            targets.setdefault(link.source, []).append(Import(link.file, link.line, link.target))
    name = max(targets, key=lambda part: (len(targets[part]), part), default="")
    if len(targets.get(name, ())) < LEAST_CONNECTED:
        return None
    return Hub(name, "", (), tuple(targets[name]), is_part=True)


def _followed(links: PartLinks, entry: str) -> Hub | None:
    """Return the first file on the way from an entry that imports several parts."""
    seen = {entry}
    ways: list[tuple[str, tuple[Import, ...]]] = [(entry, ())]
    for _ in range(MAX_STEPS + 1):
        further: list[tuple[str, tuple[Import, ...]]] = []
        for file, steps in ways:
            imports = tuple(Import(*place, part) for part, place in links.parts_from(file).items())
            if len(imports) >= LEAST_PARTS:
                return Hub(file, entry, steps, imports)
            targets = {links.file_of(target): place for target, place in links.files_from(file).items()}
            targets = {target: place for target, place in targets.items() if target not in seen}
            if len(targets) <= MAX_FOLLOWED:
                seen.update(targets)
                further += [(target, (*steps, Import(*place, target))) for target, place in targets.items()]
        ways = further
    return None
