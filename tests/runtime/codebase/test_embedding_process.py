"""The one process that embeds: its socket, its priority, its end, and who takes over."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from runtime.codebase.index.writer import refresh
from runtime.codebase.semantics.embedding import DIMENSIONS, Vectors, Window
from runtime.codebase.semantics.embedding_process import (
    LOCK_NAME,
    VECTORS_NAME,
    BehindRequests,
    EmbeddingProcess,
    embedding_process,
)
from runtime.codebase.semantics.embedding_socket import MAX_TEXTS, EmbeddingServer, SocketEmbedder
from runtime.codebase.semantics.similarity import open_semantics, vector_state
from runtime.codebase.semantics.socket_connection import SOCKET_NAME
from runtime.errors import MachineError

PATIENT_S = 60.0


class Lengths:
    """The length of a text as its vector; fails on an empty one."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        if "" in texts:
            raise RuntimeError("no text")
        return np.array([[len(text)] * DIMENSIONS for text in texts], np.float32)

    def further_windows(self, text: str) -> list[Window]:
        return [(len(text),)]

    def embed_windows(self, windows: Sequence[Window]) -> Vectors:
        return np.array([[sum(window)] * DIMENSIONS for window in windows], np.float32)


class Shared:
    """How many letters of a question a text has; fails on an empty question."""

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        if not question:
            raise RuntimeError("no question")
        return [float(sum(letter in text for letter in question)) for text in texts]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddingServer]:
    served = EmbeddingServer(tmp_path, Lengths(), Shared())
    yield served
    served.close()


def first_numbers(rows: Vectors) -> list[float]:
    return [float(row[0]) for row in rows]


@pytest.mark.parametrize("count", [0, 1, MAX_TEXTS, MAX_TEXTS + 1])
def test_texts_are_embedded_by_another_process_in_their_order(
    server: EmbeddingServer, tmp_path: Path, count: int
) -> None:
    texts = ["x" * (number + 1) for number in range(count)]
    rows = SocketEmbedder(tmp_path).embed(texts, PATIENT_S)
    assert rows.shape == (count, DIMENSIONS)
    assert first_numbers(rows) == [float(len(text)) for text in texts]


@pytest.mark.parametrize("count", [0, 1, MAX_TEXTS])
def test_texts_are_scored_for_a_question_by_another_process_in_their_order(
    server: EmbeddingServer, tmp_path: Path, count: int
) -> None:
    texts = ["abc"[: number % 4] for number in range(count)]
    assert SocketEmbedder(tmp_path).scores("abc", texts, PATIENT_S) == [float(len(text)) for text in texts]


def test_a_text_is_read_once_for_a_question_whoever_asks_and_again_for_another(tmp_path: Path) -> None:
    read: list[tuple[str, str]] = []

    class Noting(Shared):
        def scores(self, question: str, texts: Sequence[str]) -> list[float]:
            read.extend((question, text) for text in texts)
            return super().scores(question, texts)

    served = EmbeddingServer(tmp_path, Lengths(), Noting())
    for _ in range(2):
        assert SocketEmbedder(tmp_path).scores("ab", ["a", "ab", "a"], PATIENT_S) == [1.0, 2.0, 1.0]
    assert SocketEmbedder(tmp_path).scores("ab", ["b", "ab"], PATIENT_S) == [1.0, 2.0]
    assert SocketEmbedder(tmp_path).scores("b", ["ab"], PATIENT_S) == [1.0]
    assert sorted(read) == [("ab", "a"), ("ab", "ab"), ("ab", "b"), ("b", "ab")]
    served.close()


