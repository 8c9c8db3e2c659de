"""Surveys a repository or folder: its purpose, its parts, the imports between them, the ways in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from runtime.codebase.codebase import Codebase
from runtime.codebase.overview.entry_calls import EntryCalls
from runtime.codebase.overview.entry_points import EntryPoint
from runtime.codebase.overview.folder_files import FolderFiles, Placed
from runtime.codebase.overview.hub import Hub, connector_of, hub_of
from runtime.codebase.overview.main_parts import MainParts, Part
from runtime.codebase.overview.part_links import PartLink
from runtime.codebase.overview.purposes import purposes_of
from runtime.codebase.overview.source_files import Aside
from runtime.codebase.overview.units import unit_of
from runtime.codebase.overview.ways_in import calls_of_entry, command_places, entries_of, reading_of

MAX_DESCRIBED = 12
MAX_LANGUAGES = 3
LEAST_SHARE = 0.01
MAX_DEPENDENCIES = 8


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Holds the names that a metadata file declares as direct dependencies, and the lines that hold the first ones."""

    file: str
    names: tuple[str, ...]
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Survey:
    """Holds what there is to tell of a folder: parts by weight, edges by the number of importing files.

    `lines`: of all source files; `languages`: each with its number of them and its largest file, down to one percent.
    """

    place: str
    purpose: tuple[Placed, ...]
    languages: tuple[Placed, ...]
    lines: int
    parts: tuple[Part, ...]
    asides: tuple[Aside, ...]
    edges: tuple[PartLink, ...]
    entries: tuple[EntryPoint, ...]
    dependencies: tuple[Dependencies, ...]
    reading: tuple[Placed, ...]
    hubs: tuple[Hub, ...] = ()
    calls: EntryCalls | None = None


def survey(codebase: Codebase, place: str = ".", *, described: int = MAX_DESCRIBED) -> Survey:
    """Survey the folder at a path relative to the root; `.` is the whole repository.

    `described`: of how many parts, the heaviest first, it is found out what they are.
    """
    files = FolderFiles(codebase, place)
    main = MainParts(files)
    entries = entries_of(files, main.units)
    reading = reading_of(files, main.links, entries)
    begun = command_places(files, entries)
    begun += [one.file for one in reading if one.about in {"main", "exports", "namesake"}]
    begun += [entry.target for entry in entries if entry.kind == "documented"]
    hub = hub_of(main.links, (*begun, *(entry.file for entry in entries)))
    # Files of one package are parts of their own here, though imports do not tell them apart.
    ranked = {unit.path: place for place, unit in enumerate(main.units)}
    calls = calls_of_entry(
        files, {path: unit.path for path, unit in unit_of(main.units).items()}, entries, reading, ranked
    )
    drawn = [] if hub is None else [one.target for one in hub.imports]
    called = [one.part for one in (*calls.calls, *calls.of_helper)] if calls else []
    main.prefer([*drawn, *called], _part_of_hub(main, hub))
    ranks = main.ranks()
    parts, purpose = main.parts(described), purposes_of(files)
    if not purpose and parts and parts[0].said is not None and not parts[0].said.about:
        purpose = [parts[0].said]
    return Survey(
        place,
        tuple(purpose),
        tuple(_languages(files)),
        sum(files.sizes.values()),
        tuple(parts),
        files.sources.asides,
        tuple(sorted(main.links.edges, key=lambda edge: _place_of(edge, ranks))),
        tuple(entries),
        tuple(_dependencies(files)),
        tuple(reading),
        tuple(one.ordered(ranks) for one in (hub, connector_of(main.links, hub, ranks)) if one is not None),
        calls,
    )


def _part_of_hub(main: MainParts, hub: Hub | None) -> str:
    """Return the part that draws others together; an empty string for none."""
    return "" if hub is None else main.links.part_at(hub.name) or hub.name


def _place_of(edge: PartLink, ranks: dict[str, int]) -> tuple[int, int, int]:
    """Return where an edge stands: those of more files first, of as many those between heavier parts."""
    last = len(ranks)
    ends = sorted((ranks.get(edge.source, last), ranks.get(edge.target, last)))
    return -edge.files, ends[1], ends[0]


def _languages(files: FolderFiles) -> Iterator[Placed]:
    total = sum(files.sizes.values())
    known = sorted(files.sources.languages, key=lambda one: one[0] not in files.own_languages)
    for language, lines in known[:MAX_LANGUAGES]:
        if lines < total * LEAST_SHARE:
            continue
        own = [path for path in files.sizes if files.languages[path] == language]
        largest = max(own, key=lambda path: (files.sizes[path], path))
        yield Placed(language, largest, 1, 1, count=lines)


def _dependencies(files: FolderFiles) -> Iterator[Dependencies]:
    for manifest in files.manifests_of(files.place):
        declared = sorted(manifest.dependencies, key=lambda each: each.line)
        if declared:
            shown = declared[:MAX_DEPENDENCIES]
            yield Dependencies(manifest.path, tuple(each.name for each in declared), shown[0].line, shown[-1].line)
