"""Reads and writes the parts of an ONNX model that are rewritten when the sentence model is loaded.

Only the fields of the format that are needed are declared; protobuf keeps all others as they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

FLOAT, INT8, INT = 1, 3, 2
_BYTES, _STRING, _INT32, _INT64, _MESSAGE = 12, 9, 5, 3, 11
_FIELDS: Mapping[str, tuple[tuple[str, int, int, bool], ...]] = {
    "Model": (("graph", 7, _MESSAGE, False),),
    "Graph": (("node", 1, _MESSAGE, True), ("initializer", 5, _MESSAGE, True), ("output", 12, _MESSAGE, True)),
    "Value": (("name", 1, _STRING, False),),
    "Node": (
        ("input", 1, _STRING, True),
        ("output", 2, _STRING, True),
        ("op_type", 4, _STRING, False),
        ("attribute", 5, _MESSAGE, True),
        ("domain", 7, _STRING, False),
    ),
    "Attribute": (("name", 1, _STRING, False), ("i", 3, _INT64, False), ("type", 20, _INT32, False)),
    "Tensor": (
        ("dims", 1, _INT64, True),
        ("data_type", 2, _INT32, False),
        ("name", 8, _STRING, False),
        ("raw_data", 9, _BYTES, False),
    ),
}
_OF_FIELD = {"graph": "Graph", "node": "Node", "initializer": "Tensor", "attribute": "Attribute", "output": "Value"}
_PACKAGE = "jeeves.onnx"


class Product(NamedTuple):
    """Names the matrix of bytes of a product, and the factor that widens it."""

    weights: str
    factor: str


def parsed(model: bytes) -> Any:
    """Return a model as a message that may be changed."""
    read = message("Model")()
    read.ParseFromString(model)
    return read


def rewritten(model: bytes, rewrites: Sequence[Callable[[Any], None]]) -> bytes:
    """Return a model with its graph rewritten, one after the other; it is read and written once."""
    read = parsed(model)
    for rewrite in rewrites:
        rewrite(read.graph)
    return bytes(read.SerializeToString())


def tensors_of(graph: Any) -> dict[str, Any]:
    """Return the tensors that a graph holds, by name."""
    return {tensor.name: tensor for tensor in graph.initializer}


def products_of(graph: Any) -> Iterator[tuple[Any, Product | None]]:
    """Yield each node of a graph, in order, with its product if it multiplies by a widened matrix of bytes."""
    nodes = list(graph.node)
    makers = {name: one for one in nodes for name in one.output}
    tensors = tensors_of(graph)
    for one in nodes:
        yield one, _product(one, makers, tensors)


def _product(one: Any, makers: Mapping[str, Any], tensors: Mapping[str, Any]) -> Product | None:
    widened = makers.get(one.input[1]) if one.op_type == "MatMul" else None
    cast = makers.get(widened.input[0]) if widened is not None and widened.op_type == "Mul" else None
    if widened is None or cast is None or cast.op_type != "Cast":
        return None
    weights, factor = cast.input[0], widened.input[1]
    is_matrix = weights in tensors and tensors[weights].data_type == INT8 and len(tensors[weights].dims) == 2
    is_widened = factor in tensors and tensors[factor].data_type == FLOAT
    return Product(weights, factor) if is_matrix and is_widened else None


def node(op_type: str, inputs: tuple[str, ...], outputs: tuple[str, ...], domain: str = "") -> Any:
    """Return a node of a graph without attributes; `domain`: whose operator it is, if not the format's own."""
    return message("Node")(op_type=op_type, input=inputs, output=outputs, domain=domain)


def message(name: str) -> Any:
    """Return the class of a kind of message: Model, Graph, Node, Attribute or Tensor."""
    return _messages()[name]


@functools.cache
def _messages() -> Mapping[str, Any]:
    """Return the classes of the messages, declared in a pool of their own, which no other package can clash with."""
    file = descriptor_pb2.FileDescriptorProto(name="jeeves_onnx.proto", package=_PACKAGE, syntax="proto2")
    for name, fields in _FIELDS.items():
        declared = file.message_type.add(name=name)
        for field, number, kind, is_repeated in fields:
            label = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
            made = declared.field.add(name=field, number=number, type=kind)
            made.label = label if is_repeated else descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
            if kind == _MESSAGE:
                made.type_name = f".{_PACKAGE}.{_OF_FIELD[field]}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _FIELDS}
