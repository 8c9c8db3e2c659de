"""The network that is trained makes the vectors that the table which it writes makes."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from runtime.codebase.term_meaning.term_vectors import KEPT_LENGTH, read_from, write_to  # noqa: E402
from tests.ranking.cases import Case, Place  # noqa: E402
from tests.ranking.term_vectors_training import TermNet, by_questions, in_numbers, learn  # noqa: E402

TERMS = ("job", "task", "paint", "colour")
TEXTS = [
    ("a.py", 1, 9, ("task task run", "task", "a", "")),
    ("b.py", 1, 9, ("colour paint", "", "b", "task")),
    ("c.py", 1, 9, ("other", "", "", "")),
]
CASE = Case(id="one", repo="some/repo", kind="where", question="Which job?", lead=(Place("a.py", 2, 3),), nuggets=())


def test_the_network_makes_the_vectors_that_the_table_makes(tmp_path: Path) -> None:
    torch.manual_seed(1)
    net = TermNet(torch.randn(len(TERMS), 8)).eval()
    pieces = in_numbers(TEXTS, [CASE], {term: at for at, term in enumerate(TERMS)})
    with torch.inference_mode():
        made = net.of_pieces(pieces, np.arange(3)).numpy()
        asked = net.of_questions([Counter({0: 2, 1: 1})]).numpy()[0]
    path = tmp_path / "vectors.npz"
    gains = torch.exp(net.gains).tolist()
    write_to(path, TERMS, net.rows.detach().numpy(), gains, torch.sigmoid(net.exponent).item())
    table = read_from(path)
    assert table.of_pieces([parts for *_, parts in TEXTS]) / KEPT_LENGTH == pytest.approx(made, abs=0.02)
    assert table.of_question({"job": 2, "task": 1}) == pytest.approx(asked, abs=0.02)


def test_a_question_is_drawn_to_the_piece_that_answers_it() -> None:
    torch.manual_seed(1)
    net = TermNet(torch.randn(len(TERMS), 8))
    pieces = in_numbers(TEXTS, [CASE], {term: at for at, term in enumerate(TERMS)})

    def likeness() -> float:
        net.eval()
        with torch.inference_mode():
            return float((net.of_questions([Counter({0: 1})]) @ net.of_pieces(pieces, np.array([0])).T)[0, 0])

    before = likeness()
    learn(net, by_questions(net, [pieces] * 40, random.Random(1)), 120, "questions")
    assert likeness() > before
