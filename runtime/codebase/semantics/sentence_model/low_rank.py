"""Adds to the sentence model what training for another task has taught it.

The matrix of each product gets the product of two narrow ones added (LoRA, arXiv:2106.09685). Sums are rounded to 8
bits again when the model is loaded, so that the changed model is as large and as fast as the one in the package.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runtime.codebase.semantics.sentence_model.onnx_graph import products_of, tensors_of

_KINDS = "inner.embeddings.token_type_embeddings.weight"
_LARGEST = 127

Matrix = NDArray[np.float32]


class Narrow(NamedTuple):
    """Holds two matrices whose product is added to one of the model: inputs → rank, and rank → outputs."""

    down: Matrix
    up: Matrix


def add_low_rank(graph: Any, added: Mapping[int, Narrow], kinds: Matrix | None = None) -> None:
    """Add matrices to those of a model's products, by the number of the product from 0 on.

    Each column is scaled to use all of its 8 bits. `kinds`: what is put in place of the vectors of the first and the
    second text, 2 → 384. ValueError where a shape is not the model's.
    """
    tensors = tensors_of(graph)
    products = [found for _, found in products_of(graph) if found is not None]
    for number, narrow in added.items():
        weights, factor = tensors[products[number].weights], tensors[products[number].factor]
        shape = tuple(weights.dims)
        own = np.frombuffer(weights.raw_data, np.int8).reshape(shape).astype(np.float32)
        own = own * np.frombuffer(factor.raw_data, np.float32) + narrow.down @ narrow.up
        steps = np.maximum(np.abs(own).max(axis=0), np.finfo(np.float32).tiny) / _LARGEST
        weights.raw_data = np.rint(own / steps).astype(np.int8).tobytes()
        factor.raw_data = steps.astype(np.float32).tobytes()
    if kinds is not None:
        table = tensors[_KINDS]
        if kinds.shape != tuple(table.dims):
            raise ValueError(f"vectors of kinds of texts are {tuple(table.dims)} in the model, not {kinds.shape}")
        table.raw_data = kinds.astype(np.float32).tobytes()
