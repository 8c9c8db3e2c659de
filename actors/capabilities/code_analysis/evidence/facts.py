"""Defines facts, which travel between the agents instead of raw tool output.

Each fact is one statement with the lines that back it. `facts_of` turns one tool result into facts by a rule per tool;
a tool without a rule gives none, and a result's citations are the only source of lines. (Over 400 lines: the kinds of
facts and the rules of all tools stand in one place, where a new tool adds its own.)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from actors.capabilities.code_analysis.evidence.commits import CommitNote, note_of
from actors.capabilities.code_analysis.evidence.overview_fields import overview_fields
from actors.capabilities.code_analysis.evidence.steps import Purpose, Step
from actors.capabilities.code_analysis.evidence.values import (
    LiteralNote,
    ValueNote,
    constant_notes,
    literal_notes,
    value_notes,
)
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.files.path_kinds import kind_of_path, kind_of_place
from runtime.codebase.resolution.symbol_links import normal_name
from runtime.codebase.search.excerpts import Excerpt
from runtime.primitives.dotted_names import last_part

# A symbol merely defined in a mapped file was not searched for: it scores less than any hit.
MAPPED_SCORE = 0.2

# The attribute of a Rust test in the same file as the code under test.
_TEST_MARK = re.compile(r"\s*#\[(?:\w+::)*test\b")

# The `symbol_kind` of a test that a search for tests found.
FITTING = "fitting"
MAX_QUOTE_CHARS = 160
MAX_DOC_CHARS = 400
MAX_SIGNATURE_CHARS = 200

FactKind = Literal[
    "definition",
    "namesake",
    "excerpt",
    "passage",
    "code",
    "caller",
    "mention",
    "callee",
    "reference",
    "importer",
    "test",
    "module",
    "trace",
    "change",
    "together",
    "precedent",
    "sibling",
    # Of a dependency: a declaration, an import, a use or a mention of it.
    "requirement",
    # A closed set, an option that takes its values from it, or a place that adds to it; each of its values.
    "choices",
    "choice",
    # Of a folder: what it is for; its languages; its parts and the names used of them; imports between the parts, those
    # that draw the parts together, calls from where a program is entered into parts; ways in; dependencies; where to
    # begin; folders that are no parts.
    "purpose",
    "language",
    "part",
    "part_name",
    "part_alike",
    "part_further",
    "edge",
    "hub",
    "entry_call",
    "entry",
    "dependency",
    "reading",
    "aside",
    "value",
    "only_aside",
]

# The role of a commit: it wrote the cited lines; changed the subject of the fact; introduced its name; is the end of a
# shallow clone. `open`: the cited lines are not committed.
CommitRole = Literal["", "wrote", "changed", "began", "ends", "open"]


class CodeFact(msgspec.Struct, frozen=True, omit_defaults=True):
    """Represents one finding of a tool. `score` orders facts of one kind within a step, higher first.

    `about` is the symbol whose uses were explored (`NAME of FILE` for another definition of its name), or, for traced
    calls, the caller. `at_line` is the line of a call in
    the caller's file, 0 when unknown. `also_by`: other steps that found it. `purpose`: the purpose of the step that
    found it, and `also_for` those of the other steps. `commit` and `deed` (the commit's role) are set for facts about
    changes; lines are cited as those of a commit only where it `wrote` them. `count`: the number of commits in which
    two files changed together, or of definitions with the same name. `branch`: the first and last line of the code for
    the case that the question asks about. `unproven`: for a definition, how many calls of its name may mean it without
    a proof, and how many of these are in tests.
    `excerpt`: the lines that speak of the query. `of`: how many there are of what is listed, or counted, in all;
    `more`: the tool cut the list that it stands in.
    `value`: what a name is by default, and how that is proven. `cosine`: how near a place or passage is to the query
    in meaning; None without vectors. `worth`: how probably what a document says answers the query; None of other
    passages. `reading`: how well a place answers the query, read together with it; None if it
    was not read. `constants`: the numbers behind names in the lines of the excerpt; `literals`: those of its lines that
    tell a value which is asked for.
    """

    kind: FactKind
    citation: Citation
    step: str = ""
    name: str = ""
    symbol_kind: str = ""
    signature: str = ""
    docstring: str = ""
    text: str = ""
    about: str = ""
    score: float = 0.0
    is_test: bool = False
    at_line: int = 0
    commit: CommitNote | None = None
    deed: CommitRole = ""
    count: int = 0
    also_by: tuple[str, ...] = ()
    branch: tuple[int, ...] = ()
    unproven: int = 0
    unproven_in_tests: int = 0
    purpose: Purpose | None = None
    also_for: tuple[Purpose, ...] = ()
    excerpt: Excerpt | None = None
    of: int = 0
    more: bool = False
    value: ValueNote | None = None
    cosine: float | None = None
    worth: float | None = None
    reading: float | None = None
    constants: tuple[ValueNote, ...] = ()
    literals: tuple[LiteralNote, ...] = ()

    @property
    def place(self) -> tuple[str, int, int]:
        """The file with the first and last line, the identity of a place."""
        return (self.citation.file, self.citation.start_line, self.citation.end_line)

    @property
    def purposes(self) -> tuple[Purpose, ...]:
        """The purposes of all steps that found it."""
        return (*(() if self.purpose is None else (self.purpose,)), *self.also_for)


class ProducedRange(msgspec.Struct, frozen=True, array_like=True):
    """Records lines that a tool call of this run returned: an answer may cite no others."""

    file: str
    start_line: int
    end_line: int
    content_sha256: str


def facts_of(step: Step, result: ToolResult) -> list[CodeFact]:
    """Extract the facts from a result of a step's tool, best first; empty when the result is unusable."""
    rule = _RULES.get(step.tool)
    if rule is None or not result.usable:
        return []
    return [_lean(msgspec.structs.replace(fact, step=step.id, purpose=step.purpose)) for fact in rule(result)]


def _lean(fact: CodeFact) -> CodeFact:
    """Drop the parts of a fact that no reader uses. The hash of a file is kept with the ranges that tools returned.

    A shortened quote is still part of its lines.
    """
    quote = fact.citation.quote[:MAX_QUOTE_CHARS].rstrip()
    citation = msgspec.structs.replace(fact.citation, why="", content_sha256="", quote=quote)
    if fact.kind == "code":
        citation = msgspec.structs.replace(citation, quote="")
    doc = fact.docstring
    return msgspec.structs.replace(
        fact,
        citation=citation,
        docstring=doc if len(doc) <= MAX_DOC_CHARS else doc[:MAX_DOC_CHARS].rsplit(" ", 1)[0],
        signature=fact.signature[:MAX_SIGNATURE_CHARS],
        score=round(fact.score, 4),
    )


def ranges_of(result: ToolResult) -> list[ProducedRange]:
    """Return every range that a tool result cites."""
    return [ProducedRange(c.file, c.start_line, c.end_line, c.content_sha256) for c in result.citations]


# Of these, several may rest on one line.
_NAMED_APART: frozenset[FactKind] = frozenset(
    {
        *("edge", "hub", "part_further", "entry_call", "part_name", "part_alike", "entry", "reading"),
        *("requirement", "choice", "choices"),
    }
)


def distinct(facts: Iterable[CodeFact]) -> list[CodeFact]:
    """Merge facts of one kind at one place: the first one stays, with the steps that found it again.

    What it does not say of itself is taken from those.
    """
    kept: dict[tuple[str, tuple[str, int, int], str, str], CodeFact] = {}
    for fact in facts:
        key = (
            fact.kind,
            fact.place,
            fact.name
            if fact.commit is not None or fact.kind in _NAMED_APART
            else fact.symbol_kind
            if fact.kind == "test"
            else "",
            _own_key(fact),
        )
        first = kept.setdefault(key, fact)
        if fact.kind == "definition" and fact.about and not first.about and fact.name.startswith(f"{first.name}."):
            # A search names lines of a class after it; who explored one of its members knows which that is.
            own = {"name": fact.name, "symbol_kind": fact.symbol_kind, "signature": fact.signature}
            first = kept[key] = msgspec.structs.replace(first, docstring=fact.docstring, **own)
        if fact.worth is not None and fact.worth > (first.worth or 0.0):
            first = kept[key] = msgspec.structs.replace(first, worth=fact.worth, text=fact.text)
        again = tuple(step for step in (fact.step, *fact.also_by) if step and step not in (first.step, *first.also_by))
        if again:
            count = max(first.count, fact.count)
            also = {"also_by": (*first.also_by, *again), "also_for": _each_once((*first.also_for, *fact.purposes))}
            # Which of several definitions was explored is known by the step that explored it alone.
            said = {name: getattr(first, name) or getattr(fact, name) for name in ("about", "docstring", "signature")}
            kept[key] = msgspec.structs.replace(first, **also, count=count, **said)
    return list(kept.values())


def _own_key(fact: CodeFact) -> str:
    """Return what tells facts of one kind at one place apart."""
    if fact.value is not None:
        return f"{fact.text} {fact.value.conditions}"
    return fact.name if fact.commit is not None else fact.symbol_kind if fact.kind == "test" else ""


def _each_once(purposes: Iterable[Purpose]) -> tuple[Purpose, ...]:
    return tuple(dict.fromkeys(purposes))


def _located(result: ToolResult) -> Iterator[CodeFact]:
    rows = result.data["results"]
    best = max((row["score"] for row in rows), default=0.0) or 1.0
    for row, citation in zip(rows, result.citations[: len(rows)], strict=True):
        is_text = row["source"] == "text"
        yield CodeFact(
            kind="excerpt" if is_text or not row["kind"] else "definition",
            citation=citation,
            name="" if is_text else row["symbol"] or "",
            symbol_kind="" if is_text else row["kind"] or "",
            signature=row["signature"],
            docstring=row["docstring"],
            score=row["score"] / best,
            is_test=_is_test(citation, row["symbol"]),
            count=result.data.get("definitions", 0) if row["source"] == "symbol" else 0,
            branch=tuple(row.get("branch") or ()),
            excerpt=msgspec.convert(row["excerpt"], Excerpt) if row.get("excerpt") else None,
            cosine=row.get("cosine"),
            reading=row.get("reading"),
            constants=constant_notes(row, result.citations),
            literals=literal_notes(row, result.citations),
        )


def _said(result: ToolResult) -> Iterator[CodeFact]:
    """Yield the passages that speak of the query; `symbol_kind` is that of the passage, `text` its sentences."""
    rows, first = result.data.get("passages", ()), len(result.data["results"])
    for row, citation in zip(rows, result.citations[first : first + len(rows)], strict=True):
        near = {"cosine": row.get("cosine"), "worth": row.get("worth")}
        yield CodeFact("passage", citation, symbol_kind=row["kind"], text=row["text"], score=row["score"], **near)


def _aside(result: ToolResult) -> Iterator[CodeFact]:
    """Yield the lines that mention a word of the query which occurs only aside; `name` is the word."""
    rows = result.data.get("absence", {}).get("aside", [])
    first = len(result.data["results"]) + len(result.data.get("passages", ()))
    for row, citation in zip(rows, result.citations[first : first + len(rows)], strict=True):
        yield CodeFact("only_aside", citation, name=row["word"])


def _found(result: ToolResult) -> Iterator[CodeFact]:
    yield from _located(result)
    yield from _said(result)
    for note, share in value_notes(result):
        text = f"{note.name} = {note.value}" if note.value is not None else note.name
        yield CodeFact("value", note.steps[0], name=note.name, text=text, score=share, value=note)
    yield from _aside(result)


def _is_test(citation: Citation, symbol: str | None) -> bool:
    """Return whether a place is in a test file or test module, or is a function marked as a test."""
    return kind_of_place(citation.file, symbol) == "test" or _TEST_MARK.match(citation.quote) is not None


def _read(result: ToolResult) -> Iterator[CodeFact]:
    for citation in result.citations:
        yield CodeFact(kind="code", citation=citation, name=result.data.get("symbol") or "", text=result.data["text"])


def _used(result: ToolResult) -> Iterator[CodeFact]:
    parts: tuple[tuple[str, FactKind], ...] = (
        ("definitions", "definition"),
        ("namesakes", "namesake"),
        ("callers", "caller"),
        ("mentions", "mention"),
        ("references", "reference"),
        ("importers", "importer"),
        ("tests", "test"),
        ("callees", "callee"),
        ("others", "caller"),
    )
    for part, kind in parts:
        for place, row in enumerate(result.data.get(part, [])):
            # A file that imports a whole module uses a part of it only if it names that.
            if row["citation"] is None or not row.get("names_it", True):
                continue
            citation = result.citations[row["citation"]]
            yield CodeFact(
                kind=kind,
                citation=citation,
                name=row.get("symbol") or row.get("enclosing") or "",
                symbol_kind=row.get("kind") or "",
                signature=row.get("signature") or "",
                docstring=row.get("docstring") or "",
                about=_about(result, part, row, place),
                score=1 / (place + 2),
                is_test=_is_test(citation, row.get("symbol") or row.get("enclosing")),
                at_line=(row.get("line") or 0) if kind == "callee" else 0,
                more=part in result.data.get("has_more", ()),
                unproven=result.data.get("unproven", 0) if part == "definitions" and place == 0 else 0,
                unproven_in_tests=result.data.get("unproven_in_tests", 0)
                if part == "definitions" and place == 0
                else 0,
            )
    yield from _remembered(result)


def _about(result: ToolResult, part: str, row: dict[str, Any], place: int) -> str:
    """Return the symbol that a row is about; of several definitions the first is the one whose uses were explored."""
    symbol = _explored(result)
    if part == "others":
        return f"{symbol} of {row['of']}"
    return "" if part == "definitions" and place else symbol


def _explored(result: ToolResult) -> str:
    """Return the symbol whose uses were explored: the one that was asked for, or one of a similar name."""
    asked = str(result.data["symbol"])
    found = next((row["symbol"] for row in result.data.get("definitions", ())), asked)
    return asked if last_part(found).lower() == last_part(normal_name(asked)).lower() else found


def _remembered(result: ToolResult) -> Iterator[CodeFact]:
    """Yield uses recorded by earlier runs, of the kinds for which the index found none."""
    for row in result.data.get("remembered", ()):
        kind, parts = _REMEMBERED.get(row["relation"], (None, ()))
        if kind is None or row["citation"] is None or any(result.data.get(part) for part in parts):
            continue
        citation = result.citations[row["citation"]]
        yield CodeFact(
            kind=kind,
            citation=citation,
            name=row["name"],
            symbol_kind="file" if row["name"] == row["file"] else "",
            about=_explored(result),
            is_test=kind_of_path(citation.file) == "test",
        )


def _traced(result: ToolResult) -> Iterator[CodeFact]:
    for row in result.data.get("steps", []):
        if row["citation"] is not None and row["called_by"]:
            yield CodeFact(
                kind="trace",
                citation=result.citations[row["citation"]],
                name=row["symbol"],
                about=row["called_by"],
                at_line=row.get("line") or 0,
                score=1 / (row["depth"] + 1),
            )


def _changed(result: ToolResult) -> Iterator[CodeFact]:
    """Yield the commits that changed a place, newest first; a commit message is no file, so it is not quoted.

    The last commits of a shallow clone are marked as its end: their own changes are not visible.
    """
    data, ends = result.data, set(result.data.get("boundary", ()))
    about = data.get("symbol") or data.get("file") or ""
    wrote: dict[str, Citation] = {}
    for row in data.get("blame", ()):
        if row["citation"] is not None:
            wrote.setdefault(row["hash"], result.citations[row["citation"]])
    place = result.citations[0] if result.citations else Citation(str(data.get("file") or "."), 1, 1)
    for name, lines in wrote.items():
        if not name.strip("0"):
            yield CodeFact("change", lines, name="open", about=about, deed="open", score=1.0)
    for order, row in enumerate(data.get("commits", ())):
        if (note := note_of(row)) is None:
            continue
        role: CommitRole = "ends" if note.hash in ends else "wrote" if note.hash in wrote else "changed"
        lines = wrote[note.hash] if role == "wrote" else place
        yield CodeFact("change", lines, name=note.short, about=about, commit=note, deed=role, score=1 / (order + 2))
    origin = note_of(data.get("origin") or {})
    if origin is not None and origin.hash not in ends:
        yield CodeFact("change", place, name=f"{origin.short} began", about=about, commit=origin, deed="began")


def _related(result: ToolResult) -> Iterator[CodeFact]:
    """Yield files that changed in the same commits, and tests that belong to a file."""
    data = result.data
    ends = set(data.get("boundary", ()))
    for order, row in enumerate(data.get("related", ())):
        citation, file, changes = result.citations[row["citation"]], row["file"], row.get("changes") or {}
        about, is_test = data.get("symbol") or data["file"], row["kind"] == "test"
        if "tests" in row["reasons"]:
            score = 0.1 / (order + 1)
            yield CodeFact("test", citation, name=file, symbol_kind="file", about=about, score=score, is_test=True)
        note = note_of(changes)
        if note is not None and note.hash not in ends:
            count = int(changes["commits"])
            score = count / (count + 1)
            yield CodeFact(
                "together",
                citation,
                name=file,
                about=data["file"],
                score=score,
                commit=note,
                count=count,
                is_test=is_test,
            )


def _preceded(result: ToolResult) -> Iterator[CodeFact]:
    """Yield where one thing of a sort stands; then the files of commits that added one, and lines added to others."""
    yield from _standing(result.data.get("existing"), result.citations)
    for order, row in enumerate(result.data.get("commits", ())):
        note = note_of(row)
        for file in row["files"] if note is not None else ():
            for line in file["lines"] or [{"citation": file["citation"], "text": ""}]:
                if line["citation"] is None:
                    continue
                citation = result.citations[line["citation"]]
                kind, score = ("new" if file["is_new"] else "changed"), 1 / (order + 2)
                yield CodeFact(
                    "precedent",
                    citation,
                    name=file["file"],
                    symbol_kind=kind,
                    text=line["text"],
                    commit=note,
                    score=score,
                )


def _standing(row: dict[str, Any] | None, citations: Sequence[Citation]) -> Iterator[CodeFact]:
    """Yield the definition of one thing of a sort, and the lines of other files that name it; `about` is its name."""
    if row is None or row["citation"] is None:
        return
    yield CodeFact("sibling", citations[row["citation"]], name=row["file"], symbol_kind="own", about=row["name"])
    for file in row["files"]:
        for line in file["lines"]:
            if line["citation"] is not None:
                where = citations[line["citation"]]
                more = {"text": line["text"], "count": file["names"], "of": row["looked_at"]}
                yield CodeFact("sibling", where, name=file["file"], symbol_kind="named", about=row["name"], **more)


def _required(result: ToolResult) -> Iterator[CodeFact]:
    """Yield what is declared, imported, used and mentioned of a dependency; `symbol_kind` is which of these it is."""
    name, files = result.data["name"], result.data.get("importing_files", 0)
    for part, role in (("dependencies", ""), ("imports", "import"), ("uses", "use"), ("mentions", "mention")):
        for place, row in enumerate(result.data.get(part, ())):
            if row["citation"] is not None:
                yield CodeFact(
                    "requirement",
                    result.citations[row["citation"]],
                    name=row["name"] if not role else row["enclosing"],
                    symbol_kind=role or row["group"],
                    about=name,
                    score=1 / (place + 2),
                    of=files if role in {"import", "use"} else 0,
                    more=result.truncated,
                )


def _fitting(result: ToolResult) -> Iterator[CodeFact]:
    """Yield tests that fit a question, as `fitting` ones: nothing proves what they cover."""
    for row in result.data.get("tests", ()):
        if row["citation"] is not None:
            place, title, score = result.citations[row["citation"]], row["title"], row["score"]
            yield CodeFact("test", place, name=title, symbol_kind=FITTING, score=score, is_test=True)


def _chosen(result: ToolResult) -> Iterator[CodeFact]:
    """Yield each set, what else is cited for it (`symbol_kind`: `from`, `added`), and its values.

    The `signature` of a value is what it stands for.
    """
    for order, row in enumerate(result.data.get("sets", ())):
        option, score = row["option"], 1 / (order + 1)
        places = [(row["citation"], row["kind"], row["name"]), (row["added_at"], "added", row["name"])]
        places += [] if option is None else [(option["citation"], "from", option["name"])]
        if row["citation"] is None:
            continue
        for number, kind, name in places:
            if number is not None:
                citation, said = result.citations[number], row["docstring"]
                yield CodeFact(
                    "choices",
                    citation,
                    name=name,
                    symbol_kind=kind,
                    docstring=said,
                    about=_name_of_set(row),
                    of=row["total"],
                    more=row["is_open"],
                    score=score,
                )
        for member in row["members"]:
            if member["citation"] is not None:
                yield CodeFact(
                    "choice",
                    result.citations[member["citation"]],
                    name=member["name"],
                    signature=member["value"],
                    docstring=member["docstring"],
                    text=member["text"],
                    about=_name_of_set(row),
                    score=score,
                )


def _name_of_set(row: dict[str, Any]) -> str:
    return f"{row['name']} of {row['file']}"


def _mapped(result: ToolResult) -> Iterator[CodeFact]:
    for file in result.data["files"]:
        symbols = [symbol for symbol in file["symbols"] if symbol["citation"] is not None]
        says = file.get("docstring_citation")
        if not symbols and says is None:
            continue
        yield CodeFact(
            kind="module",
            citation=result.citations[says if says is not None else symbols[0]["citation"]],
            name=file["file"],
            symbol_kind="module",
            docstring=file["docstring"] or "",
            text=", ".join(symbol["symbol"] for symbol in symbols[:6]),
            is_test=kind_of_path(file["file"]) == "test",
        )
        for place, symbol in enumerate(symbols):
            yield CodeFact(
                kind="definition",
                citation=result.citations[symbol["citation"]],
                name=symbol["symbol"],
                symbol_kind=symbol["kind"],
                signature=symbol["signature"],
                docstring=symbol["docstring"],
                score=MAPPED_SCORE / (place + 10),
                is_test=_is_test(result.citations[symbol["citation"]], symbol["symbol"]),
            )


def _described(result: ToolResult) -> Iterator[CodeFact]:
    for fields in overview_fields(result):
        yield CodeFact(**fields)


# relation → its kind of fact, and the parts of a usage that must be empty for it to be used.
_REMEMBERED: dict[str, tuple[FactKind, tuple[str, ...]]] = {
    "calls": ("caller", ("callers", "references")),
    "uses": ("reference", ("callers", "references")),
    "imports": ("importer", ("importers",)),
    "tests": ("test", ("tests",)),
}

_RULES: dict[str, Callable[[ToolResult], Iterator[CodeFact]]] = {
    "locate": _found,
    "read_code": _read,
    "explore_symbol_usage": _used,
    "map_module": _mapped,
    "describe_folder": _described,
    "trace_entry_point": _traced,
    "explain_code_history": _changed,
    "find_related": _related,
    "find_precedents": _preceded,
    "find_dependency": _required,
    "find_choices": _chosen,
    "find_tests": _fitting,
}
