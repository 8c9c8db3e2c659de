"""Declares the tool `find_precedents`: where one thing of a sort stands, and commits which added one."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.boilerplate import is_boilerplate
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.words import STOP_WORDS, index_terms, query_terms
from runtime.codebase.git.git_process import Git
from runtime.codebase.git.precedents import (
    LEAST_STANDING,
    WITH_NEW_FILE,
    FilesOfCommit,
    lines_added,
    ranked_precedents,
    read_commits,
    standing_lines,
)
from runtime.codebase.search.choices.find_sets import ChoiceFinder
from runtime.codebase.search.siblings.families import Family, Sibling
from runtime.codebase.search.siblings.sibling_lines import Standing
from runtime.codebase.tool_parts.citing import cite, cite_first_definition
from runtime.codebase.tool_parts.look_up import bounded, listed, numbered, with_git
from runtime.codebase.tool_parts.standing_rows import standing_of, standing_row
from runtime.codebase.tool_registry import CodeTool, Text, by_fields

MAX_PRECEDENTS = 5
# So many of the best by their subjects are looked at.
LOOKED_AT = 8
MAX_FILES = 8
MAX_LINES_OF_FILE = 3
# Code, then what is tested, then what is written of it.
_ORDER = {"source": 0, "test": 1, "docs": 2, "changelog": 3}
# What a line that names what was added is worth if it only gives up, returns or remarks, and more if it declares it.
ASIDE, DECLARES = 0.3, 1.0
_SAYS_LITTLE = re.compile(r"(?:raise|throw|return|assert|panic!?|#(?!\[|include|define)|//|/\*|\*|\"\"\"|log)")
_DECLARES = re.compile(
    r"(?:@|(?:export|public|private|protected|static|pub|async|default|abstract|final)\b\s*)*(?:def|class|func|fn|function"
    r"|struct|enum|interface|trait|type|mod|use|import|from|case|const|let|var|val)\b|@\w|[\"'].*[\"'](?:\s*(?::|=>).*)?,?$"
)
# What follows says what it is for, not what it is.
_FOR = re.compile(
    r"\s(?:for|to|of|in|into|on|from|with|that|which|so|by|where|when|and|using|via|like)\s.*|[?.!,;:].*", re.DOTALL
)

# What an option, a flag or a command of a program is anyhow.
_OF_ANY = re.compile(r"\s(?:command[- ]line|cli)(?=\s+\w)", re.IGNORECASE)


_ARTICLES = frozenset({"an", "the", "new", "another", "one", "more", "own", "my", "our", "custom", "different"})


class FindPrecedents(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How was a thing of the same sort added before («storage backend», «command line option»)?"""

    query: Text
    max_results: Annotated[int, msgspec.Meta(ge=1, le=MAX_PRECEDENTS)] = 2


def find_precedents(codebase: Codebase, query: str, max_results: int = 2) -> ToolResult:
    """Find where one thing of a sort stands, and commits that added one, with their lines that still stand.

    `data`: query, commits [{hash, author, date, subject, files}]; files [{file, is_new, citation, lines}]; of these
    lines [{line, text, citation}]. The `citation` of a new file is its first definition. Of a changed file at most
    three lines are given, those first that name what was added. `existing`, where several types, files or folders are
    called so: {name, how, of, looked_at, file, citation, files}; of these files [{file, names, lines}], each of which
    lists such things (`names` of `looked_at`) or is called after that one. Status `empty` without either, `unsupported`
    without either and without git.
    """
    thing = _OF_ANY.sub(" ", f" {_FOR.sub('', f' {query}')} ")
    terms = list(query_terms(thing).counts) or list(query_terms(query).counts)
    said = [word for word in re.findall(r"[a-z]{2,}", thing.lower()) if word not in _ARTICLES]
    standing = standing_of(codebase, [word for word in said if word not in STOP_WORDS], _sets(codebase, said))

    def read(git: Git, _place: str | None, log: AttemptLog) -> ToolResult:
        files = {file.path for file in codebase.files()}
        commits = log.run("log", lambda: read_commits(git))
        best = next(filter(None, (ranked_precedents(commits, said, files) for said in _ways_to_say(terms))), [])
        told = [(score, _Told(codebase, git, one, terms)) for score, one in best[:LOOKED_AT]]
        told.sort(key=lambda pair: -pair[0] * (LEAST_STANDING + (1 - LEAST_STANDING) * pair[1].standing))
        citations: list[Citation] = []
        limit = bounded(max_results, MAX_PRECEDENTS)
        kept = [one for _, one in told if one.standing]
        rows = [one.row(citations) for one in kept[:limit]]
        return listed(log, {"query": query, "commits": rows}, citations, len(kept) > limit, bool(rows))

    return _with_existing(codebase, standing, query, with_git(codebase, None, read))


