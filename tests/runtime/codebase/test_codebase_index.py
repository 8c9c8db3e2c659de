from __future__ import annotations

import multiprocessing
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.files.walk import WalkOptions
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.tables import SCHEMA_VERSION
from runtime.codebase.index.writer import IndexOptions, refresh
from runtime.errors import JeevesError, RepositoryError, StateStorageError
from tests.runtime.codebase.sample_repository import write_files


def names_of(codebase: Codebase) -> set[str]:
    return {symbol.name for file in codebase.files() for symbol in codebase.symbols_in(file.path)}


def test_a_refresh_tells_what_it_found(shop: Path, index_path: Path) -> None:
    (shop / "logo.png").write_bytes(b"\x89PNG\0\0")
    (shop / ".env").write_text("KEY=1\n")
    stats = refresh(shop, index_path)
    assert (stats.files, stats.parsed_now, stats.unchanged, stats.removed) == (9, 9, 0, 0)
    assert stats.skipped == {"binary": 1, "secret": 1}
    assert stats.skipped_names == {"binary": ("logo.png",), "secret": (".env",)}
    assert stats.by_language["python"] == 5
    assert stats.lines > 60
    assert stats.symbols > 20
    assert stats.chunks > 9


def test_only_changed_files_are_parsed_again(shop: Path, index_path: Path) -> None:
    refresh(shop, index_path)
    again = refresh(shop, index_path)
    assert (again.parsed_now, again.unchanged, again.removed) == (0, 9, 0)
    (shop / "web/format.js").write_text("export function shape() {}\n")
    (shop / "src/shop/cli.py").unlink()
    (shop / "src/shop/new.py").write_text("def fresh(): pass\n")
    third = refresh(shop, index_path)
    assert (third.parsed_now, third.unchanged, third.removed) == (2, 7, 1)
    with closing(Codebase.open(shop, index_path)) as codebase:
        names = names_of(codebase)
        assert {"shape", "fresh"} <= names
        assert not {"format", "main"} & names
        assert codebase.importers("src/shop/payment.py")[0].file == "src/shop/orders.py"


def test_a_file_with_new_time_and_old_content_is_not_parsed_again(shop: Path, index_path: Path) -> None:
    refresh(shop, index_path)
    os.utime(shop / "src/shop/orders.py", (1, 1))
    assert refresh(shop, index_path).parsed_now == 0


def test_a_change_that_keeps_size_and_time_right_after_a_refresh_is_seen(root: Path, index_path: Path) -> None:
    file = root / "a.py"
    file.write_text("def one(): pass\n")
    # However long the refresh takes: the file was changed in the same moment.
    stamp = time.time_ns() + 60_000_000_000
    os.utime(file, ns=(stamp, stamp))
    refresh(root, index_path)
    file.write_text("def two(): pass\n")
    os.utime(file, ns=(stamp, stamp))
    assert refresh(root, index_path).parsed_now == 1


def test_an_import_is_resolved_anew_when_its_target_appears(root: Path, index_path: Path) -> None:
    write_files(root, {"a.py": "import b\n"})
    refresh(root, index_path)
    write_files(root, {"b.py": "x = 1\n"})
    refresh(root, index_path)
    with closing(Codebase.open(root, index_path)) as codebase:
        assert [item.target for item in codebase.imports_of("a.py")] == ["b.py"]


