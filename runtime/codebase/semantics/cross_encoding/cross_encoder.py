"""Reads a question and a piece of code together, and says how well the piece answers the question.

For vectors, question and piece are read apart. Here each layer of the same sentence model sees the words of both (a
cross-encoder, arXiv:1910.14424), with matrices added to its own that were trained on questions about repositories and
the lines that answer them (docs/ranking.md). That is slower, so only the first few pieces are read, and better at
telling which of these comes first.

The weights of the model are those of the package, loaded when something is first read.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runtime.codebase.semantics.embedding import TOKENIZER, onnx_session, valid_text
from runtime.codebase.semantics.sentence_model.low_rank import Matrix, Narrow, add_low_rank

MAX_QUESTION_TOKENS = 56
# Of the question and the piece together, with the three marks around and between them.
MAX_TOKENS = 168
# What training counted on: numbers of about one size.
PRODUCT, DIFFERENCE, SUM = 20.0, 5.0, 2.0
_WEIGHTS = Path(__file__).parents[1] / "minilm" / "cross_encoder.npz"


class CrossWeights(NamedTuple):
    """Holds what training has taught the model: its added matrices, and how its output becomes a number."""

    added: dict[int, Narrow]
    kinds: Matrix
    scale: float
    head: NDArray[np.float32]
    bias: float


@functools.cache
def shared_cross_encoder() -> CrossEncoder:
    """Return the cross-encoder of this process; its model is not loaded yet."""
    return CrossEncoder()


def cross_weights(path: Path = _WEIGHTS) -> CrossWeights:
    """Read the weights that are shipped. ValueError for a file that holds anything but numbers."""
    with np.load(path, allow_pickle=False) as kept:
        numbers = sorted(int(name.partition("_")[2]) for name in kept.files if name.startswith("down_"))
        added = {
            number: Narrow(kept[f"down_{number}"].astype(np.float32), kept[f"up_{number}"].astype(np.float32))
            for number in numbers
        }
        head = kept["head"].astype(np.float32)
        return CrossWeights(added, kept["kinds"].astype(np.float32), float(kept["scale"]), head, float(kept["bias"]))


class CrossEncoder:
    """Scores pieces of code for a question; one object serves several threads."""

    def __init__(self, weights: Path = _WEIGHTS) -> None:
        self._weights = weights
        self._guard = threading.Lock()
        self._loaded: tuple[Any, Any, CrossWeights] | None = None

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers a question; only differences between texts of a question mean anything.

        Of the question the first 56 tokens are read, of a text as many as fit beside them, 168 in all.
        """
        if not texts:
            return []
        with self._guard:
            session, tokenizer, weights = self._load()
            asked = tokenizer.encode(valid_text(question), add_special_tokens=False).ids[:MAX_QUESTION_TOKENS]
            pieces = [valid_text(text) for text in texts]
            read = [found.ids for found in tokenizer.encode_batch(pieces, add_special_tokens=False)]
            first, last = tokenizer.encode("").ids
        return [_score(session, weights, (first, *asked, last), (*piece, last)) for piece in read]

    def _load(self) -> tuple[Any, Any, CrossWeights]:
        if self._loaded is None:
            from tokenizers import Tokenizer

            weights = cross_weights(self._weights)
            session = onnx_session(lambda graph: add_low_rank(graph, weights.added, weights.kinds))
            tokenizer = Tokenizer.from_file(str(TOKENIZER))
            tokenizer.no_truncation()
            tokenizer.no_padding()
            self._loaded = (session, tokenizer, weights)
        return self._loaded


def _score(session: Any, weights: CrossWeights, asked: Sequence[int], piece: Sequence[int]) -> float:
    """Return the score of one piece; a long one ends where there is no more room, behind it the last mark."""
    room = MAX_TOKENS - len(asked)
    if len(piece) > room:
        piece = (*piece[: room - 1], piece[-1])
    ids = np.array([[*asked, *piece]], np.int64)
    kinds = np.zeros_like(ids)
    kinds[0, len(asked) :] = 1
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": kinds}
    (told,) = session.run(None, feed)
    one, other = _unit(told[0, : len(asked)]), _unit(told[0, len(asked) :])
    met = np.concatenate([one * other * PRODUCT, np.abs(one - other) * DIFFERENCE, (one + other) * SUM])
    return float(weights.scale * (one @ other) + weights.head @ met + weights.bias)


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    mean = rows.mean(axis=0)
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-12), np.float32)
