"""`jeeves gc`: what went is told, in words and as JSON; runs under way always stay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtime.store.run_log import SqliteRunLog
from tests.doors.sample_repo import QUESTION
from tests.doors.test_runs_and_envelope import Tree, begun_run
from tests.examples import long_but

NOTHING = {
    "runs": 0, "logs": 0, "journals": 0, "sessions": 0, "cached": 0, "relations": 0, "dead_letters": 0,
    "abandoned_tasks": 0, "code_changes": 0, "tokens": 0, "freed_bytes": 0,
}  # fmt: skip


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "state")


def test_without_a_store_nothing_goes_and_nothing_is_made(tree: Tree) -> None:
    assert tree.run("gc").answers().out == "nothing deleted, unused for 30 days\n0 bytes freed\n"
    assert not tree.state_dir.exists()


@pytest.mark.long
def test_what_is_old_goes_after_a_dry_run_told_of_it(tree: Tree, repo: Path) -> None:
    tree.ask(QUESTION, repo, "--session", "s").answers()
    under_way = begun_run(tree, repo)
    kept = tree.run("gc", "--json").answers().document
    assert kept == {"older_than_days": 30, "dry_run": False, **NOTHING, "freed_bytes": kept["freed_bytes"]}
    log = tree.state_dir / "runs" / "local.sqlite"
    before = log.read_bytes()
    told = tree.run("gc", "--older-than", "0", "--dry-run").answers().out
    # Cached are an answer, what is known of the files that it read, and how three tools fared.
    gone = "1 finished run, 1 session, 8 cached results, 8 relations of symbols and files"
    assert told == f"{gone} would be deleted, unused for 0 days\n"
    assert log.read_bytes() == before
    told = tree.run("gc", "--older-than", "0").answers().out
    assert told.startswith(f"{gone} deleted, unused for 0 days\n")
    assert told.endswith(" bytes freed\n")
    (left,) = json.loads(tree.run("runs", "list", "--json").answers().out)
    assert (left["run_id"], left["finished"]) == (under_way, False)


@pytest.mark.long
def test_the_settings_say_what_is_old_and_may_keep_everything(tree: Tree, repo: Path) -> None:
    tree.ask(QUESTION, repo).answers()
    env = {"JEEVES_STORE__RETENTION_DAYS": "0"}
    assert tree.run("gc", "--json", "--dry-run", env=env).answers().document["runs"] == 1
    unlimited = {"JEEVES_STORE__RETENTION_DAYS": "unlimited"}
    tree.run("gc", env=unlimited).complains(2, "store.retention_days is unlimited", "--older-than")
    assert tree.run("gc", "--older-than", "0", "--json", env=unlimited).answers().document["runs"] == 1


@pytest.mark.parametrize("days", long_but(["-1", "nan", "inf", "1e300", "soon"], 0, 4))
def test_an_age_that_is_none_is_a_usage_error(tree: Tree, days: str) -> None:
    outcome = tree.run("gc", "--older-than", days)
    assert (outcome.status, outcome.out) == (2, "")
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize("days", ["-1", "nan", "inf"])
def test_a_wrong_retention_is_refused_by_its_name(tree: Tree, days: str) -> None:
    tree.run("gc", env={"JEEVES_STORE__RETENTION_DAYS": days}).complains(2, "JEEVES_STORE__RETENTION_DAYS")


def test_a_damaged_log_is_named_and_left_as_it_is(tree: Tree) -> None:
    path = tree.state_dir / "runs" / "local.sqlite"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not a database, not at all" * 500)
    tree.run("gc").complains(1, str(path), "not a database")
    assert path.read_bytes() == b"not a database, not at all" * 500


def test_a_log_with_a_living_owner_loses_its_old_runs_and_its_owner_stays(tree: Tree, repo: Path) -> None:
    tree.ask(QUESTION, repo).answers()
    log = SqliteRunLog(tree.state_dir / "runs" / "local.sqlite")
    epoch = log.take_over("supervisor-0", 0, 2**50)
    assert tree.run("gc", "--older-than", "0", "--json").answers().document["runs"] == 1
    log.check_owner(epoch)
    log.close()
