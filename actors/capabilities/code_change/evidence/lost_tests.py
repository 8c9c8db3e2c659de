"""Counts the tests that a change removes, renames away, skips or weakens.

Checks that run fewer tests stay green, so reviewers must know. Names are read from the lines that differ, not parsed: a
test whose name stands on both sides is not lost. Assertions are counted for each test, those that say something else
than before are told, and changed files that decide which tests run are named.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType

import msgspec

from actors.capabilities.code_change.evidence.changed_assertions import joined_assertion, told_changes
from actors.capabilities.code_change.evidence.changed_lines import ChangedLines
from actors.capabilities.code_change.evidence.collection_files import changes_collection, collects_tests
from actors.capabilities.code_change.evidence.inert_tests import inert_tests
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.regular_file import read_start
from runtime.codebase.git.differences import WHOLE_FILE, differences, marked_lines
from runtime.codebase.git.git_writer import GitWriter

MAX_FILE_BYTES = 2_000_000
MAX_NAMED = 10
MAX_NAME_CHARS = 80
# pytest and unittest run no Python file that is called otherwise, wherever it lies.
_PYTHON_TESTS = re.compile(r"(?:tests?|test_.*|.*_tests?)\.py")
_NAMED = re.compile(
    r"""^\s*(?:async\s+)?def\s+(?P<python>test\w*) | ^\s*class\s+(?P<group>Test\w*)
        | ^\s*(?:it|test|specify|scenario)(?:\.\w+)*\s*\(?\s*(?P<quote>["'`])(?P<title>.*?)(?P=quote)
        | ^func\s+(?:\([^)]*\)\s*)?(?P<go>(?:Test|Benchmark|Fuzz|Example)\w*)\s*\(
        | ^\s*(?:(?:public|final|static)\s+)*function\s+(?P<php>test\w*)
        | ^\s*(?:TEST|TEST_F|TEST_P|TEST_CASE)\s*\(\s*(?P<c>[^)]*)""",
    re.VERBOSE,
)
_MARK = re.compile(r"^\s*(?:#\[(?:\w+::)*test\b|@(?:Parameterized)?Test\b|\[(?:Fact|Theory|Test|TestMethod)\b)")
_MARKED = re.compile(r"\b(?:fn\s+|fun\s+|[\w<>\[\]]+\s+)(?P<name>\w+|`[^`]*`)\s*(?:<[^>]*>\s*)?\(")
_SKIP = re.compile(
    r"""pytest\.mark\.(?:skip|xfail) | (?:unittest\.|@)(?:skip\w*|expectedFailure)\b | pytest\.(?:skip|xfail)\(
        | \bimportorskip\(
        | \.skipTest\( | \bSkipTest\b | \b(?:it|test|describe|context)\.(?:skip|todo|only|failing)\b
        | ^\s*(?:xit|xtest|xdescribe|fit|fdescribe)\b | \bt\.Skip(?:f|Now)?\( | \#\[ignore | @(?:Disabled|Ignore)\b
        | \[Ignore | \bSkip\s*=\s*" | \bmarkTest(?:Skipped|Incomplete)\( | \bcollect_ignore | --deselect | --ignore=
        | ^//\s*(?:go:build|\+build)\b""",
    re.VERBOSE,
)
_ASSERTION = re.compile(r"\bassert|\bexpect\(|\.should\b|\bt\.(?:Error|Fatal|Fail)|\b(?:EXPECT|ASSERT|REQUIRE)_?\w*\(")


# The head of a function that is no test by its name; its assertions are not those of the test above it.
_HOLDER = re.compile(
    r"""^\s*(?:(?:pub(?:\(\w+\))?|async|export|default|suspend|override)\s+)*(?:def|fn|fun|func|function)\s+
        (?:\([^)]*\)\s*)?(?P<function>[\w.`]+)
        | ^\s*(?:(?:public|private|protected|static|final|async)\s+)*(?:void|[A-Z][\w<>\[\]]*)\s+
        (?P<method>\w+)\s*\([^;]*$
        | ^\s*class\s+(?P<group>\w+)""",
    re.VERBOSE,
)

Line = tuple[str, str]
# A test by its file, its class and its name.
Holder = tuple[str, str, str]
# What each test asserts, as often as it does.
Asserted = Mapping[Holder, Counter[str]]
_NONE: Asserted = MappingProxyType({})
# Whole files: an assertion belongs to the test whose head stands above it.


class LostTests(msgspec.Struct, frozen=True):
    """Holds the names of tests that are gone, and counts new tests, added skips and missing assertions.

    `weaker`: tests that are still there, with fewer assertions. `changed`: tests whose assertions say something else,
    each with an old and a new one. `inert`: Python tests whose assertions are there and no longer checked, with the
    reason. `collecting`: files that decide which tests run.
    """

    gone: tuple[str, ...] = ()
    new: int = 0
    skips: int = 0
    assertions: int = 0
    weaker: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    inert: tuple[str, ...] = ()
    collecting: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The counts in words, for a reviewer; empty where nothing is lost."""
        parts = []
        if self.gone:
            parts.append(f"{_count(len(self.gone), 'test')} removed or renamed ({_named(self.gone)}), {self.new} new")
        if self.skips > 0:
            parts.append(f"{_count(self.skips, 'skip')} added")
        if self.assertions > 0:
            where = f" (in {_named(self.weaker)})" if self.weaker else ""
            parts.append(f"{_count(self.assertions, 'assertion')} fewer{where}")
        if self.changed:
            parts.append(f"{_count(len(self.changed), 'test')} with changed assertions ({_listed(self.changed)})")
        if self.inert:
            parts.append(f"assertions that are no longer checked ({_listed(self.inert)})")
        if self.collecting:
            parts.append(f"what collects tests was changed ({_named(self.collecting)})")
        told = "; ".join(parts)
        return f"tests of this change, compared with where it began: {told}. Tell the person why" if told else ""


def lost_tests(folder: Path, base_commit: str, changed: ChangedLines) -> LostTests:
    """Return what a change of a folder takes away from the tests. Raises GitWriteError."""
    old: list[Line] = []
    new: list[Line] = []
    before: dict[Holder, Counter[str]] = {}
    after: dict[Holder, Counter[str]] = {}
    inert: list[str] = []
    collecting = []
    about = [each for each in changed.changes if _has_tests(each.file) or collects_tests(each.file)]
    with GitWriter(folder) as git:
        told = differences(git, base_commit, [each.file for each in about if each.how != "added"], WHOLE_FILE)
        for change in about:
            file, has_tests = change.file, _has_tests(change.file)
            if change.how == "added":
                marked = [f"+{line}" for line in _lines_of(folder / file)]
            else:
                marked = marked_lines(told.get(file, ""))
            if collects_tests(file) and changes_collection(file, _side(marked, "-"), _side(marked, "+")):
                collecting.append(file)
            if has_tests:
                old += [(file, line[1:]) for line in marked if line.startswith("-")]
                new += [(file, line[1:]) for line in marked if line.startswith("+")]
                if file.endswith(".py"):
                    inert += inert_tests(_side(marked, "-"), _side(marked, "+"))
                before.update(assertions_of(file, _side(marked, "-").split("\n")))
                after.update(assertions_of(file, _side(marked, "+").split("\n")))
    return msgspec.structs.replace(compared(old, new, before, after, collecting), inert=tuple(inert))


def _side(marked: Iterable[str], mark: str) -> str:
    """Return one side of a difference that shows whole files."""
    return "\n".join(line[1:] for line in marked if line[:1] in {" ", mark})


def assertions_of(file: str, lines: Iterable[str]) -> dict[Holder, Counter[str]]:
    """Return what each function of a file asserts; one that asserts nothing has an empty count."""
    found: dict[Holder, Counter[str]] = {}
    group = name = ""
    all_lines = list(lines)
    for index, line in enumerate(all_lines):
        head = _NAMED.search(line) or _HOLDER.search(line)
        if head is not None:
            titles = {kind: text for kind, text in head.groupdict().items() if text and kind != "quote"}
            group = titles.get("group", group)
            name = "" if "group" in titles else next(iter(titles.values()), "")
        said = found.setdefault((file, group, name), Counter())
        if _ASSERTION.search(line) is not None:
            said[joined_assertion(all_lines, index)] += 1
    return found


def compared(
    old: Iterable[Line],
    new: Iterable[Line],
    asserted_before: Asserted = _NONE,
    asserted_after: Asserted = _NONE,
    collecting: Sequence[str] = (),
) -> LostTests:
    """Return what lines that were removed took away and added ones did not bring back: (file, line) of test files.

    `asserted_before` and `asserted_after`: what each test asserts, in whole files.
    """
    before, after = list(old), list(new)
    removed, added = Counter(_names(before)), Counter(_names(after))
    gone = list((removed - added).elements())
    # Where an attribute alone is taken away, the lines that differ do not name the test.
    unnamed = _matches(_MARK, before) - _matches(_MARK, after) - len(gone)
    gone += ["one that has lost its attribute"] * unnamed
    skips = _matches(_SKIP, after) - _matches(_SKIP, before)
    assertions = _matches(_ASSERTION, before) - _matches(_ASSERTION, after)
    fewer = {
        holder: said.total() - asserted_after[holder].total()
        for holder, said in asserted_before.items()
        if holder in asserted_after and said.total() > asserted_after[holder].total()
    }
    return LostTests(
        gone=tuple(gone),
        new=(added - removed).total(),
        skips=max(0, skips),
        assertions=max(0, assertions, sum(fewer.values())),
        weaker=tuple(dict.fromkeys(name or file for file, _, name in fewer)),
        changed=tuple(told_changes(asserted_before, asserted_after)),
        collecting=tuple(collecting),
    )


def _has_tests(file: str) -> bool:
    if file.endswith(".py"):
        name = PurePosixPath(file).name
        return name == "conftest.py" or _PYTHON_TESTS.fullmatch(name) is not None
    return file.endswith(".rs") or kind_of_path(file) == "test"


def _lines_of(path: Path) -> list[str]:
    try:
        return read_start(path, MAX_FILE_BYTES).decode("utf-8", "replace").split("\n")
    except (OSError, ValueError):
        return []


def _names(lines: Iterable[Line]) -> Iterator[str]:
    is_marked = False
    for _, line in lines:
        found = _NAMED.search(line)
        if found is not None:
            yield next(text for name, text in found.groupdict().items() if text and name != "quote")
        elif is_marked and (marked := _MARKED.search(line)) is not None:
            yield marked.group("name")
            is_marked = False
        is_marked = is_marked or _MARK.search(line) is not None


def _matches(pattern: re.Pattern[str], lines: Iterable[Line]) -> int:
    return sum(pattern.search(line) is not None for _, line in lines)


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return f"{', '.join(name[:MAX_NAME_CHARS] for name in names[:MAX_NAMED])}{more}"


def _listed(changes: Sequence[str]) -> str:
    more = f"; and {len(changes) - MAX_NAMED} more" if len(changes) > MAX_NAMED else ""
    return f"{'; '.join(changes[:MAX_NAMED])}{more}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
