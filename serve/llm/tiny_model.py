"""Creates the tests' tiny model: two layers of random weights and its own tokenizer, some 1.2 MB.

    python -m serve.llm.tiny_model FOLDER

Its output is meaningless, but serving it works as with any model. Needs transformers and torch.
"""

from __future__ import annotations

import sys
from pathlib import Path

VOCABULARY = 2_048
CONTEXT_TOKENS = 4_096
SPECIAL = ("<|end|>", "<|start|>", "<|pad|>")
TEMPLATE = (
    "{% for m in messages %}<|start|>{{ m['role'] }}\n{{ m['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)


def make_tiny_model(folder: Path, corpus: list[Path] | None = None, seed: int = 0) -> Path:
    """Write the model into `folder` and return it; an existing one is kept."""
    if (folder / "config.json").is_file():
        return folder
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    bytewise = Tokenizer(models.BPE())
    bytewise.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytewise.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = corpus or sorted(Path(__file__).resolve().parents[2].glob("runtime/*.py"))
    bytewise.train([str(path) for path in texts], trainer)
    end, start, pad = SPECIAL
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bytewise, eos_token=end, pad_token=pad, additional_special_tokens=[start]
    )
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=VOCABULARY,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=CONTEXT_TOKENS,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(folder)
    Qwen2ForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
    return folder


if __name__ == "__main__":
    make_tiny_model(Path(sys.argv[1]))
