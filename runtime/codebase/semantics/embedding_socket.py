"""Lets other processes have texts embedded and scored over a socket, by the one that has the models.

A request is JSON behind its length: a list of texts for their vectors, or an object with a question and texts for their
scores. The reply is float32 behind its length, empty if nothing could be made. The socket lies in a private folder, and
a caller waits at most as long as it says.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import socketserver
import struct
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from runtime.codebase.semantics.cross_encoding.scoring import KeptScores, Scorer
from runtime.codebase.semantics.embedding import DIMENSIONS, Embedder, Vectors
from runtime.codebase.semantics.socket_connection import Connecting, shared_connecting, socket_address
from runtime.errors import MachineError

MAX_TEXTS = 64
MAX_REQUEST_BYTES = 2_000_000
REQUEST_TIMEOUT_S = 5.0
# Each thread that embeds takes some ten megabytes.
MAX_THREADS = 4
LEAST_IN_THREADS = 4
_LENGTH = struct.Struct("!I")

log = logging.getLogger(__name__)


class SocketEmbedder:
    """Asks the process that listens in a folder for vectors; one object serves several threads."""

    def __init__(self, folder: Path, connecting: Connecting | None = None) -> None:
        """Connect to nothing yet. `connecting`: what connects and waits; None: the one of this process."""
        self._folder = folder
        self._connecting = connecting or shared_connecting(folder)

    def embed(self, texts: Sequence[str], patience_s: float) -> Vectors:
        """Return one row for each text. MachineError if nobody has answered within `patience_s`.

        Where nobody listens, what was waited in vain a moment ago is not waited again.
        """
        deadline_s = self._connecting.deadline_s(patience_s)
        rows = [self._some(texts[at : at + MAX_TEXTS], deadline_s) for at in range(0, len(texts), MAX_TEXTS)]
        return np.concatenate(rows) if rows else np.zeros((0, DIMENSIONS), np.float32)

    def scores(self, question: str, texts: Sequence[str], patience_s: float) -> list[float]:
        """Return how well each of at most 64 texts answers a question. MachineError if nobody has within `patience_s`.

        ValueError for more texts.
        """
        if len(texts) > MAX_TEXTS:
            raise ValueError(f"{len(texts)} texts are too many to be scored at once; {MAX_TEXTS} are allowed")
        asked = {"question": _valid(question), "texts": [_valid(text) for text in texts]}
        return [float(one) for one in self._reply(asked, len(texts), self._connecting.deadline_s(patience_s))]

    def _some(self, texts: Sequence[str], deadline_s: float) -> Vectors:
        reply = self._reply([_valid(text) for text in texts], len(texts) * DIMENSIONS, deadline_s)
        return reply.reshape(len(texts), DIMENSIONS)

    def _reply(self, request: object, numbers: int, deadline_s: float) -> Vectors:
        content = json.dumps(request).encode()
        try:
            with self._connecting.connected(deadline_s) as connection:
                connection.sendall(_LENGTH.pack(len(content)) + content)
                data = _read_message(connection, numbers * 4)
        except (OSError, ValueError) as error:
            raise MachineError(f"no answer from the process that embeds in {self._folder}: {error}") from error
        if len(data) != numbers * 4:
            raise MachineError(f"the process that embeds in {self._folder} made nothing; its log says why")
        return np.frombuffer(data, np.float32)


def _valid(text: str) -> str:
    """Return a text with lone surrogates replaced, which are not sent."""
    return text.encode("utf-8", "replace").decode()


class EmbeddingServer:
    """Answers requests by an embedder, each in a thread of its own, until it is closed."""

    def __init__(self, folder: Path, embedder: Embedder, scorer: Scorer) -> None:
        """Listen in `folder`; whoever listened there before must have ended."""
        with socket_address(folder) as address:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(address)  # noqa: PTH108 - through the descriptor of its folder
            self._server = _Server(address, _Request)
            os.chmod(address, 0o600)  # noqa: PTH101
        self._server.models = _InThreads(embedder, scorer)
        threading.Thread(target=self._server.serve_forever, name="embedding-socket", daemon=True).start()

    def wait_until_idle(self) -> None:
        """Return as soon as no request is being answered."""
        self._server.idle.wait()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


class _InThreads:
    """Embeds or scores the texts of a request on all cores, since somebody waits for them."""

    def __init__(self, embedder: Embedder, scorer: Scorer) -> None:
        self._embedder = embedder
        self._scorer = scorer
        # For all processes that ask: a question is often asked of several.
        self._kept = KeptScores(self._scored)
        self._threads = min(MAX_THREADS, os.cpu_count() or 1)
        self._pool = ThreadPoolExecutor(self._threads, "embedding-request")

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text, in order."""
        if len(texts) < LEAST_IN_THREADS:
            return self._embedder.embed(texts)
        vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
        for at, rows in enumerate(self._pool.map(self._embedder.embed, self._parts(texts))):
            vectors[at :: self._threads] = rows
        return vectors

    def scores(self, question: str, texts: Sequence[str]) -> Vectors:
        """Return one number for each text, in order. MachineError if that fails."""
        found = self._kept.of(question, texts, 0)
        if found is None:
            raise MachineError(f"{len(texts)} texts could not be read together with a question; the log says why")
        return np.array(found, np.float32)

    def _scored(self, question: str, texts: Sequence[str], _patience_s: float) -> list[float]:
        numbers = [0.0] * len(texts)
        read = self._pool.map(lambda part: self._scorer.scores(question, part), self._parts(texts))
        for at, found in enumerate(read):
            numbers[at :: self._threads] = found
        return numbers

    def _parts(self, texts: Sequence[str]) -> list[Sequence[str]]:
        return [texts[at :: self._threads] for at in range(self._threads)]


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    models: _InThreads

    def __init__(self, address: str, handler: type[socketserver.BaseRequestHandler]) -> None:
        self._guard = threading.Lock()
        self._answered = 0
        self.idle = threading.Event()
        self.idle.set()
        super().__init__(address, handler)

    @contextmanager
    def answering(self) -> Iterator[None]:
        with self._guard:
            self._answered += 1
            self.idle.clear()
        try:
            yield
        finally:
            with self._guard:
                self._answered -= 1
                if not self._answered:
                    self.idle.set()


