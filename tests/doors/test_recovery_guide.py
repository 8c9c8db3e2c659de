"""The guide to recovery does what it says: a damaged run log is refused, and its copy is read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doors.test_guides import Guide, prints, write_files
from tests.doors.test_tutorial import outputs

GUIDE = Guide("recover.md")
COMMANDS = 8


@pytest.mark.long
def test_a_damaged_run_log_is_refused_and_its_copy_put_back(tmp_path: Path) -> None:
    write_files(tmp_path, GUIDE.files)
    assert len(GUIDE.commands) == COMMANDS
    told = outputs([command for command, _ in GUIDE.commands], tmp_path)
    for (command, expected), printed in zip(GUIDE.commands, told, strict=True):
        assert (not expected and not printed) or prints(printed, expected), f"{command}: {printed}"
