"""A text that takes too long to parse is read as text, wherever trees are read."""

from __future__ import annotations

import time

import pytest

from actors.capabilities.violation_fix.checks.options import CheckOptions
from actors.capabilities.violation_fix.checks.structure_check import structure_findings
from runtime.codebase.files.source_text import SourceText
from runtime.codebase.language_registry import load_grammar
from runtime.codebase.parsing.bodies.empty_bodies import FileJudge, code_lines
from runtime.codebase.parsing.parse import parse
from runtime.codebase.parsing.parse_limit import ParseLimit, SlowSourceError
from runtime.codebase.parsing.syntax import Symbol
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
    return ParseLimit(LIMIT_S, _Clock(LIMIT_S + 0.1))


@pytest.mark.parametrize(
    ("language", "path", "text"), [("python", "a.py", CODE), ("ruby", "a.rb", "def stir\n  1\nend\n")]
)
@pytest.mark.parametrize(("took_s", "status"), [(9.9, "parsed"), (10.0, "parsed"), (10.1, "failed")])
def test_a_file_is_read_as_text_once_it_takes_longer_than_the_limit(
    language: str, path: str, text: str, took_s: float, status: str
) -> None:
    found = parse(SourceText(text, ""), path, language, ParseLimit(LIMIT_S, _Clock(took_s)))
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
    limit = ParseLimit(LIMIT_S, clock)
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
    symbols = [Symbol("stir", "stir", "function", 2, 3, 2)]
    assert structure_findings(SourceText(long, ""), "a.py", "python", symbols, CheckOptions(), _over()) == []
