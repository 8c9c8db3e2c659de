"""A text that takes too long to parse is read as text, wherever trees are read."""

from __future__ import annotations

import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.violation_fix.checks.options import CheckOptions
from actors.capabilities.violation_fix.checks.structure_check import structure_findings
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.source_text import SourceText
from runtime.codebase.index.writer import refresh
from runtime.codebase.language_registry import load_grammar
from runtime.codebase.languages.c import without_export_macros
from runtime.codebase.parsing.bodies.empty_bodies import FileJudge, code_lines
from runtime.codebase.parsing.parse import parse
from runtime.codebase.parsing.parse_limit import PARSE_LIMIT, ParseLimit, SlowSourceError, has_too_many_open
from runtime.codebase.parsing.syntax import FileSyntax, Symbol
from runtime.codebase.parsing.trial_process import NO_MEMORY, TrialProcess
from runtime.codebase.resolution.code_words import lines_in_code
from runtime.codebase.resolution.default_values.kept_values import KeptValues
from runtime.codebase.resolution.python_scopes import FileUses

LIMIT_S = 10.0
CODE = "# said\ndef stir():\n    return 1\n"
IN_COMMENTS = "def stir():\n    a\n" + "    # long\n" * 12_000
IN_ERRORS = "<-" * 20_000


class _Clock:
    """Stands still at its first reading, and is at a given time from then on."""

    def __init__(self, later_s: float) -> None:
        self.readings = 0
        self._later_s = later_s

    def __call__(self) -> float:
        self.readings += 1
        return 0.0 if self.readings == 1 else self._later_s


def _over() -> ParseLimit:
    return ParseLimit(LIMIT_S, _Clock(LIMIT_S + 0.1), least_s=LIMIT_S)


@pytest.mark.parametrize(
    ("language", "path", "text"), [("python", "a.py", CODE), ("ruby", "a.rb", "def stir\n  1\nend\n")]
)
@pytest.mark.parametrize(("took_s", "status"), [(9.9, "parsed"), (10.0, "parsed"), (10.1, "failed")])
def test_a_file_is_read_as_text_once_it_takes_longer_than_the_limit(
    language: str, path: str, text: str, took_s: float, status: str
) -> None:
    found = parse(SourceText(text, ""), path, language, ParseLimit(LIMIT_S, _Clock(took_s), least_s=LIMIT_S))
    assert found.status == status
    assert found.note == ("it takes more than 10 s to parse: read as text" if status == "failed" else found.note)
    assert "stir" in [symbol.name for symbol in found.symbols]


@pytest.mark.parametrize(("text", "language"), [(IN_COMMENTS, "python"), (IN_ERRORS, "python"), (IN_ERRORS, "ruby")])
def test_a_hostile_file_is_given_up_soon_after_the_limit(text: str, language: str) -> None:
    start_s = time.thread_time()
    assert parse(SourceText(text, ""), "a", language, ParseLimit(0.05)).status == "failed"
    assert time.thread_time() - start_s < 3


@pytest.mark.parametrize(
    ("language", "unit"), [("javascript", "// x\n"), ("ruby", "# x\n"), ("javascript", ".b()"), ("python", ".b()")]
)
def test_many_comments_and_long_chains_are_queried_in_time(language: str, unit: str) -> None:
    start_s = time.thread_time()
    assert parse(SourceText("a\n" + unit * 20_000, ""), "a", language).status == "parsed"
    assert time.thread_time() - start_s < 5


def test_a_text_that_took_too_long_is_not_parsed_again() -> None:
    clock = _Clock(LIMIT_S + 0.1)
    limit = ParseLimit(LIMIT_S, clock, least_s=LIMIT_S)
    grammar = load_grammar("python")
    for _ in range(3):
        with pytest.raises(SlowSourceError, match="more than 10 s"):
            limit.parse_once(grammar, CODE.encode())
    assert clock.readings == 2
    assert limit.parse_once(grammar, b"x = 1\n").root.child_count == 1


def test_a_long_text_that_parses_in_time_has_its_texts() -> None:
    text = ("value = 'é'\n" * 2_000).encode()
    tree = ParseLimit().parse(load_grammar("python"), text)
    assert tree.root.text == text
    assert ParseLimit().parse_once(load_grammar("python"), text).root.text == text
    assert ParseLimit().parse_once(load_grammar("python"), b"").root.text == b""


def test_bodies_of_a_slow_file_are_judged_by_lines() -> None:
    long = CODE + "# more\n" * 2_000
    judge = FileJudge(long, "a.py", limit=_over())
    assert not judge.is_empty(2, 3)
    assert judge.constant_body(2, 3) is None


def test_lines_of_code_of_a_slow_file_keep_what_only_a_parser_takes_for_a_comment() -> None:
    assert code_lines(CODE + "# more\n" * 2_000, "a.py", limit=_over())[:3] == CODE.split("\n")[:3]


def test_words_of_a_slow_file_count_as_code() -> None:
    long = "# stir\n" * 2_000
    assert lines_in_code(SourceText(long, "slow words"), "a.py", "stir", [1, 2], _over()) == [1, 2]


def test_uses_in_a_slow_file_are_not_known() -> None:
    long = CODE + "# slow uses\n" * 2_000
    uses = FileUses(lambda _file: SourceText(long, "slow uses"), _over())
    assert uses.of("a.py", "stir") is None