def test_progress_counts_the_files(shop: Path, index_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    refresh(shop, index_path, on_progress=lambda done, total: seen.append((done, total)))
    assert seen == [(number, 9) for number in range(1, 10)]


def test_secrets_come_in_when_allowed_and_go_when_not(root: Path, index_path: Path) -> None:
    write_files(root, {"a.py": "x = 1\n", ".env": "TOKEN=abc\n"})
    allowed = IndexOptions(walk=WalkOptions(allow_secrets=True))
    assert refresh(root, index_path, allowed).files == 2
    assert refresh(root, index_path).skipped == {"secret": 1}
    with closing(Codebase.open(root, index_path)) as codebase:
        assert codebase.search_chunks("token abc") == []


@pytest.mark.parametrize(
    ("files", "message"),
    [({}, "holds no files"), ({"a.bin": b"\0\1", "b.bin": b"\0"}, r"holds no text that may be read \(2 binary\)")],
)
def test_a_folder_without_text_is_an_error_that_leaves_no_index(
    root: Path, index_path: Path, files: dict[str, bytes], message: str
) -> None:
    for name, data in files.items():
        (root / name).write_bytes(data)
    with pytest.raises(RepositoryError, match=message):
        refresh(root, index_path)
    assert not index_path.exists()


def test_a_missing_folder_is_an_error(root: Path, index_path: Path) -> None:
    with pytest.raises(RepositoryError, match="no folder at"):
        refresh(root / "nothing", index_path)


def test_strange_files_do_not_stop_a_refresh(root: Path, index_path: Path) -> None:
    (root / "long.py").write_text("x = '" + "a" * 900_000 + "'\ndef after(): pass\n")
    (root / "long.js").write_text("f(" * 200_000)
    (root / "latin.py").write_bytes(b"# caf\xe9\ndef coffee(): pass\n")
    (root / "marked.py").write_bytes(b"\xef\xbb\xbfdef marked(): pass\r\n")
    (root / "broken.py").write_text("def f(:\n  class\n")
    (root / "empty.py").write_text("")
    (root / "data.json").write_text("[" + "1,\n" * 50_000 + "1]")
    stats = refresh(root, index_path)
    assert stats.files == 7
    with closing(Codebase.open(root, index_path)) as codebase:
        notes = {file.path: file.note for file in codebase.files()}
        assert "not valid utf-8" in notes["latin.py"]
        assert "too long to parse" in notes["long.js"]
        assert "syntax errors" in notes["broken.py"]
        assert {"coffee", "marked"} <= names_of(codebase)
        assert codebase.read_lines("marked.py") == ["def marked(): pass"]
        assert codebase.read_lines("empty.py") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_files_that_may_not_be_read_are_noted(root: Path, tmp_path: Path) -> None:
    write_files(root, {"open.py": "x = 1\n", "shut.py": "y = 1\n", "closed/z.py": "z = 1\n"})
    (root / "shut.py").chmod(0)
    (root / "closed").chmod(0)
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from runtime.codebase.index.writer import refresh\n"
        "from runtime.codebase.parsing.python_symbols import extract_python\n"
        "from runtime.codebase.term_meaning.table_file import term_vectors_mark\n"
        "from runtime.codebase.term_meaning.term_vectors import term_vectors\n"
        "term_vectors(), term_vectors_mark(), extract_python(b'x = 1', 'a.py')\n"
        "# what is imported late cannot be read after the next line\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "s = refresh(Path(sys.argv[1]), Path(sys.argv[2]) / 'i' / 'index.sqlite')\n"
        "assert (s.files, s.skipped) == (1, {'unreadable': 1}), s\n"
        "assert s.notes == ('closed/ cannot be read: Permission denied',), s\n"
    )
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_mode & 0o005 != 0o005:
            folder.chmod(folder.stat().st_mode | 0o005)
    state = tmp_path / "free"
    state.mkdir()
    state.chmod(0o777)
    done = subprocess.run(
        [sys.executable, "-c", code, str(root), str(state)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_pages_that_only_a_reader_finds_damaged_are_made_anew_by_the_next_refresh(shop: Path, index_path: Path) -> None:
    refresh(shop, index_path)
    before = index_path.stat()
    with index_path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (before.st_size - 4096))
    os.utime(index_path, ns=(before.st_atime_ns, before.st_mtime_ns))  # as a failing disk would leave it
    reader = IndexReader(index_path)
    with pytest.raises(StateStorageError, match="cannot be read"):
        reader.rows("SELECT * FROM refs, symbols, chunks, imports")
    refresh(shop, index_path)
    assert not reader.is_current()
    reader.close()
    again = IndexReader(index_path)
    assert again.is_current()
    assert again.files()
    again.close()


def test_a_damaged_index_is_made_anew(shop: Path, index_path: Path) -> None:
    refresh(shop, index_path)
    index_path.write_bytes(b"this is no database" * 1000)
    for suffix in ("-wal", "-shm"):
        index_path.with_name(index_path.name + suffix).unlink(missing_ok=True)
    assert refresh(shop, index_path).parsed_now == 9


def test_an_index_with_torn_pages_is_made_anew(shop: Path, index_path: Path) -> None:
    refresh(shop, index_path)
    data = bytearray(index_path.read_bytes())
    data[8192:] = b"\xa5" * (len(data) - 8192)
    index_path.write_bytes(data)
    assert refresh(shop, index_path).parsed_now == 9


def test_an_index_of_another_version_or_root_is_made_anew(shop: Path, index_path: Path, tmp_path: Path) -> None:
    refresh(shop, index_path)
    with closing(sqlite3.connect(index_path)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    with pytest.raises(StateStorageError, match="refresh it"):
        Codebase.open(shop, index_path)
    assert refresh(shop, index_path).parsed_now == 9
    other = tmp_path / "other"
    shutil.copytree(shop, other)
    assert refresh(other, index_path).parsed_now == 9


def test_an_index_that_was_made_with_other_languages_is_made_anew(shop: Path, index_path: Path) -> None:
    refresh(shop, index_path)
    assert refresh(shop, index_path).parsed_now == 0
    with closing(sqlite3.connect(index_path)) as connection, connection:
        connection.execute("UPDATE meta SET value = 'others' WHERE key = 'languages'")
    assert refresh(shop, index_path).parsed_now == 9


def test_a_missing_index_cannot_be_opened(shop: Path, index_path: Path) -> None:
    with pytest.raises(StateStorageError, match="cannot be opened"):
        Codebase.open(shop, index_path)


def test_a_full_disk_is_one_plain_error_and_leaves_nothing_behind(shop: Path, index_path: Path) -> None:
    with pytest.raises(StateStorageError, match="full") as caught:
        refresh(shop, index_path, IndexOptions(max_index_pages=10))
    assert "\n" not in caught.value.message
    assert not index_path.exists()


def test_a_disk_that_fills_up_leaves_the_old_index_as_it_was(shop: Path, index_path: Path) -> None:
    refresh(shop, index_path)
    pages = index_path.stat().st_size // 4096
    write_files(shop, {f"more/m{n}.py": f"def added_{n}(): return {n}\n" * 200 for n in range(40)})
    with pytest.raises(StateStorageError, match="full"):
        refresh(shop, index_path, IndexOptions(max_index_pages=pages + 2))
    with closing(Codebase.open(shop, index_path)) as codebase:
        assert len(codebase.files()) == 9
        assert "main" in names_of(codebase)
    assert refresh(shop, index_path).parsed_now == 40


def test_a_refresh_that_is_broken_off_leaves_the_old_index_as_it_was(shop: Path, index_path: Path) -> None:
    refresh(shop, index_path)
    (shop / "src/shop/orders.py").write_text("def replaced(): pass\n")

    def break_off(done: int, total: int) -> None:
        if done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        refresh(shop, index_path, on_progress=break_off)
    with closing(Codebase.open(shop, index_path)) as codebase:
        assert "pay_order" in names_of(codebase)


def test_readers_see_the_old_index_until_the_refresh_is_done(
    shop: Path, index_path: Path, opened: Callable[[Path], Codebase]
) -> None:
    codebase = opened(shop)
    (shop / "src/shop/orders.py").write_text("def replaced(): pass\n")
    during: list[bool] = []
    refresh(shop, index_path, on_progress=lambda done, total: during.append(bool(codebase.symbols_named("pay_order"))))
    assert all(during)
    assert codebase.symbols_named("pay_order") == []
    assert codebase.symbols_named("replaced")


def _refresh_in_process(root: str, index_path: str, results: multiprocessing.Queue[str]) -> None:
    try:
        stats = refresh(Path(root), Path(index_path))
        results.put(f"{stats.files} {stats.parsed_now}")
    except JeevesError as error:
        results.put(error.message)


@pytest.mark.long
def test_two_processes_may_refresh_at_the_same_time(root: Path, index_path: Path) -> None:
    write_files(root, {f"m{n}.py": f"def f{n}(): return {n}\n" * 20 for n in range(60)})
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[str] = context.Queue()
    processes = [
        context.Process(target=_refresh_in_process, args=(str(root), str(index_path), results)) for _ in range(2)
    ]
    for process in processes:
        process.start()
    told = sorted(results.get(timeout=60) for _ in processes)
    for process in processes:
        process.join(timeout=60)
    assert told == ["60 0", "60 60"]


def test_several_threads_may_read_at_once(codebase: Codebase) -> None:
    found: list[int] = []
    failures: list[Exception] = []

    def ask() -> None:
        try:
            for _ in range(20):
                found.append(len(codebase.search_chunks("refund payment")) + len(codebase.symbols_named("Order")))
        except Exception as error:  # noqa: BLE001 - handed to the test
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(set(found)) == 1


def test_nothing_is_written_below_the_root(shop: Path, index_path: Path) -> None:
    before = sorted(str(path) for path in shop.rglob("*"))
    refresh(shop, index_path)
    with closing(Codebase.open(shop, index_path)) as codebase:
        codebase.search_chunks("order")
    assert sorted(str(path) for path in shop.rglob("*")) == before


def test_an_index_inside_the_root_does_not_index_itself(shop: Path) -> None:
    inside = shop / "state" / "index.sqlite"
    refresh(shop, inside)
    assert refresh(shop, inside).files == 9
