"""A store in which something is wrong, met at the door: one clear line, an exit status, and nothing written over."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.doors.sample_repo import QUESTION
from tests.doors.test_runs_and_envelope import Tree
from tests.examples import long_but

Files = dict[Path, bytes]


@pytest.fixture
def tree(tmp_path: Path, repo: Path) -> Tree:
    """A program that has answered before; its log has been closed in good order."""
    made = Tree(tmp_path / "state")
    made.ask(QUESTION, repo, "--session", "s").answers()
    line = json.dumps({"id": "q", "question": QUESTION, "repo": str(repo)})
    (tmp_path / "in.jsonl").write_text(line + "\n")
    assert made.run("batch", "in.jsonl", "--out", "before.jsonl", cwd=tmp_path).status == 0
    for path in made.state_dir.rglob("*.sqlite"):
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return made


def commands(repo: Path) -> Iterator[list[str]]:
    """Every command that opens the run log."""
    yield ["ask", QUESTION, "--repo", str(repo), "--json"]
    yield ["batch", "in.jsonl", "--out", "out.jsonl"]
    yield ["runs", "list"]
    yield ["runs", "show", "r-1"]
    yield ["runs", "resume", "r-1"]
    yield ["gc", "--older-than", "0"]


def rubbish(path: Path) -> None:
    path.write_bytes(b"rubbish!" * 1_000)


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def of_a_newer_version(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE schema_versions SET version = 99")


@pytest.mark.parametrize(
    ("harm", "word"),
    long_but([(rubbish, "not a database"), (cut_off, "damaged"), (of_a_newer_version, "upgrade jeeves")], 2),
)
def test_a_run_log_that_cannot_be_used_is_named_and_left_as_it_is(
    tree: Tree, repo: Path, harm: object, word: str
) -> None:
    path = tree.state_dir / "runs" / "local.sqlite"
    assert callable(harm)
    harm(path)
    before = path.read_bytes()
    for command in commands(repo):
        tree.run(*command, cwd=repo.parent).complains(1, str(path), word)
        assert path.read_bytes() == before, command
    assert not (repo.parent / "out.jsonl").exists()


@pytest.mark.parametrize(("harm", "word"), [(rubbish, "not a database"), (of_a_newer_version, "upgrade jeeves")])
@pytest.mark.parametrize(
    ("name", "command"),
    long_but(
        [
            ("queues", ["batch", "in.jsonl", "--out", "out.jsonl"]),
            ("queues", ["gc"]),
            ("sessions", ["ask", QUESTION, "--repo", "repo", "--session", "s", "--json"]),
            ("sessions", ["gc"]),
        ],
        0,
    ),
)
def test_another_part_that_cannot_be_used_is_named_and_left_as_it_is(
    tree: Tree, repo: Path, name: str, command: list[str], harm: object, word: str
) -> None:
    path = tree.state_dir / f"{name}.sqlite"
    assert callable(harm)
    harm(path)
    before = path.read_bytes()
    tree.run(*command, cwd=repo.parent).complains(1, str(path), word)
    assert path.read_bytes() == before
    assert not (repo.parent / "out.jsonl").exists()


@pytest.mark.long
def test_two_programs_on_one_store_are_both_answered(tree: Tree, repo: Path) -> None:
    both = [tree.start("ask", QUESTION, "--repo", repo, "--json", "--session", "s") for _ in range(2)]
    documents = []
    for process in both:
        out, err = process.communicate(timeout=120)
        assert (process.returncode, err) == (0, "")
        documents.append(json.loads(out))
    assert len({document["run_id"] for document in documents}) == 2
    listed = json.loads(tree.run("runs", "list", "--json").answers().out)
    assert {run["terminal_reason"] for run in listed} == {"completed"}


@pytest.mark.slow
def test_a_store_that_another_process_keeps_to_itself_is_said_to_be_busy(tree: Tree, repo: Path) -> None:
    path = tree.state_dir / "runs" / "local.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        tree.ask(QUESTION, repo).complains(1, str(path), "another process holds it")
        assert tree.run("runs", "list").status == 0
        db.execute("ROLLBACK")
    tree.ask(QUESTION, repo).answers()
