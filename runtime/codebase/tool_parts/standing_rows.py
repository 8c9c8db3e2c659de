"""Makes the rows of where one thing of a sort stands: its definition, and lines that name it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runtime.codebase.citation import Citation
from runtime.codebase.codebase import Codebase
from runtime.codebase.search.siblings.families import TYPES, Family, families_of
from runtime.codebase.search.siblings.sibling_lines import MAX_FAMILIES, Standing, best_standing
from runtime.codebase.tool_parts.citing import cite, cite_first_definition, cite_symbol
from runtime.codebase.tool_parts.look_up import Row, numbered

MAX_TYPES = 20_000
MAX_HITS = 800
MAX_FILES = 8
MAX_LINES_OF_FILE = 4
MAX_IMPORTS = 2_000


def standing_of(codebase: Codebase, thing: Sequence[str], sets: Sequence[Family] = ()) -> Standing | None:
    """Return where one thing of a sort stands, of those that the repository has; None without such a family.

    `thing`: the words for it, the last of which tells the sort; `sets`: families that are known already.
    """
    paths = [file.path for file in codebase.files() if file.is_readable]
    types = codebase.symbols_of_kinds(sorted(TYPES), limit=MAX_TYPES)
    families = [*sets, *families_of(thing, types, paths)][:MAX_FAMILIES]
    if not families:
        return None

    def files_with(text: str) -> Iterable[str]:
        return {hit.file for hit in codebase.search_text(text, case_sensitive=False, max_hits=MAX_HITS).hits}

    def read(path: str) -> Sequence[str] | None:
        source = codebase.try_source(path)
        return None if source is None else source.lines

    return best_standing(families, paths, _importers(codebase, families), files_with, read)


def _importers(codebase: Codebase, families: Sequence[Family]) -> list[str]:
    """Return the files that import files of the families, each once."""
    targets = {
        target for family in families for one in family.members for target in (one.file, _folder(family, one.name))
    }
    found = codebase.index.imports("i.target IS NOT NULL", (), MAX_IMPORTS * 10)
    return list(dict.fromkeys(row.file for row in found if row.target in targets))


def _folder(family: Family, name: str) -> str:
    return f"{family.of}/{name}" if family.how == "folder" else ""


def standing_row(codebase: Codebase, standing: Standing, citations: list[Citation]) -> Row:
    """Return the row of where a thing stands; what it cites is appended to `citations`."""
    one = standing.one
    why = f"is {one.name}, which is there"
    if standing.family.how in {"file", "folder"}:
        own = cite_first_definition(codebase, one.file, why)
    else:
        symbol = codebase.symbol_at(one.file, one.line) if standing.family.how == "type" else None
        made = cite(codebase, one.file, one.line, one.line, why=why)
        own = made if symbol is None else cite_symbol(codebase, symbol, why)
    files = []
    for file, lines in list(standing.lines.items())[:MAX_FILES]:
        rows = []
        for number, text in lines[:MAX_LINES_OF_FILE]:
            made = cite(codebase, file, number, number, why=f"names {one.name}")
            rows.append({"line": number, "text": text.strip(), "citation": numbered(citations, made)})
        files.append({"file": file, "names": standing.of.get(file, 1), "lines": rows})
    row = {"name": one.name, "how": standing.family.how, "of": standing.family.of, "looked_at": standing.looked_at}
    return {**row, "file": one.file, "citation": numbered(citations, own), "files": files}