def test_more_texts_than_one_request_takes_are_not_scored(server: EmbeddingServer, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{MAX_TEXTS + 1} texts are too many to be scored at once; {MAX_TEXTS} are"):
        SocketEmbedder(tmp_path).scores("a", ["a"] * (MAX_TEXTS + 1), PATIENT_S)


def test_a_failing_scorer_is_told_and_later_requests_are_answered(server: EmbeddingServer, tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="made nothing"):
        SocketEmbedder(tmp_path).scores("", ["a"], PATIENT_S)
    assert SocketEmbedder(tmp_path).scores("a\ud800", ["a", "b"], PATIENT_S) == [1.0, 0.0]


def test_a_caller_waits_no_longer_than_it_says_where_nobody_listens(tmp_path: Path) -> None:
    started_s = time.monotonic()
    with pytest.raises(MachineError, match="no answer"):
        SocketEmbedder(tmp_path).embed(["a"], 0.05)
    assert time.monotonic() - started_s < 5


def test_a_failing_model_is_told_and_later_requests_are_answered(server: EmbeddingServer, tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="made nothing"):
        SocketEmbedder(tmp_path).embed([""], PATIENT_S)
    assert first_numbers(SocketEmbedder(tmp_path).embed(["ab"], PATIENT_S)) == [2.0]


class Held(Lengths):
    """Embeds when a test lets it."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.may_end = threading.Event()

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.begun.set()
        assert self.may_end.wait(PATIENT_S)
        return super().embed(texts)


def test_what_is_embedded_behind_requests_waits_until_they_are_answered(tmp_path: Path) -> None:
    held = Held()
    served = EmbeddingServer(tmp_path, held, Shared())
    order: list[str] = []

    def ask() -> None:
        SocketEmbedder(tmp_path).embed(["ab"], PATIENT_S)

    def go_on() -> None:
        rows = BehindRequests(Lengths(), served.wait_until_idle).embed(["a", "abc"])
        order.append(f"embedded {first_numbers(rows)}")

    asking = threading.Thread(target=ask)
    asking.start()
    assert held.begun.wait(PATIENT_S)
    behind = threading.Thread(target=go_on)
    behind.start()
    order.append("asked")
    held.may_end.set()
    asking.join(PATIENT_S)
    behind.join(PATIENT_S)
    assert order == ["asked", "embedded [1.0, 3.0]"]
    served.close()


GARBAGE = [
    b"",
    b"\x00",
    struct.pack("!I", 4_000_000_000),
    struct.pack("!I", 3) + b"{}\n",
    struct.pack("!I", 4) + b"\xff\xff\xff\xff",
    struct.pack("!I", 100_000) + b"[" * 100_000,
    struct.pack("!I", 5) + b"[1,2]",
    *(struct.pack("!I", len(sent)) + sent for sent in (b'{"texts": ["a"]}', b'{"question": "a", "texts": "a"}')),
    *(struct.pack("!I", len(sent)) + sent for sent in (b'{"question": 1, "texts": []}', b'"a"', b"null")),
    struct.pack("!I", 11 * 65 + 27) + b'{"question":"a","texts":["' + b'aaaaaaaa","' * 65 + b'"]}',
]


@pytest.mark.parametrize("sent", GARBAGE)
def test_garbage_is_refused_and_harms_nobody(server: EmbeddingServer, tmp_path: Path, sent: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(tmp_path / SOCKET_NAME))
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100) == struct.pack("!I", 0)
    assert first_numbers(SocketEmbedder(tmp_path).embed(["abc"], PATIENT_S)) == [3.0]


def test_the_socket_is_private(server: EmbeddingServer, tmp_path: Path) -> None:
    assert (tmp_path / SOCKET_NAME).stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_folder_with_a_path_too_long_for_a_socket_works(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 120)
    folder.mkdir()
    server = EmbeddingServer(folder, Lengths(), Shared())
    assert first_numbers(SocketEmbedder(folder).embed(["ab"], PATIENT_S)) == [2.0]
    server.close()


def until(is_so: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENT_S
    while not is_so():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def niceness_of_threads(process: EmbeddingProcess) -> set[int]:
    """Return the niceness of each thread of the process; empty before it is there."""
    if process._worker is None:
        return set()
    found: set[int] = set()
    for worker in Path(f"/proc/{process._worker.pid}/task/{process._worker.pid}/children").read_text().split():
        for stat in Path(f"/proc/{worker}/task").glob("*/stat"):
            with contextlib.suppress(OSError):  # the thread has ended
                found.add(int(stat.read_text().rpartition(")")[2].split()[16]))
    return found


def is_locked(folder: Path) -> bool:
    """Whether a process has the lock of a folder."""
    if not (folder / LOCK_NAME).exists():
        return False
    with (folder / LOCK_NAME).open("rb") as file:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


@pytest.mark.long
def test_one_process_embeds_all_pieces_behind_questions_and_another_takes_over(
    root: Path, index_path: Path, tmp_path: Path
) -> None:
    for number in range(400):
        (root / f"f{number}.py").write_text(f"def refund_{number}():\n    return {number}\n")
    pieces = refresh(root, index_path).chunks
    folder = tmp_path / "index"
    path = folder / VECTORS_NAME
    first, second = EmbeddingProcess(folder), EmbeddingProcess(folder)
    semantics = open_semantics(path)
    assert semantics is not None

    try:
        first.take(str(root), index_path)
        # Two processes started at once race for the lock: the second is started once the first has it.
        until(lambda: is_locked(folder))
        second.start()
        until(lambda: vector_state(path).kept == pieces)
        until(lambda: semantics.similarities("how is money paid back", ["def refund(): pass"], wait=True) is not None)
        if sys.platform == "linux":
            ours = os.getpriority(os.PRIO_PROCESS, 0)
            assert (niceness_of_threads(first), niceness_of_threads(second)) == ({ours, 19}, {ours})
        first.close()
        assert not first.is_running
        (root / "later.py").write_text("def later(): pass\n")
        pieces += refresh(root, index_path).chunks - pieces
        second.take(str(root), index_path)
        until(lambda: semantics.similarities("who takes over", ["the second"], wait=True) is not None)
        until(lambda: vector_state(path).kept >= pieces)
    finally:
        first.close()
        second.close()
        semantics.close()


def test_a_closed_process_is_not_started_again(tmp_path: Path) -> None:
    process = EmbeddingProcess(tmp_path)
    process.close()
    process.start()
    assert not process.is_running


def test_without_the_wish_for_vectors_there_is_no_process(tmp_path: Path) -> None:
    assert embedding_process(tmp_path, embeds=False) is None
    assert embedding_process(tmp_path, embeds=True) is not None
