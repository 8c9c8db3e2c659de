"""Widens the rows of the sentence model's tables when they are looked up, and not all before.

The tables of words and positions have numbers of 8 bits, and the model's file has all of them widened to 32 before a
few rows are looked up. The runtime does that once when it loads the model, and keeps the wide tables. Widening the rows
that were looked up gives the very same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runtime.codebase.semantics.sentence_model.onnx_graph import INT8, node, tensors_of


def widen_rows_late(graph: Any) -> None:
    """Have rows looked up before they are widened; the numbers that the model computes are the same."""
    nodes = list(graph.node)
    makers = {name: one for one in nodes for name in one.output}
    tensors = tensors_of(graph)
    found: list[Any] = []
    for one in nodes:
        widened = makers.get(one.input[0]) if one.op_type == "Gather" else None
        cast = makers.get(widened.input[0]) if widened is not None and widened.op_type == "Mul" else None
        if widened is None or cast is None or not _is_table(tensors, cast, widened.input[1]):
            found.append(one)
        else:
            found.extend(_late(one, cast, widened))
    # What widened whole tables would still be computed once, for nobody.
    used = {name for one in found for name in one.input} | {one.name for one in graph.output}
    del graph.node[:]
    graph.node.extend(one for one in found if used.intersection(one.output))


def _is_table(tensors: dict[str, Any], cast: Any, scale: str) -> bool:
    """Return True where a table of bytes is widened that has a scale for each of its rows."""
    table = cast.input[0] if cast.op_type == "Cast" else ""
    if table not in tensors or scale not in tensors or tensors[table].data_type != INT8:
        return False
    return list(tensors[scale].dims) == [tensors[table].dims[0], 1]


def _late(gather: Any, cast: Any, widened: Any) -> Iterator[Any]:
    table, rows = cast.input[0], gather.input[1]
    told = gather.output[0]
    for source, name in ((table, f"{told}_bytes"), (widened.input[1], f"{told}_scale")):
        found = node("Gather", (source, rows), (name,))
        found.attribute.extend(gather.attribute)
        yield found
    wide = node("Cast", (f"{told}_bytes",), (f"{told}_wide",))
    wide.attribute.extend(cast.attribute)
    yield wide
    yield node("Mul", (f"{told}_wide", f"{told}_scale"), (told,))
