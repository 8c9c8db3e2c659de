"""How the tensors of Gemma's file are named in the folder that vLLM serves."""

from __future__ import annotations

import pytest

from serve.llm.gemma_model import LAYER_TENSORS, folder_name_of


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("token_embd.weight", "model.embed_tokens.weight"),
        ("output_norm.weight", "model.norm.weight"),
        ("blk.0.attn_q.weight", "model.layers.0.self_attn.q_proj.weight"),
        ("blk.17.post_ffw_norm.weight", "model.layers.17.post_feedforward_layernorm.weight"),
    ],
)
def test_every_tensor_has_its_place(given: str, made: str) -> None:
    assert folder_name_of(given) == made


def test_no_two_tensors_share_a_place_and_a_strange_one_is_not_dropped() -> None:
    assert len({folder_name_of(f"blk.3.{part}.weight") for part in LAYER_TENSORS}) == len(LAYER_TENSORS)
    with pytest.raises(KeyError):
        folder_name_of("blk.3.attn_bias.weight")