def _sets(codebase: Codebase, words: Sequence[str]) -> list[Family]:
    """Return the closed set that has things of the sort as its values, as a family; none without one."""
    asked = " ".join((*words[:-1], f"{words[-1]}s")) if words else ""
    found = ChoiceFinder(codebase.index, codebase.try_source).find(asked) if asked else []
    ones = [each.one for each in found[:1]]
    return [
        Family("value", one.name, tuple(Sibling(member.name, one.file, member.line) for member in one.members))
        for one in ones
    ]


def _with_existing(codebase: Codebase, standing: Standing | None, query: str, result: ToolResult) -> ToolResult:
    """Return a result on commits with where one thing that is there stands; unchanged without one."""
    if standing is None:
        return result
    citations = list(result.citations)
    row = standing_row(codebase, standing, citations)
    data = {"query": query, "commits": result.data.get("commits", []), "existing": row}
    status = "partial" if result.truncated else "ok"
    return msgspec.structs.replace(result, status=status, data=data, citations=citations, error=None)


def _ways_to_say(terms: Sequence[str]) -> list[list[str]]:
    """Return the terms, and those with the plain thing in the place of a part of it: `command` of `subcommand`."""
    *ahead, thing = terms or [""]
    plain = thing.removeprefix("sub")
    return [list(terms), *([[*ahead, plain]] if plain not in ("", thing) else [])]


class _Told:
    """Tells of one commit: which of the lines that it added to files still stand, and how many of all that is."""

    def __init__(self, codebase: Codebase, git: Git, one: FilesOfCommit, terms: Collection[str]) -> None:
        self._codebase = codebase
        self._one = one
        added = lines_added(git, one.commit.hash, one.changed)
        self._lines = {path: self._standing(path, lines) for path, lines in added.items()}
        of_all, standing = sum(map(len, added.values())), sum(map(len, self._lines.values()))
        self.standing = max(standing / of_all if of_all else 0.0, WITH_NEW_FILE if one.added else 0.0)
        said = {*index_terms(one.commit.subject).split(), *(t for path in one.added for t in index_terms(path).split())}
        self._telling = said.difference(terms)

    def _standing(self, path: str, added: Sequence[str]) -> list[tuple[int, str]]:
        source = self._codebase.try_source(path)
        lines = [] if source is None else source.lines
        return [(number, lines[number - 1].strip()) for number in standing_lines(lines, added)]

    def row(self, citations: list[Citation]) -> dict[str, Any]:
        """Return the row of the commit; what it cites is appended to `citations`."""
        new = [(path, True) for path in self._one.added]
        changed = [(path, False) for path, lines in self._lines.items() if lines and not is_boilerplate(path)]
        ordered = sorted([*new, *changed], key=lambda pair: (_ORDER.get(kind_of_path(pair[0]), 4), not pair[1]))
        told = [(self._new if is_new else self._changed, path) for path, is_new in ordered[:MAX_FILES]]
        return {**asdict(self._one.commit), "files": [row_of(path, citations) for row_of, path in told]}

    def _new(self, path: str, citations: list[Citation]) -> dict[str, Any]:
        made = cite_first_definition(self._codebase, path, "is new in the commit")
        return {"file": path, "is_new": True, "citation": numbered(citations, made), "lines": []}

    def _worth(self, text: str) -> float:
        """Return how much an added line tells: by the words of what was added; one that declares or registers more."""
        named = len(self._telling.intersection(index_terms(text).split()))
        if not named:
            return 0.0
        return named * ASIDE if _SAYS_LITTLE.match(text) else named + DECLARES * (_DECLARES.match(text) is not None)

    def _changed(self, path: str, citations: list[Citation]) -> dict[str, Any]:
        lines = self._lines[path]
        worth = {number: self._worth(text) for number, text in lines}
        best = sorted(lines, key=lambda pair: -worth[pair[0]])
        told = [pair for pair in best if worth[pair[0]] > 0] or best
        rows = []
        for number, text in sorted(told[:MAX_LINES_OF_FILE]):
            made = cite(self._codebase, path, number, number, why="added by the commit")
            rows.append({"line": number, "text": text, "citation": numbered(citations, made)})
        return {"file": path, "is_new": False, "citation": None, "lines": rows}


TOOL = CodeTool(
    name="find_precedents",
    description="Where a thing of the same sort stands, and how one was added before, by git history.",
    parameters=FindPrecedents,
    run=by_fields(find_precedents),
    cost=5,
    place=65,
    example={"query": "command line option"},
)
