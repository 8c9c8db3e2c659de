"""What a claim quotes is compared with its lines: the words between the marks, and no more than these."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from actors.capabilities.code_analysis.agents.claim_checks import holds_its_quotes, told_with_lines
from actors.capabilities.code_analysis.evidence.claims import Claim
from runtime.codebase.citation import Citation
from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from tests.doors.sample_repo import write_files

ITEM = """  - `closeTimeout`: (`number`) An optional time (in milliseconds) to wait for the pool to
    complete all tasks when `close()` is called. The default is `30000`
"""
SAID = "`closeTimeout`: (`number`) An optional time (in milliseconds) to wait for the pool to complete all tasks"


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        (f"`README.md` says: «{SAID} when `close()` is called.»", True),
        (f"`README.md` says: «{SAID} when `open()` is called.»", False),
        (f"`README.md` says: {SAID[1:]}", True),
        (f"`README.md` says: {SAID[1:]} for ever", False),
        ("``a `name` with marks`` says: An optional time (in milliseconds)", True),
        ("``a `name` with marks`` says: An optional time (in minutes)", False),
    ],
)
def test_an_item_of_a_list_that_begins_with_a_name_is_quoted(tmp_path: Path, text: str, holds: bool) -> None:
    root, index = write_files(tmp_path / "repo", {"README.md": ITEM}), tmp_path / "index.sqlite"
    refresh(root, index)
    claim = Claim("point", text, (Citation("README.md", 1, 2),))
    with closing(Codebase.open(root, index)) as codebase:
        assert holds_its_quotes(codebase, claim) is holds


@pytest.mark.parametrize(("lines", "is_quoted"), [((1, 2), True), ((2, 2), False)])
def test_what_the_cited_lines_do_not_hold_is_told_without_the_quotation(
    tmp_path: Path, lines: tuple[int, int], is_quoted: bool
) -> None:
    root, index = write_files(tmp_path / "repo", {"van.rs": "/// Keeps a van dry.\npub struct Yard;\n"}), tmp_path / "i"
    refresh(root, index)
    quoted, bare = "`Yard` is a struct: «Keeps a van dry.»", "`Yard` is a struct: `pub struct Yard`"
    claim = Claim("lead", quoted, (Citation("van.rs", *lines),), quotes=("Keeps a van dry.",), unquoted=bare)
    with closing(Codebase.open(root, index)) as codebase:
        told = told_with_lines(codebase, claim)
        assert told.text == (quoted if is_quoted else bare)
        assert holds_its_quotes(codebase, told)
