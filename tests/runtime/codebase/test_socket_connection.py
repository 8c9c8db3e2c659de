"""Where nobody listens who embeds: a question waits once, and finds who listens meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from runtime.codebase.index.reader import IndexReader
from runtime.codebase.index.writer import refresh
from runtime.codebase.semantics.embedding import DIMENSIONS, Vectors
from runtime.codebase.semantics.embedding_socket import EmbeddingServer, SocketEmbedder
from runtime.codebase.semantics.socket_connection import REMEMBERED_S, Connecting
from runtime.codebase.semantics.vector_cache import VectorCache
from runtime.codebase.semantics.vector_semantics import PATIENCE_S, VectorSemantics
from runtime.errors import MachineError


class Models:
    """Make a vector and a score of any text."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.ones((len(texts), DIMENSIONS), np.float32)

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        return [1.0] * len(texts)


class WaitingClock:
    """Goes on only while somebody waits, or as it is told."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic_s(self) -> float:
        return self.now_s

    def wait(self, delay_s: float) -> None:
        self.now_s += delay_s


@pytest.fixture
def clock() -> WaitingClock:
    return WaitingClock()


@pytest.fixture
def embedder(tmp_path: Path, clock: WaitingClock) -> SocketEmbedder:
    """Asks where nobody listens yet."""
    return SocketEmbedder(tmp_path, Connecting(tmp_path, clock.monotonic_s, clock.wait))


@pytest.fixture
def listen(tmp_path: Path) -> Iterator[Callable[[], EmbeddingServer]]:
    """Begins to listen."""
    begun: list[EmbeddingServer] = []

    def begin() -> EmbeddingServer:
        begun.append(EmbeddingServer(tmp_path, Models(), Models()))
        return begun[-1]

    yield begin
    for server in begun:
        server.close()


def waited_s(clock: WaitingClock, ask: Callable[[], object]) -> float:
    """How long a call waited in vain."""
    before_s = clock.now_s
    with pytest.raises(MachineError, match="no answer from the process that embeds"):
        ask()
    return clock.now_s - before_s


def test_the_calls_of_a_question_wait_once_where_nobody_listens(tmp_path: Path, clock: WaitingClock) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a.py").write_text("def brew(): pass\n")
    refresh(tmp_path / "root", tmp_path / "index.sqlite")
    cache = VectorCache(tmp_path / "vectors.sqlite")
    VectorSemantics(lambda texts, _patience_s: Models().embed(texts), cache).similarities("", ["text"], wait=True)
    models = SocketEmbedder(tmp_path, Connecting(tmp_path, clock.monotonic_s, clock.wait))
    semantics = VectorSemantics(models.embed, cache, None, models.scores)
    with closing(IndexReader(tmp_path / "index.sqlite")) as index, closing(semantics):
        assert semantics.similarities("a question", ["text"], wait=False) is None
        assert semantics.cosines(index, "a question", [1]) is None
        assert semantics.windows(index, "its words", [1]) is None
        assert semantics.scores("a question", ["text"]) is None
        assert semantics.scores("a question", ["another"]) is None
    assert clock.now_s == pytest.approx(PATIENCE_S, abs=0.03)


def test_who_listens_meanwhile_is_found_by_the_next_call_without_a_wait(
    embedder: SocketEmbedder, clock: WaitingClock, listen: Callable[[], EmbeddingServer]
) -> None:
    waited_s(clock, lambda: embedder.embed(["a"], 1.0))
    listen()
    before_s = clock.now_s
    # The time that an answer takes is the machine's.
    assert embedder.embed(["a"], 60.0).shape == (1, DIMENSIONS)
    assert embedder.scores("a", ["b"], 60.0) == [1.0]
    assert clock.now_s == before_s


def test_who_begins_to_listen_during_the_wait_is_found_in_it(
    tmp_path: Path, clock: WaitingClock, listen: Callable[[], EmbeddingServer]
) -> None:
    def wait(delay_s: float) -> None:
        clock.wait(delay_s)
        if clock.now_s >= 1.0 and not begun:
            begun.append(listen())

    begun: list[EmbeddingServer] = []
    embedder = SocketEmbedder(tmp_path, Connecting(tmp_path, clock.monotonic_s, wait))
    assert embedder.embed(["a"], 60.0).shape == (1, DIMENSIONS)
    assert clock.now_s == pytest.approx(1.0, abs=0.03)


def test_a_longer_patience_waits_for_what_it_is_longer(embedder: SocketEmbedder, clock: WaitingClock) -> None:
    waits = [waited_s(clock, partial(embedder.embed, ["a"], patience_s)) for patience_s in (1.0, 5.0, 2.0, 5.0)]
    assert waits == pytest.approx([1.0, 4.0, 0.0, 0.0], abs=0.03)


def test_a_later_question_waits_again(embedder: SocketEmbedder, clock: WaitingClock) -> None:
    waited_s(clock, lambda: embedder.embed(["a"], 1.0))
    clock.wait(REMEMBERED_S - 0.1)
    assert waited_s(clock, lambda: embedder.embed(["a"], 1.0)) == 0
    clock.wait(REMEMBERED_S)
    assert waited_s(clock, lambda: embedder.embed(["a"], 1.0)) == pytest.approx(1.0, abs=0.03)


def test_one_that_answered_and_ended_is_waited_for_again(
    embedder: SocketEmbedder, clock: WaitingClock, listen: Callable[[], EmbeddingServer]
) -> None:
    waited_s(clock, lambda: embedder.embed(["a"], 1.0))
    server = listen()
    embedder.embed(["a"], 60.0)
    server.close()
    assert waited_s(clock, lambda: embedder.embed(["a"], 1.0)) == pytest.approx(1.0, abs=0.03)
