"""Reads the part of Mermaid's flowcharts that our pages use; a line outside of it is an error."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from runtime.errors import InputError

ROOT_BOX = ""

_NODE = r"[A-Za-z_][\w.]*"
# Opening and closing marks of a node → its shape; longer marks first.
_SHAPES = {
    ("([", "])"): "pill",
    ("[(", ")]"): "store",
    ("[[", "]]"): "each",
    ("[/", "/]"): "last",
    ("((", "))"): "circle",
    ("[", "]"): "box",
    ("{", "}"): "join",
}
_END = re.compile(
    rf"\s*(?P<id>{_NODE})(?:(?P<open>\(\[|\[\(|\[\[|\[/|\(\(|\[|\{{)(?P<label>\"[^\"]*\"|[^\"\]\)\}}/|]*)"
    r"(?:\]\)|\)\]|\]\]|/\]|\)\)|\]|\}))?\s*"
)
_ARROW = re.compile(r"(?P<line><-->|-->|==>|-\.->|---)(?:\|(?P<label>\"[^\"]*\"|[^|\"]*)\|)?")
_SUBGRAPH = re.compile(rf"subgraph (?P<id>{_NODE})\[(?P<label>\"[^\"]*\")\]$")


@dataclass(slots=True)
class Box:
    """Represents a node, or a subgraph with the boxes in it."""

    id: str
    label: str
    shape: str = "box"
    direction: str = "TB"
    inside: list[Box] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Edge:
    """Represents an arrow; `line` is its Mermaid form."""

    source: str
    target: str
    line: str
    label: str = ""


@dataclass(slots=True)
class Flowchart:
    """Holds the outermost box and all edges."""

    root: Box
    edges: list[Edge]


def flowchart(text: str) -> Flowchart:
    """Read a flowchart. Raises InputError for a line that is outside of the part of the language described here."""
    first, *lines = [line.strip() for line in text.splitlines() if line.strip()]
    if first not in ("flowchart LR", "flowchart TB"):
        raise InputError(f"a picture begins with {first!r}; it has to be `flowchart LR` or `flowchart TB`")
    reader = _Reader(first.rpartition(" ")[2])
    for line in lines:
        reader.read(line)
    return Flowchart(reader.open[0], reader.edges)


class _Reader:
    """Keeps the open subgraphs, outermost first, and the nodes seen so far."""

    def __init__(self, direction: str) -> None:
        self.open = [Box(ROOT_BOX, "", direction=direction)]
        self.edges: list[Edge] = []
        self._nodes: dict[str, Box] = {}

    def read(self, line: str) -> None:
        """Read one line."""
        if found := _SUBGRAPH.match(line):
            box = Box(found["id"], _text(found["label"]), "group")
            self._add(box)
            self.open.append(box)
        elif line == "end":
            if len(self.open) == 1:
                raise _unread(line)
            self.open.pop()
        elif line in ("direction LR", "direction TB"):
            self.open[-1].direction = line.rpartition(" ")[2]
        else:
            self._read_chain(line)

    def _read_chain(self, line: str) -> None:
        source, at = self._read_end(line, 0)
        while at < len(line):
            arrow = _ARROW.match(line, at)
            if arrow is None:
                raise _unread(line)
            target, at = self._read_end(line, arrow.end())
            self.edges.append(Edge(source, target, arrow["line"], _text(arrow["label"] or "")))
            source = target

    def _read_end(self, line: str, at: int) -> tuple[str, int]:
        found = _END.match(line, at)
        if found is None:
            raise _unread(line)
        box = self._nodes.get(found["id"]) or self._add(Box(found["id"], found["id"]))
        if found["open"]:
            box.label = _text(found["label"])
            box.shape = next(shape for marks, shape in _SHAPES.items() if marks[0] == found["open"])
        return box.id, found.end()

    def _add(self, box: Box) -> Box:
        self._nodes[box.id] = box
        self.open[-1].inside.append(box)
        return box


def _text(label: str) -> str:
    plain = label.strip().strip('"').replace("<br/>", "\n")
    return plain.replace("#quot;", '"').replace("#amp;", "&")


def _unread(line: str) -> InputError:
    return InputError(f"the line {line!r} of a picture is not in the part of Mermaid that the site draws", line=line)
