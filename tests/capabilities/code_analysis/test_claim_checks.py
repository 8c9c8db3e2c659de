"""What a claim quotes is compared with its lines: the words between the marks, and no more than these."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from actors.capabilities.code_analysis.agents.claim_checks import holds_its_quotes
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
