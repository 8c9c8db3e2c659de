"""Every file of a repository is opened by one module: regular, bounded, and never waited for."""

from __future__ import annotations

import ast
import gc
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.codebase.files.regular_file import (
    NotRegularError,
    TooLargeError,
    copy_resolved,
    read_below,
    read_resolved,
    read_start,
)

ROOT = Path(__file__).resolve().parents[2]
LOOKING_AT_REPOSITORIES = (
    *("runtime/codebase", "actors/capabilities/code_analysis", "serve/batch/locating.py"),
    *("actors/capabilities/violation_fix/checks", "actors/capabilities/violation_fix/verification"),
)
OPENERS = frozenset(
    {"open", "fdopen", "read_text", "read_bytes", "mmap", "copyfile", "copy", "copy2", "copytree", "FileIO", "openat"}
)
MAY_OPEN = {
    "runtime/codebase/files/regular_file.py": "the one that opens files of repositories",
    "runtime/codebase/files/compiled_modules.py": "a folder, through no link, to remove files in it",
    "runtime/codebase/index/lock.py": "a lock in the state folder",
    "runtime/codebase/semantics/chroma_database.py": "a lock in the state folder",
    "runtime/codebase/semantics/chroma_seal.py": "files of the state folder",
    "runtime/codebase/semantics/embedding_process.py": "a lock in the state folder",
    "runtime/codebase/semantics/socket_connection.py": "the state folder, in which the socket lies",
    "runtime/codebase/semantics/sentence_model/model_file.py": "the sentence model of an installed package",
    "runtime/codebase/semantics/sentence_model/integer_products.py": "what the system says of its processor",
    "runtime/codebase/search/ranker.py": "the weights of our own package",
    "runtime/codebase/search/piece_shape.py": "the weights of our own package",
    "runtime/codebase/search/prose/document_quotes.py": "the weights of our own package",
    "runtime/codebase/search/presence/lexicon.py": "the words of our own package",
    "runtime/codebase/search/presence/familiarity.py": "the usual words, a file of the package",
    "actors/capabilities/code_analysis/answers/confidence.py": "the weights of our own package",
    "actors/capabilities/code_analysis/question/kind_likeness.py": "the weights of our own package",
    "actors/capabilities/code_analysis/ranking/leading_place.py": "the weights of our own package",
    "actors/capabilities/code_analysis/ranking/worth_telling.py": "the weights of our own package",
    "actors/capabilities/violation_fix/verification/in_project/jeeves_test_report.py": "reports, in a folder of ours",
    "actors/capabilities/violation_fix/verification/test_runs.py": "reports, and the programs that write them",
    "actors/capabilities/violation_fix/verification/verdicts.py": "baselines, in the state folder",
    "runtime/codebase/files/consent.py": "what the operator allowed, in the state folder",
    "runtime/codebase/git/commits.py": "the copies of HEAD and the index, and messages, in a folder of ours",
    "runtime/codebase/git/linked_trees.py": "the copy of the index in a folder of ours",
    "runtime/codebase/git/side_branches.py": "the copy of the index, and messages, in a folder of ours",
    "runtime/codebase/git/git_locks.py": "locks of git, which it makes",
    "runtime/codebase/git/lock_marks.py": "locks of git, which it makes, and what the system says of processes",
}