def test_a_slow_file_has_no_values() -> None:
    assert KeptValues().of("a.py", "A_MAX = 1\n" * 2_000, "python", _over()) is None


def test_functions_of_a_slow_file_have_no_depth() -> None:
    long = CODE + "# more\n" * 2_000
    syntax = FileSyntax([Symbol("stir", "stir", "function", 2, 3, 2)], [], [], [], "parsed")
    measured = structure_findings(SourceText(long, ""), "a.py", "python", syntax, CheckOptions(), _over())
    assert list(measured.findings) == []
    assert "to parse: read as text" in measured.missed


@pytest.mark.parametrize(
    ("size", "limit_s"), [(0, 1.0), (100_000, 2.0), (899_999, 9.99999), (900_000, 10.0), (10**7, 10.0)]
)
def test_a_text_may_take_longer_the_longer_it_is(size: int, limit_s: float) -> None:
    assert ParseLimit().limit_s(b" " * size) == pytest.approx(limit_s)


@pytest.mark.parametrize(("count", "is_too_many"), [(999, False), (1_000, False), (1_001, True)])
@pytest.mark.parametrize(("opening", "closing"), ["()", "[]", "{}"])
def test_more_than_a_thousand_open_brackets_of_a_kind_are_too_many(
    opening: str, closing: str, count: int, is_too_many: bool
) -> None:
    assert has_too_many_open(f"{closing * 5}{opening * count}{closing * count}".encode()) == is_too_many
    assert not has_too_many_open(f"{opening}x{closing}".encode() * count)


@given(st.text("()[]{}x"), st.integers(0, 5))
def test_open_brackets_are_counted_by_kind(text: str, most: int) -> None:
    reached = 0
    for pair in ("()", "[]", "{}"):
        now = 0
        for each in text:
            now = max(0, now + (each == pair[0]) - (each == pair[1]))
            reached = max(reached, now)
    assert has_too_many_open(text.encode(), most) == (reached > most)


@pytest.mark.parametrize("language", ["java", "rust", "c", "cpp"])
def test_a_text_that_would_take_gigabytes_is_not_parsed(language: str) -> None:
    start_s = time.thread_time()
    found = parse(SourceText("%w(" * 200_000, ""), "a", language)
    assert (found.status, found.note) == ("failed", "more than 1000 brackets of a kind are open at once: read as text")
    assert time.thread_time() - start_s < 1


def test_a_text_that_is_refused_is_not_parsed() -> None:
    limit = ParseLimit()
    limit.refuse(CODE.encode(), "it was too much")
    for parsed in (limit.parse, limit.parse_once):
        with pytest.raises(SlowSourceError, match="it was too much"):
            parsed(load_grammar("python"), CODE.encode())
    assert parse(SourceText(CODE, ""), "a.py", "python", limit).note == "it was too much"


def test_what_the_index_could_not_have_parsed_no_question_parses(tmp_path: Path) -> None:
    root, index_path = tmp_path / "repository", tmp_path / "index.sqlite"
    root.mkdir()
    (root / "fatal.c").write_bytes(b"\xef\xbb\xbfstruct SHOP_API Cup { int size; };\r\n" * 200)
    (root / "app.c").write_text("int run(void) { return 1; }\n" * 200)
    refresh(root, index_path)
    with closing(sqlite3.connect(index_path)) as connection, connection:
        connection.execute("UPDATE files SET status = 'failed', note = 'it was fatal' WHERE path = 'fatal.c'")
    codebase = Codebase.open(root, index_path)
    fatal, app = (codebase.source(path).text.encode() for path in ("fatal.c", "app.c"))
    codebase.close()
    for form in (fatal, without_export_macros(fatal)):
        with pytest.raises(SlowSourceError, match="it was fatal"):
            PARSE_LIMIT.parse(load_grammar("c"), form)
    assert PARSE_LIMIT.parse(load_grammar("c"), app).root.child_count == 200


def test_a_text_without_brackets_that_would_take_gigabytes_ends_the_process_that_tries_it() -> None:
    trial, limit = TrialProcess(memory_bytes=300_000_000), ParseLimit()
    limit.try_first(trial.why_not)
    hostile, plain = b"x=>" * 3_000, b"int f(void) { return 1; }\n" * 200
    try:
        for parses in (limit.parse, limit.parse_once):
            with pytest.raises(SlowSourceError, match=re.escape(NO_MEMORY)):
                parses(load_grammar("c"), hostile)
        assert limit.parse(load_grammar("c"), plain).root.child_count == 200
    finally:
        trial.close()


@pytest.mark.parametrize(("size", "tried"), [(999, 0), (1_000, 0), (1_001, 1)])
def test_a_larger_text_is_tried_once(size: int, tried: int) -> None:
    texts: list[bytes] = []
    limit = ParseLimit()
    limit.try_first(lambda _grammar, text: texts.append(text))
    for _ in range(2):
        limit.parse(load_grammar("c"), b"\n" * size)
    assert len(texts) == tried


def test_a_text_is_refused_with_the_reason_that_the_process_that_tries_it_gives() -> None:
    trial = TrialProcess()
    try:
        assert trial.why_not(load_grammar("c"), b"int f();\n") is None
        assert "brackets of a kind are open" in str(trial.why_not(load_grammar("c"), b"(" * 1_001))
    finally:
        trial.close()
