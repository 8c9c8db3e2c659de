"""Every disposable file, damaged in every way: the question is answered, the damage is told once, the file is new."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.doors.program import Program
from tests.doors.sample_repo import FILES, QUESTION, write_files
from tests.examples import long_but

pytestmark = pytest.mark.long

DISPOSABLE = ("cache.sqlite", "relations.sqlite", "tool_metrics.sqlite", "index/*/index.sqlite")
FIRST_AND_OTHERS = (DISPOSABLE[0], *(pytest.param(pattern, marks=pytest.mark.long) for pattern in DISPOSABLE[1:]))
NOT_DISPOSABLE = ("sessions.sqlite", "journal.sqlite", "runs/local.sqlite")


def cut_to_nothing(path: Path) -> None:
    os.truncate(path, 0)


def cut_in_half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def garbage(path: Path) -> None:
    path.write_bytes(b"garbage!" * 2_000)


def broken_pages(path: Path) -> None:
    with path.open("r+b") as file:
        for page in range(1, path.stat().st_size // 4096):
            file.seek(page * 4096)
            file.write(b"\xff" * 4096)


def newer_version(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA user_version=999")


def other_tables(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            if name not in {"schema_versions", "sqlite_sequence"}:
                db.execute(f'ALTER TABLE "{name}" RENAME TO "x_{name}"')
                break


def folder(path: Path) -> None:
    path.unlink()
    (path / "inside").mkdir(parents=True)


def dangling_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/nonsense/nowhere")


def link_to_text(path: Path) -> None:
    path.unlink()
    target = path.parent / "someone's text"
    target.write_text("not a database, and not ours\n" * 500)
    path.symlink_to(target)


def link_to_a_device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


HARMS = (
    cut_to_nothing,
    cut_in_half,
    garbage,
    broken_pages,
    newer_version,
    other_tables,
    folder,
    dangling_link,
    link_to_text,
    link_to_a_device,
    pipe,
)


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a repository, and the state after two questions; everything is in the files themselves."""
    base = tmp_path_factory.mktemp("answered")
    write_files(base / "repo", FILES)
    jeeves = Program(base / "state", JEEVES_RAY__MODE="in_process")
    for _ in range(2):
        jeeves.ask(QUESTION, base / "repo", "--session", "s").answers()
    for path in (base / "state").rglob("*.sqlite"):
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return base


@pytest.fixture
def damaged(answered: Path, tmp_path: Path) -> Callable[[str, Callable[[Path], None]], tuple[Program, Path]]:
    """The state with one file harmed, and that file."""

    def damage(pattern: str, harm: Callable[[Path], None]) -> tuple[Program, Path]:
        shutil.copytree(answered / "state", tmp_path / "state")
        (path,) = (tmp_path / "state").glob(pattern)
        harm(path)
        return Program(tmp_path / "state", JEEVES_RAY__MODE="in_process"), path

    return damage


Damaged = Callable[[str, Callable[[Path], None]], tuple[Program, Path]]


@pytest.mark.parametrize("harm", long_but(HARMS, 0, 2, 7, 10), ids=lambda harm: harm.__name__)
@pytest.mark.parametrize("pattern", FIRST_AND_OTHERS)
def test_a_question_is_answered_and_the_damage_is_told_once(
    damaged: Damaged, answered: Path, pattern: str, harm: Callable[[Path], None]
) -> None:
    jeeves, path = damaged(pattern, harm)
    first = jeeves.ask(QUESTION, answered / "repo", "--session", "s")
    assert first.status == 0, first.err
    assert json.loads(first.out)["citations"]
    told = [line for line in first.err.splitlines() if line]
    assert len(told) <= 1
    assert all(str(path) in line for line in told)
    # An empty file of ours leaves nothing to set aside, and an index of another version is rebuilt after any upgrade.
    is_silent = harm is newer_version if pattern.startswith("index") else harm is cut_to_nothing
    assert bool(told) != is_silent
    assert path.is_file()
    assert not path.is_symlink()
    jeeves.ask(QUESTION, answered / "repo", "--session", "s").answers()
    if harm is link_to_text:
        assert (path.parent / "someone's text").read_text().startswith("not a database, and not ours")


@pytest.mark.parametrize("command", [["index"], ["tool", "list_tools"], ["gc"], ["gc", "--dry-run"]], ids=" ".join)
@pytest.mark.parametrize("pattern", FIRST_AND_OTHERS)
def test_other_commands_work_too(damaged: Damaged, answered: Path, pattern: str, command: list[str]) -> None:
    jeeves, _ = damaged(pattern, broken_pages)
    outcome = jeeves.run(*command, cwd=answered / "repo")
    assert outcome.status == 0, outcome.err


@pytest.mark.parametrize("harm", [cut_to_nothing, Path.unlink], ids=["cut to nothing", "deleted"])
@pytest.mark.parametrize("pattern", NOT_DISPOSABLE)
def test_a_loss_that_cannot_be_made_good_is_told_and_nothing_is_begun_anew(
    damaged: Damaged, answered: Path, pattern: str, harm: Callable[[Path], None]
) -> None:
    jeeves, path = damaged(pattern, harm)
    there = path.exists()
    mark = path.with_name(f"{path.name}.made")
    for _ in range(2):
        message = jeeves.ask(QUESTION, answered / "repo", "--session", "s").complains(1, str(path), "lost", str(mark))
        assert "put a copy back" in message
        assert path.exists() == there
        assert not there or path.stat().st_size == 0
    if pattern.startswith("runs"):
        jeeves.run("runs", "list").complains(1, str(path), "lost")
        jeeves.run("runs", "show", "r-1").complains(1, str(path), "lost")
    mark.unlink()
    jeeves.ask(QUESTION, answered / "repo", "--session", "s").answers()
    assert mark.exists()


def test_what_a_crash_left_of_a_lost_log_stays(damaged: Damaged, answered: Path) -> None:
    jeeves, path = damaged("runs/local.sqlite", cut_to_nothing)
    wal = path.with_name(f"{path.name}-wal")
    wal.write_bytes(b"the newest events")
    jeeves.ask(QUESTION, answered / "repo").complains(1, str(wal), "newest part")
    assert wal.read_bytes() == b"the newest events"


def test_a_store_of_an_earlier_version_is_guarded_from_its_next_use(damaged: Damaged, answered: Path) -> None:
    jeeves, path = damaged("runs/local.sqlite", lambda path: path.with_name(f"{path.name}.made").unlink())
    jeeves.ask(QUESTION, answered / "repo").answers()
    os.truncate(path, 0)
    jeeves.ask(QUESTION, answered / "repo").complains(1, str(path), "lost")


def test_damaged_files_that_were_set_aside_are_deleted_in_time(damaged: Damaged, answered: Path) -> None:
    jeeves, path = damaged("cache.sqlite", garbage)
    jeeves.ask(QUESTION, answered / "repo")
    aside = path.with_name("cache.sqlite.damaged")
    assert aside.read_bytes().startswith(b"garbage!")
    jeeves.run("gc").answers()
    assert aside.exists()
    jeeves.run("gc", "--older-than", "0").answers()
    assert not aside.exists()
