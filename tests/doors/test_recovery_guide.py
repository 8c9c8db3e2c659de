"""The guide to recovery does what it says: a damaged run log is refused, and its copy is read again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from actors.capabilities.code_change.session.service import WORK_TREES
from runtime.codebase.git.tree_places import FIXES_FOLDER
from runtime.database.sqlite_database import SqliteDatabase
from runtime.memory.usage_log import UsageLog, Use
from runtime.testing import FakeClock
from serve.batch.fix_record import FixPlan, FixRecord, FixResult
from tests.capabilities.code_change.played_agent import CHANGED, Agent, git, repository
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


async def under_way(folder: Path) -> Agent:
    """Begin a change beside uncommitted work, with edits of all kinds that no commit has yet."""
    root = repository(folder / "project")
    (root / "cache.py").write_text("KEPT = {1: 2}\n")
    agent = Agent(root, folder / "state", work_trees=folder / "state" / WORK_TREES)
    await agent.start()
    await agent.go_to(13)
    tree = agent.workspace
    assert tree.parent == folder / "state" / WORK_TREES
    (tree / "draft.py").write_text("A = 1\n")
    (tree / "built").symlink_to(folder / "elsewhere")
    (tree / "rules").symlink_to("docs")
    os.mkfifo(tree / "pipe")
    return agent


def back_up(folder: Path) -> list[str]:
    command = [sys.executable, "backup.py", str(folder / "state"), str(folder / "copies")]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.splitlines()


@pytest.mark.parametrize("is_pruned", [False, True], ids=["known", "forgotten"])
async def test_a_change_under_way_goes_on_with_its_uncommitted_edits_after_the_state_folder_was_lost_and_put_back(
    tmp_path: Path, is_pruned: bool
) -> None:
    write_files(tmp_path, GUIDE.files)
    agent = await under_way(tmp_path)
    tree = agent.workspace
    back_up(tmp_path)
    agent.edit()
    (tree / "draft.py").unlink()
    (tree / "load.py").chmod(0o755)
    copied = tmp_path / "copies" / WORK_TREES / tree.name
    assert str(copied) in back_up(tmp_path)  # the second backup of that tree takes the place of the first
    assert [path.name for path in copied.parent.iterdir()] == [tree.name]

    shutil.rmtree(tmp_path / "state")
    if is_pruned:
        git(agent.root, "worktree", "prune", "--expire", "now")
    shutil.copytree(tmp_path / "copies", tmp_path / "state", symlinks=True)
    assert (tree / "load.py").read_text() == CHANGED
    assert (tree / "load.py").stat().st_mode & 0o777 == 0o755
    assert ((tree / "built").readlink(), (tree / "rules").readlink()) == (tmp_path / "elsewhere", Path("docs"))
    assert not {"draft.py", "pipe"} & {path.name for path in tree.iterdir()}

    again = Agent(agent.root, agent.state_dir, owner="another", work_trees=tree.parent)
    told = await again.start(recovery="resume")
    assert ("linked" in str(told.get("notes"))) == is_pruned
    assert "lost" not in str(told)
    seen = (await again.session.review_changes())["files"]
    assert [file["file"] for file in seen] == ["built", "load.py", "rules"]
    for link in ("built", "rules"):
        (tree / link).unlink()
    assert (await again.finish())["outcome"] == "completed"
    assert git(agent.root, "show", "main:load.py") == CHANGED.strip()


async def test_what_a_link_in_the_place_of_a_work_tree_leads_to_is_not_copied_and_is_told(tmp_path: Path) -> None:
    write_files(tmp_path, GUIDE.files)
    tree = (await under_way(tmp_path)).workspace
    tree.rename(tmp_path / "moved")
    tree.symlink_to(tmp_path / "moved")
    with pytest.raises(subprocess.CalledProcessError) as told:
        back_up(tmp_path)
    assert "it is a link" in told.value.stderr
    assert not (tmp_path / "copies" / WORK_TREES).exists()


def test_what_callers_used_today_is_in_the_backup_and_counts_where_it_is_put_back(tmp_path: Path) -> None:
    write_files(tmp_path, GUIDE.files)
    (tmp_path / "state").mkdir()
    clock = FakeClock()
    database = SqliteDatabase(tmp_path / "state" / "usage.sqlite", label="usage")
    UsageLog(database, clock).add([Use("token:ann", "requests chat", clock.now_ms(), 3)])
    back_up(tmp_path)
    database.close()
    kept = UsageLog(SqliteDatabase(tmp_path / "copies" / "usage.sqlite", label="usage"), clock)
    assert kept.totals(0) == {"token:ann": {"requests": 3}}