class _Request(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        self.request.settimeout(REQUEST_TIMEOUT_S)
        try:
            question, texts = _asked(json.loads(_read_message(self.request, MAX_REQUEST_BYTES)))
            with self.server.answering():
                models = self.server.models
                made = models.embed(texts) if question is None else models.scores(question, texts)
            data = made.tobytes()
        except (OSError, ValueError, RecursionError) as error:
            log.warning("embedding.request_refused", extra={"error": str(error)})
            data = b""
        except Exception:
            log.exception("embeddings.failed")
            data = b""
        with contextlib.suppress(OSError):  # the caller has lost patience
            self.request.sendall(_LENGTH.pack(len(data)) + data)


def _asked(request: object) -> tuple[str | None, list[str]]:
    """Return the question of a request, None if vectors are asked for, and its texts. ValueError for anything else."""
    question, texts = (request.get("question"), request.get("texts")) if isinstance(request, dict) else (None, request)
    is_question = isinstance(question, str) if isinstance(request, dict) else question is None
    if not is_question or not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError("neither a list of texts nor a question with such a list")
    if len(texts) > MAX_TEXTS:
        raise ValueError(f"{len(texts)} texts, at most {MAX_TEXTS} are taken at once")
    return question, texts


def _read_message(connection: socket.socket, max_bytes: int) -> bytes:
    (length,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
    if length > max_bytes:
        raise ValueError(f"a message of {length} bytes, at most {max_bytes} are read")
    return _exactly(connection, length)


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        piece = connection.recv(min(count - len(data), 1 << 20))
        if not piece:
            raise ValueError("the connection ended early")
        data += piece
    return bytes(data)