def test_nothing_else_opens_files_of_a_repository() -> None:
    found: set[str] = set()
    for place in LOOKING_AT_REPOSITORIES:
        start = ROOT / place
        for path in [start] if start.is_file() else sorted(start.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and _opens(node.func):
                    found.add(path.relative_to(ROOT).as_posix())
    assert found == set(MAY_OPEN)


def _opens(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in OPENERS
    if not isinstance(function, ast.Attribute) or function.attr not in OPENERS:
        return False
    # Classes of ours that are opened, and a copy of an object in memory.
    return ast.unparse(function.value) not in ("Codebase", "copy", "msgspec.structs")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    (made / "sub").mkdir(parents=True)
    (made / "sub" / "file").write_bytes(b"12345")
    return made


@pytest.mark.parametrize(("limit", "fits"), [(4, False), (5, True), (6, True)])
def test_a_file_is_read_up_to_its_bound_and_no_further(root: Path, limit: int, fits: bool) -> None:
    readers: list[Callable[[], bytes]] = [
        lambda: read_below(root, "sub/file", limit),
        lambda: read_resolved(root / "sub/file", limit),
    ]
    for read in readers:
        if fits:
            assert read() == b"12345"
        else:
            with pytest.raises(TooLargeError, match="it has 5 bytes, at most 4 are read"):
                read()
    assert read_start(root / "sub/file", limit) == b"12345"[:limit]


def test_an_empty_file_is_empty(root: Path) -> None:
    (root / "empty").touch()
    assert read_below(root, "empty", 0) == b""


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(path))


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("make", [_pipe, _socket, _device, _folder])
def test_what_is_no_regular_file_is_refused_at_once(
    root: Path, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    make(root / "odd")
    for read in (read_resolved, read_start):
        with pytest.raises(NotRegularError):
            read(root / "odd", 100)
    with pytest.raises(NotRegularError):
        read_below(root, "odd", 100)
    with pytest.raises(NotRegularError):
        copy_resolved(root / "odd", root / "copy", 100)
    assert not (root / "copy").exists()


@pytest.mark.parametrize("path", ["link", "sub/link", "linked/file", "out/secret"])
def test_no_link_is_followed_below_the_root(root: Path, path: str) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (root / "link").symlink_to("sub/file")
    (root / "sub" / "link").symlink_to(outside / "secret")
    (root / "linked").symlink_to("sub")
    (root / "out").symlink_to(outside)
    with pytest.raises(OSError):
        read_below(root, path, 100)


def test_a_path_longer_than_the_system_takes_at_once_is_read(root: Path) -> None:
    held = os.open(root, os.O_RDONLY)
    for _ in range(30):
        os.mkdir("d" * 200, dir_fd=held)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=held)
        os.close(held)
        held = inner
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=held))
    os.close(held)
    assert read_below(root, "/".join(["d" * 200] * 30 + ["file"]), 100) == b""


def test_files_that_others_swap_all_the_time_are_read_or_refused_and_never_waited_for(root: Path) -> None:
    stop = threading.Event()
    swapped = root / "swapped"
    (root.parent / "secret").write_text("secret")

    def swap() -> None:
        while not stop.is_set():
            for make in (
                _pipe,
                lambda path: path.symlink_to(root.parent / "secret"),
                lambda path: path.write_text("mine"),
            ):
                make(swapped)
                swapped.unlink()

    thread = threading.Thread(target=swap)
    thread.start()
    seen = set()
    try:
        for _ in range(3000):
            try:
                seen.add(read_below(root, "swapped", 100))
            except OSError:
                continue  # refused, or gone in this instant; what is read is checked below
    finally:
        stop.set()
        thread.join()
    assert seen <= {b"mine", b""}


def test_a_file_that_grows_while_it_is_read_is_cut_off(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status = (root / "sub" / "file").stat()
    with (root / "sub" / "file").open("ab") as file:
        file.write(b"x" * 1000)
    monkeypatch.setattr(os, "fstat", lambda _descriptor: status)
    with pytest.raises(TooLargeError, match="it grew beyond the 100 bytes"):
        read_below(root, "sub/file", 100)
    assert len(read_start(root / "sub" / "file", 100)) == 100


def test_copies_are_bounded_and_keep_the_time(root: Path) -> None:
    os.utime(root / "sub" / "file", ns=(5, 7))
    copy_resolved(root / "sub" / "file", root / "copy", 5)
    assert (root / "copy").read_bytes() == b"12345"
    assert (root / "copy").stat().st_mtime_ns == 7
    with pytest.raises(TooLargeError):
        copy_resolved(root / "sub" / "file", root / "other", 4)


def test_no_descriptor_is_left_open(root: Path) -> None:
    held = Path("/proc/self/fd")
    if not held.is_dir():
        pytest.skip("open descriptors are listed in /proc")
    gc.collect()  # closes what earlier tests have left, which might happen within this one
    before = len(list(held.iterdir()))
    os.mkfifo(root / "pipe")
    for path in ("sub/file", "sub/none", "none/file", "pipe", "sub"):
        for limit in (0, 100):
            try:
                read_below(root, path, limit)
            except OSError:
                continue  # most of them are refused, and whether they are is tested above
    assert len(list(held.iterdir())) == before
