"""Computes attention, and the curve behind widening products, in one step each of the sentence model.

Its file spells attention out: weighed words, masked, checked for undefined numbers and turned about, each time through
memory. Nothing is masked where each text is read alone. The runtime has operators of its own for both, which compute
the same: with matrices of 32 bits the results differ by rounding alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.codebase.semantics.sentence_model.onnx_graph import INT, message, node

HEADS = 12
_RUNTIMES_OWN = "com.microsoft"
# What leads from the two factors of weighed words, and from their values, back to what is split into heads.
_QUERY = ("Mul", "Transpose", "Reshape")
_KEY = ("Mul", "Reshape", "Transpose", "Reshape", "Transpose", "Reshape")
_VALUE = ("Transpose", "Reshape")
# What leads from heads put together back to the product of weights and values, and from the weights to their factors.
_ATTENTION = ("Reshape", "Transpose")
_WEIGHTS = ("Softmax", "Add")
_CURVE = ("Add", "Erf", "Div")


def fuse_steps(graph: Any) -> None:
    """Have attention and its curve computed in one step each; for texts that are read alone, without a mask."""
    nodes = list(graph.node)
    makers = {name: one for one in nodes for name in one.output}
    fused = [_attention(one, makers) or _curve(one, makers) or one for one in nodes]
    used = {one.name for one in graph.output}
    kept = _taken_in(fused, used)
    del graph.node[:]
    graph.node.extend(kept)
    # The runtime warns of each tensor that nothing takes in. Those that stay are not copied: they are most of it.
    for one in [one for one in graph.initializer if one.name not in used]:
        graph.initializer.remove(one)


def _attention(joined: Any, makers: Mapping[str, Any]) -> Any:
    """Return the step that computes the output of a node which joins heads; None for any other node."""
    product = makers.get(_behind(joined.output[0], _ATTENTION, makers) or "")
    if product is None or product.op_type != "MatMul":
        return None
    checked = makers.get(product.input[0])
    weights = checked.input[2] if checked is not None and checked.op_type == "Where" else ""
    words = makers.get(_behind(weights, _WEIGHTS, makers) or "")
    if words is None or words.op_type != "MatMul":
        return None
    ways = ((words.input[0], _QUERY), (words.input[1], _KEY), (product.input[1], _VALUE))
    sources = [_behind(name, way, makers) for name, way in ways]
    if None in sources:
        return None
    fused = node("MultiHeadAttention", tuple(name for name in sources if name), (joined.output[0],), _RUNTIMES_OWN)
    fused.attribute.append(message("Attribute")(name="num_heads", i=HEADS, type=INT))
    return fused


def _curve(last: Any, makers: Mapping[str, Any]) -> Any:
    """Return the step that computes x * 0.5 * (1 + erf(x / 2 ** 0.5)); None for a node that computes something else."""
    if last.op_type != "Mul" or len(last.input) != 2:
        return None
    source, factor = last.input
    halved = makers.get(factor)
    # One half stands first in the product.
    if halved is None or halved.op_type != "Mul" or _behind(halved.input[1], _CURVE, makers) != source:
        return None
    return node("Gelu", (source,), (last.output[0],), _RUNTIMES_OWN)


def _behind(name: str, way: Sequence[str], makers: Mapping[str, Any]) -> str | None:
    """Return the first input behind nodes of these kinds, from the last one back; None where another kind is met."""
    for kind in way:
        one = makers.get(name)
        if one is None or one.op_type != kind:
            return None
        name = one.input[0]
    return name


def _taken_in(nodes: Sequence[Any], used: set[str]) -> list[Any]:
    """Return the nodes that are needed for the names that are used, in order; adds all that these take in."""
    kept = []
    for one in reversed(nodes):
        if used.intersection(one.output):
            kept.append(one)
            used.update(one.input)
    return kept[::-1]
