"""The guide to recovery does what it says: a damaged run log is refused, and its copy is read again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.codebase.git.linked_trees import FIXES_FOLDER
from serve.batch.fix_record import FixPlan, FixRecord, FixResult
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


def test_what_a_fix_planned_and_did_is_in_the_backup_and_is_read_again_where_it_is_put_back(tmp_path: Path) -> None:
    write_files(tmp_path, GUIDE.files)
    state, copies, elsewhere = tmp_path / "state", tmp_path / "copies", tmp_path / "elsewhere"
    plan, result = FixPlan("f-1", "/repo", "c0ffee", "jeeves_fixes_f-1", 1, ({"name": "f-1-1"},)), FixResult("f-1-1")
    record = FixRecord(state / FIXES_FOLDER, "f-1")
    record.begin(plan)
    for _ in range(2):  # a second backup goes over the first
        subprocess.run([sys.executable, "backup.py", str(state), str(copies)], cwd=tmp_path, check=True)
        record.add(result)
    shutil.copytree(copies, elsewhere)
    back = FixRecord.of(elsewhere / FIXES_FOLDER, "f-1")
    assert (back.plan(), back.results(), back.has_ended) == (plan, {"f-1-1": result}, False)
