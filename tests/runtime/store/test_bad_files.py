"""SQLite files that are damaged, cut off, full, newer or closed to writing: each is said, and none is overwritten."""

from __future__ import annotations

import os
import pickle
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runtime.database.sqlite_database import FILE_FORMAT, SqliteDatabase
from runtime.errors import StateStorageError
from runtime.primitives.ids import RunId
from runtime.store.run_log import Entry, SqliteRunLog
from runtime.supervision.events import CancelRequested, Event

RUN = RunId("r-1")


def entries(count: int, size: int = 500) -> list[Entry]:
    return [Entry("p", Event(RUN, seq, seq, CancelRequested("x" * size))) for seq in range(1, count + 1)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A log with 200 events, closed."""
    made = tmp_path / "runs.sqlite"
    log = SqliteRunLog(made)
    log.append_all(entries(200))
    log.close()
    return made


def refused(path: Path, problem: str, readonly: bool = False) -> str:
    """What is said when the log is opened and read; nothing about the file has changed."""
    before = path.read_bytes()
    with pytest.raises(StateStorageError) as caught:
        log = SqliteRunLog(path, readonly=readonly)
        try:
            log.runs(9)
            log.events(RUN)
        finally:
            log.close()
    assert str(path) in str(caught.value)
    assert caught.value.values["problem"] == problem
    assert path.read_bytes() == before
    return str(caught.value)


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.99])
def test_a_file_that_was_cut_off_is_said_and_left_alone(path: Path, kept: float, readonly: bool) -> None:
    with path.open("r+b") as file:
        file.truncate(int(path.stat().st_size * kept))
    assert "put a copy back" in refused(path, "damaged", readonly)


def test_a_file_with_rubbish_in_its_pages_is_said(path: Path) -> None:
    with path.open("r+b") as file:
        for page in range(1, path.stat().st_size // 4096):
            file.seek(page * 4096)
            file.write(b"\xff" * 200)
    assert "damaged" in refused(path, "damaged")


@pytest.mark.parametrize("rubbish", [b"words, " * 1_000, b"\x00" * 8_192, b"SQLite format 3\x00" + b"\xff" * 8_000])
def test_a_file_that_is_no_database_is_said(tmp_path: Path, rubbish: bytes) -> None:
    path = tmp_path / "runs.sqlite"
    path.write_bytes(rubbish)
    refused(path, "damaged")


def test_a_file_of_a_newer_version_is_said_and_left_alone(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version={FILE_FORMAT + 1}")
    db.close()
    assert "upgrade jeeves" in refused(path, "newer")
    refused(path, "newer", readonly=True)


def test_a_log_with_newer_tables_is_said_and_left_alone(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE schema_versions SET version = version + 1")
    db.close()
    assert "upgrade jeeves" in refused(path, "newer")


def test_a_file_that_is_not_there_cannot_be_looked_at(tmp_path: Path) -> None:
    with pytest.raises(StateStorageError, match="cannot be opened"):
        SqliteRunLog(tmp_path / "none.sqlite", readonly=True)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_is_a_new_log(tmp_path: Path) -> None:
    (tmp_path / "runs.sqlite").touch()
    log = SqliteRunLog(tmp_path / "runs.sqlite")
    assert log.runs(9) == []
    log.close()


def test_a_writer_that_waits_too_long_says_so(path: Path) -> None:
    holder = SqliteDatabase(path)
    waiting = SqliteDatabase(path, busy_timeout_s=0.05)
    with holder.transaction("hold it"):
        with pytest.raises(StateStorageError, match="another process holds it") as caught, waiting.transaction("write"):
            pass
        with waiting.read() as queries:
            assert queries.rows("SELECT count(*) FROM run_events") == [(200,)]
    assert caught.value.values["problem"] == "busy"
    holder.close()
    waiting.close()


@pytest.mark.parametrize(("durability", "synchronous"), [("full", 2), ("normal", 1)])
def test_durability_is_what_sqlite_was_told(tmp_path: Path, durability: str, synchronous: int) -> None:
    database = SqliteDatabase(tmp_path / "x.sqlite", durability)  # type: ignore[arg-type]
    assert database._db.execute("PRAGMA synchronous").fetchone() == (synchronous,)
    assert database._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    database.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("NO DISK TEST: a small file system can only be mounted by root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_on_a_full_disk_what_was_accepted_stays_and_the_log_goes_on_when_there_is_room(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 2**20)
    log = SqliteRunLog(small_disk / "runs.sqlite")
    accepted = 0
    with pytest.raises(StateStorageError, match="no room is left on the disk") as caught:
        for entry in entries(1_000, 10_000):
            log.append_all([entry])
            accepted += 1
    assert caught.value.values["problem"] == "full"
    assert caught.value.values["run_id"] == RUN
    assert 0 < accepted < 1_000
    assert len(log.events(RUN)) == accepted
    ballast.unlink()
    log.append_all([entries(accepted + 1)[-1]])
    log.close()
    again = SqliteRunLog(small_disk / "runs.sqlite")
    assert [event.seq for event in again.events(RUN)] == list(range(1, accepted + 2))
    again.close()


def test_a_disk_without_any_room_is_said_at_once(small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(b"x" * (2**21 - 4096))
    with pytest.raises(StateStorageError) as caught:
        SqliteRunLog(small_disk / "runs.sqlite")
    assert caught.value.values["problem"] == "full"


def test_a_file_on_a_disk_that_is_closed_to_writing_can_be_looked_at_but_not_written(
    small_disk: Path, path: Path
) -> None:
    copy = small_disk / "runs.sqlite"
    shutil.copyfile(path, copy)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert "cannot be opened" in refused(copy, "read_only")
    log = SqliteRunLog(copy, readonly=True)
    assert len(log.events(RUN)) == 200
    log.close()


def test_the_log_grows_by_less_than_twice_what_changed(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    log = SqliteRunLog(path)

    def size() -> int:
        log.close()  # leaves nothing beside the file
        return path.stat().st_size

    before = size()
    for bytes_per_hop in (600, 1_500, 4_000, 6_000, 40_000):
        log = SqliteRunLog(path)
        runs = [RunId(f"r-{bytes_per_hop}-{number}") for number in range(5)]
        for seq in range(1, 41):
            change = CancelRequested(os.urandom(bytes_per_hop // 2).hex())
            log.append_all([Entry("p", Event(run_id, seq, seq, change)) for run_id in runs])
        after = size()
        assert (after - before) / (5 * 40 * bytes_per_hop) < 2
        before = after


@pytest.mark.parametrize("state", ["deleted", "moved", "replaced", "folder deleted", "folder a file"])
def test_nothing_is_written_or_read_where_the_open_file_is_no_longer_at_its_path(tmp_path: Path, state: str) -> None:
    folder, elsewhere = tmp_path / "state", tmp_path / "elsewhere"
    path = folder / "runs.sqlite"
    database = SqliteDatabase(path, is_guarded=True)
    with database.transaction("begin") as changes:
        changes.execute("CREATE TABLE t (x)")
    if "folder" in state:
        folder.rename(elsewhere)
        (folder.write_text("")) if "file" in state else None
    else:
        path.rename(elsewhere)
        shutil.copy(elsewhere, path) if state == "replaced" else None
    with pytest.raises(StateStorageError) as caught, database.transaction("write") as changes:
        changes.execute("INSERT INTO t VALUES (1)")
    assert str(path) in caught.value.message
    assert caught.value.values["problem"] == ("read_only" if "file" in state else "lost")
    with pytest.raises(StateStorageError), database.read():
        pass
    if folder.is_file():
        folder.unlink()
    elsewhere.rename(folder if "folder" in state else path)
    with database.transaction("write again") as changes:
        changes.execute("INSERT INTO t VALUES (2)")
        assert changes.rows("SELECT x FROM t") == [(2,)]
    database.close()


@pytest.mark.parametrize("leads", ["nowhere", "to a copy"])
def test_a_link_to_the_folder_is_looked_through(tmp_path: Path, leads: str) -> None:
    real, copy, link = tmp_path / "real", tmp_path / "copy", tmp_path / "state"
    real.mkdir()
    link.symlink_to(real)
    database = SqliteDatabase(link / "runs.sqlite", is_guarded=True)
    with database.transaction("begin") as changes:
        changes.execute("CREATE TABLE t (x)")
    shutil.copytree(real, copy)
    link.unlink()
    if leads == "to a copy":
        link.symlink_to(copy)
    with pytest.raises(StateStorageError) as caught, database.transaction("write"):
        pass
    told = "replaced by another file" if leads == "to a copy" else "deleted or moved"
    assert told in caught.value.message
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.message, again.values) == (caught.value.message, caught.value.values)
    link.unlink(missing_ok=True)
    link.symlink_to(real)
    with database.transaction("write") as changes:
        changes.execute("INSERT INTO t VALUES (1)")
    database.close()


def test_a_file_that_was_emptied_of_rows_and_made_small_is_still_the_one_at_its_path(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "runs.sqlite", is_guarded=True)
    with database.transaction("begin") as changes:
        changes.execute("CREATE TABLE t (x)")
        changes.execute_all("INSERT INTO t VALUES (?)", [("x" * 5_000,)] * 100)
    with database.transaction("forget") as changes:
        changes.execute("DELETE FROM t")
    assert database.compact() > 0
    with database.read() as queries:
        assert queries.rows("SELECT count(*) FROM t") == [(0,)]
    database.close()


def test_a_copy_in_memory_goes_on_though_its_file_is_deleted(path: Path) -> None:
    database = SqliteDatabase(path, readonly=True, is_guarded=True)
    database.work_on_copy()
    path.unlink()
    with database.transaction("write") as changes:
        changes.execute("CREATE TABLE t (x)")
    database.close()


def test_a_folder_that_may_no_longer_be_looked_into_is_told_of_as_what_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    database = SqliteDatabase(folder / "runs.sqlite", is_guarded=True)
    with database.transaction("begin") as changes:
        changes.execute("CREATE TABLE t (x)")
    with closed_to_us(folder):
        with pytest.raises(StateStorageError, match=r"cannot be found: .*Permission denied") as read, database.read():
            pass
        with pytest.raises(StateStorageError, match=r"cannot be opened: .*check") as opened:
            SqliteDatabase(folder / "runs.sqlite", is_guarded=True)
    assert (read.value.values["problem"], opened.value.values["problem"]) == ("read_only", "read_only")
    with database.read() as queries:
        assert queries.has_table("t")
    database.close()


def test_a_folder_that_is_deleted_before_its_first_file_is_marked_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    database = SqliteDatabase(folder / "runs.sqlite", is_guarded=True)
    with pytest.raises(StateStorageError, match="cannot be marked"), database.transaction("begin") as changes:
        changes.execute("CREATE TABLE t (x)")
        shutil.rmtree(folder)
    database.close()


@contextmanager
def closed_to_us(folder: Path) -> Iterator[None]:
    """While it lasts, nobody may look into a folder; root becomes another user for that."""
    user, mode = os.geteuid(), folder.stat().st_mode
    folder.chmod(0)
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)
        folder.chmod(mode)
