"""Cited lines are shown with their numbers as long as they hold what the answer quotes, and from nowhere else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from serve.cited_code import MAX_CITATIONS, MAX_LINE_CHARS, MAX_LINES, cited_code
from serve.run_fragments import answer_section
from tests.doors.test_run_page import DOCUMENT, HOSTILE, Page

LATER_MS = 4_000_000_000_000


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / "pkg").mkdir(parents=True)
    (root / "pkg" / "a.py").write_text("def open():\n    box = 1\n    return box\n")
    (root / ".env").write_text("PASSWORD=hunter2\n")
    (root / "data.bin").write_bytes(b"\0\1box = 1\n")
    (tmp_path / "outside.py").write_text("box = 1\n")
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    (root / "long.py").write_text("\n".join(f"line {number}" for number in range(1, 100)))
    return root


def citation(file: str, first: int, last: int, quote: str) -> dict[str, Any]:
    return {"file": file, "start_line": first, "end_line": last, "quote": quote}


def test_the_lines_of_a_citation_are_read_with_their_numbers(repo: Path) -> None:
    found = cited_code(repo, [citation("pkg/a.py", 2, 3, "box = 1")], LATER_MS)
    assert found == {"[pkg/a.py:2-3]": [(2, "    box = 1"), (3, "    return box")]}


@pytest.mark.parametrize(
    "cited",
    [
        citation("pkg/a.py", 2, 3, "box = 2"),
        citation("pkg/a.py", 2, 3, ""),
        citation("pkg/a.py", 2, 4, "box = 1"),
        citation("pkg/a.py", 0, 2, "box = 1"),
        citation("pkg/a.py", 3, 2, "box = 1"),
        citation("pkg", 1, 1, "box"),
        citation("gone.py", 1, 1, "box"),
        citation("link.py", 1, 1, "box = 1"),
        citation("../outside.py", 1, 1, "box = 1"),
        citation(".env", 1, 1, "PASSWORD"),
        citation("data.bin", 1, 1, "box = 1"),
        citation("a\0b", 1, 1, "box"),
    ],
)
def test_what_has_changed_lies_elsewhere_or_is_secret_is_not_read(repo: Path, cited: dict[str, Any]) -> None:
    assert cited_code(repo, [cited], LATER_MS) == {}


def test_a_repository_that_is_gone_gives_no_lines(tmp_path: Path) -> None:
    assert cited_code(tmp_path / "gone", [citation("a.py", 1, 1, "x")], LATER_MS) == {}


@pytest.mark.parametrize("lines", [MAX_LINES - 1, MAX_LINES, MAX_LINES + 1])
def test_a_long_range_is_cut(repo: Path, lines: int) -> None:
    (found,) = cited_code(repo, [citation("long.py", 3, 2 + lines, "line 3")], LATER_MS).values()
    assert [number for number, _ in found] == list(range(3, 3 + min(lines, MAX_LINES)))


@pytest.mark.parametrize("count", [MAX_CITATIONS - 1, MAX_CITATIONS, MAX_CITATIONS + 1])
def test_of_many_citations_the_first_are_read(repo: Path, count: int) -> None:
    cited = [citation("long.py", number, number, f"line {number}") for number in range(1, count + 1)]
    assert len(cited_code(repo, cited, LATER_MS)) == min(count, MAX_CITATIONS)


def test_lines_on_a_page_are_numbered_and_only_text() -> None:
    cited = citation("a.py", 7, 8, "x")
    page = Page(
        "".join(answer_section(DOCUMENT | {"citations": [cited]}, {"[a.py:7-8]": [(7, HOSTILE), (8, "b = 2")]}))
    )
    assert [told["data-line"] for tag, told in page.elements if "data-line" in told] == ["7", "8"]
    assert not {tag for tag, _ in page.elements} & {"script", "img", "style"}
    assert "b = 2" in page.text
    assert "\u202e" not in page.text


@pytest.mark.parametrize(("later_ms", "is_shown"), [(-1, False), (0, True), (1, True)])
def test_lines_of_a_file_that_was_written_since_are_not_shown(repo: Path, later_ms: int, is_shown: bool) -> None:
    at_ms = 1_700_000_000_000
    os.utime(repo / "pkg" / "a.py", ns=(0, at_ms * 1_000_000))
    assert bool(cited_code(repo, [citation("pkg/a.py", 2, 3, "box = 1")], at_ms + later_ms)) == is_shown


@pytest.mark.parametrize("chars", [MAX_LINE_CHARS - 1, MAX_LINE_CHARS, MAX_LINE_CHARS + 1])
def test_a_long_line_is_cut(repo: Path, chars: int) -> None:
    (repo / "wide.py").write_text("x" * chars)
    ((_, line),) = cited_code(repo, [citation("wide.py", 1, 1, "x")], LATER_MS)["[wide.py:1]"]
    is_cut = chars > MAX_LINE_CHARS
    assert (len(line), line.endswith("…")) == (min(chars, MAX_LINE_CHARS) + is_cut, is_cut)


def test_tabs_of_cited_lines_and_stars_in_code_stay_what_they_are() -> None:
    told = DOCUMENT | {"citations": [citation("a.py", 7, 7, "x")], "answer": "**Call** `f(**a)` and `g(**b)` **so**"}
    page = "".join(answer_section(told, {"[a.py:7]": [(7, "\tx = 1")]}))
    assert '<span data-line="7">\tx = 1\n</span>' in page
    assert "<strong>Call</strong> <code>f(**a)</code> and <code>g(**b)</code> <strong>so</strong>" in page
