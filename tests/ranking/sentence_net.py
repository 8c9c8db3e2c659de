"""Builds the sentence model as a network that learns to read a question and a piece together.

The model's own weights stay as they are. Narrow matrices beside them are learned, the vectors of the two kinds of
texts, and how what is read becomes a number. Needs torch, which is in no environment of the project.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional

from runtime.codebase.semantics.cross_encoding.cross_encoder import (
    DIFFERENCE,
    MAX_QUESTION_TOKENS,
    MAX_TOKENS,
    PRODUCT,
    SUM,
    CrossWeights,
)
from runtime.codebase.semantics.embedding import DIMENSIONS, TOKENIZER, valid_text
from runtime.codebase.semantics.sentence_model.low_rank import Narrow
from runtime.codebase.semantics.sentence_model.model_file import checked_model
from runtime.codebase.semantics.sentence_model.onnx_graph import FLOAT, INT8, parsed, products_of, tensors_of

LAYERS, HEADS, PRODUCTS = 6, 12, ("query", "key", "value", "output", "wide", "narrow")
TINY = 1e-12
HIDDEN = -1e4
# By how much a cosine counts before anything is learned.
FIRST_SCALE = 20.0


class Widened(nn.Module):
    """Multiplies by a matrix of the model and two narrow ones beside it, which change nothing at first."""

    def __init__(self, weights: Any, bias: Any, rank: int) -> None:
        super().__init__()
        self.register_buffer("weights", weights)
        self.register_buffer("bias", bias)
        self.down = nn.Parameter(torch.randn(weights.shape[0], rank) * 0.02)
        self.up = nn.Parameter(torch.zeros(rank, weights.shape[1]))

    def forward(self, numbers: Any) -> Any:
        return functional.linear(numbers, self.weights.T, self.bias) + numbers @ self.down @ self.up

    def start_from(self, narrow: Narrow) -> None:
        """Take what was learned before; columns that it has not yet change nothing at first."""
        known = narrow.down.shape[1]
        self.down = nn.Parameter(torch.cat([_tensor(narrow.down), self.down.detach()[:, known:]], 1))
        self.up = nn.Parameter(torch.cat([_tensor(narrow.up), torch.zeros_like(self.up[known:])]))


class SentenceNet(nn.Module):
    """Scores pairs of a question and a piece; only differences between pieces of a question mean anything."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        graph = parsed(checked_model()).graph
        tensors = {
            name: _numbers(tensor) for name, tensor in tensors_of(graph).items() if tensor.data_type in (FLOAT, INT8)
        }
        products = [tensors[one.weights] * tensors[one.factor] for _, one in products_of(graph) if one is not None]
        for name in ("word", "position"):
            own = f"inner.embeddings.{name}_embeddings.weight"
            self.register_buffer(name, tensors[f"{own}_q"] * tensors[f"{own}_scale"])
        self.kinds = nn.Parameter(tensors["inner.embeddings.token_type_embeddings.weight"])
        self.norm = _norm(tensors, "inner.embeddings.LayerNorm")
        self.layers = nn.ModuleList()
        for number in range(LAYERS):
            layer, own = nn.Module(), f"inner.encoder.layer.{number}."
            biases = [f"attention.self.{name}" for name in ("query", "key", "value")]
            biases += ["attention.output.dense", "intermediate.dense", "output.dense"]
            for at, (name, bias) in enumerate(zip(PRODUCTS, biases, strict=True)):
                weights = products[number * len(PRODUCTS) + at]
                setattr(layer, name, Widened(weights, tensors[f"{own}{bias}.bias"], rank))
            layer.attended = _norm(tensors, f"{own}attention.output.LayerNorm")
            layer.told = _norm(tensors, f"{own}output.LayerNorm")
            self.layers.append(layer)
        self.scale = nn.Parameter(torch.tensor(FIRST_SCALE))
        self.head = nn.Parameter(torch.zeros(3 * DIMENSIONS))
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, ids: Any, kinds: Any, mask: Any) -> Any:
        """Return a score for each row of tokens, of which those of kind 1 are the piece's."""
        pairs, length = ids.shape
        numbers = self.norm(self.word[ids] + self.position[:length] + self.kinds[kinds])
        hidden = (~mask)[:, None, None, :] * HIDDEN

        def split(one: Any) -> Any:
            return one.view(pairs, length, HEADS, DIMENSIONS // HEADS).transpose(1, 2)

        for layer in self.layers:
            query, key, value = (split(part(numbers)) for part in (layer.query, layer.key, layer.value))
            seen = _attended(query, key, value, hidden).transpose(1, 2).reshape(pairs, length, DIMENSIONS)
            numbers = layer.attended(numbers + layer.output(seen))
            numbers = layer.told(numbers + layer.narrow(functional.gelu(layer.wide(numbers))))
        one, other = (_unit(numbers.float(), mask & (kinds == kind)) for kind in (0, 1))
        met = torch.cat([one * other * PRODUCT, (one - other).abs() * DIFFERENCE, (one + other) * SUM], -1)
        return self.scale * (one * other).sum(-1) + met @ self.head + self.bias

    def start_from(self, weights: CrossWeights) -> None:
        """Take what was learned before."""
        for number, narrow in weights.added.items():
            self._products()[number].start_from(narrow)
        for name in ("kinds", "scale", "head", "bias"):
            setattr(self, name, nn.Parameter(_tensor(getattr(weights, name))))

    def weights(self) -> CrossWeights:
        """Return what was learned, the matrices by the number of the product."""
        added = {
            number: Narrow(part.down.detach().numpy(), part.up.detach().numpy())
            for number, part in enumerate(self._products())
        }
        head = self.head.detach().numpy()
        return CrossWeights(added, self.kinds.detach().numpy(), self.scale.item(), head, self.bias.item())

    def _products(self) -> list[Any]:
        return [getattr(layer, name) for layer in self.layers for name in PRODUCTS]


def tokens_of(pairs: Sequence[tuple[str, str]]) -> tuple[Any, Any, Any]:
    """Return the tokens of questions with those of windows, which are of windows, and which count."""
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    first, last = tokenizer.encode("").ids
    rows = []
    for question, text in pairs:
        asked = tokenizer.encode(valid_text(question), add_special_tokens=False).ids[:MAX_QUESTION_TOKENS]
        piece = tokenizer.encode(valid_text(text), add_special_tokens=False).ids
        asked = [first, *asked, last]
        rows.append((asked, [*piece[: MAX_TOKENS - len(asked) - 1], last]))
    length = max(len(asked) + len(piece) for asked, piece in rows)
    ids, kinds = (torch.zeros(len(rows), length, dtype=torch.long) for _ in range(2))
    mask = torch.zeros(len(rows), length, dtype=torch.bool)
    for row, (asked, piece) in enumerate(rows):
        end = len(asked) + len(piece)
        ids[row, :end] = torch.tensor([*asked, *piece])
        kinds[row, len(asked) : end] = 1
        mask[row, :end] = True
    return ids, kinds, mask


def _attended(query: Any, key: Any, value: Any, hidden: Any) -> Any:
    """Return what each token sees; torch's own way takes half of the time of a step on a processor."""
    likeness = query * query.shape[-1] ** -0.5 @ key.transpose(-1, -2) + hidden.to(query.dtype)
    return torch.softmax(likeness, -1, dtype=value.dtype) @ value


def _unit(numbers: Any, mask: Any) -> Any:
    kept = mask[..., None].float()
    return functional.normalize((numbers * kept).sum(1) / kept.sum(1), dim=-1)


def _tensor(numbers: Any) -> Any:
    return torch.tensor(np.asarray(numbers, np.float32))


def _numbers(tensor: Any) -> Any:
    kind = np.int8 if tensor.data_type == INT8 else np.float32
    return torch.from_numpy(np.frombuffer(tensor.raw_data, kind).reshape(tuple(tensor.dims)).astype(np.float32))


def _norm(tensors: dict[str, Any], name: str) -> Any:
    norm = nn.LayerNorm(DIMENSIONS, eps=TINY)
    norm.load_state_dict({"weight": tensors[f"{name}.weight"], "bias": tensors[f"{name}.bias"]})
    return norm.requires_grad_(False)
