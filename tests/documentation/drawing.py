"""Draws a flowchart as SVG: boxes in layers along its direction, edges through the gaps between them.

The pictures need no script and nothing from elsewhere, and take their colours from the page, dark or light.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

from tests.documentation.flowchart import Box, Edge, Flowchart

CHAR_WIDTH, LINE_HEIGHT = 7.3, 17.0
PAD_X, PAD_Y = 12.0, 8.0
GAP, LAYER_GAP, TIGHT_GAP = 14.0, 34.0, 16.0
TITLE_HEIGHT = 20.0
MAX_WIDTH = 720.0

Point = tuple[float, float]


@dataclass(slots=True)
class _Placed:
    """A box, or a bend of an edge (`box` is None), with its size and the place of its upper left corner."""

    box: Box | None
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0
    label: str = ""
    inside: list[_Placed] = field(default_factory=list)
    edges: list[tuple[Edge, list[_Placed]]] = field(default_factory=list)

    @property
    def middle(self) -> Point:
        return self.x + self.width / 2, self.y + self.height / 2


def svg(chart: Flowchart, title: str) -> str:
    """Return the picture as one SVG element without empty lines; it is told to screen readers by title and edges."""
    placed = _place(chart.root, chart.edges)
    if placed.width > MAX_WIDTH and chart.root.direction == "LR":
        chart.root.direction = "TB"
        placed = _place(chart.root, chart.edges)
    names = dict(_names(chart.root))
    told = "; ".join(f"{names[edge.source]} to {names[edge.target]}" for edge in chart.edges) or "no arrows"
    head = (
        f'<svg class="flowchart" role="img" xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {placed.width:.0f} {placed.height:.0f}" width="{placed.width:.0f}" '
        f'height="{placed.height:.0f}"><title>{escape(title)}</title><desc>{escape(told)}</desc>'
    )
    return "\n".join([head, *_group(placed), "</svg>"])


def _names(box: Box) -> Iterator[tuple[str, str]]:
    """Yield each box's id and what a reader sees of it: its first line, of one without words those of what is in it."""
    for each in box.inside:
        first = each.label.strip().partition("\n")[0]
        yield each.id, first or ", ".join(name for _, name in _names(each) if name) or each.id
        yield from _names(each)


def _place(box: Box, edges: list[Edge]) -> _Placed:
    """Lay out a box with all that is in it, at the origin."""
    if not box.inside:
        lines = box.label.split("\n")
        width = max(len(line) for line in lines) * CHAR_WIDTH + 2 * PAD_X
        height = len(lines) * LINE_HEIGHT + 2 * PAD_Y
        return _Placed(box, width, width if box.shape == "circle" else height)
    children = [_place(each, edges) for each in box.inside]
    names = {child.box.id: child for child in children if child.box is not None}
    here = [edge for edge in edges if edge.source in names and edge.target in names]
    linked = {name for edge in here for name in (edge.source, edge.target)}
    placed = _Placed(box, 0, 0, inside=children)
    joined = [child for name, child in names.items() if name in linked]
    loose = [child for name, child in names.items() if name not in linked]
    if joined:
        _place_layers(placed, joined, here, box.direction == "LR")
    _place_loose(placed, loose)
    top = TITLE_HEIGHT if box.label.strip() else 0.0
    pad = GAP if box.label.strip() else 2.0
    for each in _all_inside(placed):
        each.x, each.y = each.x + pad, each.y + top + pad
    placed.width = max(placed.width + 2 * pad, len(box.label) * CHAR_WIDTH + 2 * PAD_X)
    placed.height += top + 2 * pad
    return placed


def _all_inside(placed: _Placed) -> Iterator[_Placed]:
    """Yield the direct children and the bends of the edges between them, each once."""
    seen: set[int] = set()
    for each in [*placed.inside, *(bend for _, bends in placed.edges for bend in bends)]:
        if id(each) not in seen:
            seen.add(id(each))
            yield each


def _place_layers(placed: _Placed, joined: list[_Placed], edges: list[Edge], across: bool) -> None:
    order = {child.box.id: child for child in joined if child.box is not None}
    layer = _layers(list(order), edges)
    rows: dict[int, list[_Placed]] = {}
    for name, child in order.items():
        rows.setdefault(layer[name], []).append(child)
    for edge in edges:
        placed.edges.append((edge, _route(edge, order, layer, rows)))
    _untangle(rows, placed.edges)
    ordered = [rows[at] for at in sorted(rows)]
    is_tight = all(child.box is not None and child.box.shape == "group" for child in joined)
    gap = TIGHT_GAP if is_tight else LAYER_GAP
    breadth = max(sum(_breadth(each, across) + GAP for each in row) - GAP for row in ordered)
    at = 0.0
    for row in ordered:
        depth = max(_depth(each, across) for each in row)
        side = (breadth - sum(_breadth(each, across) + GAP for each in row) + GAP) / 2
        for each in row:
            middle = at + (depth - _depth(each, across)) / 2
            each.x, each.y = (middle, side) if across else (side, middle)
            side += _breadth(each, across) + GAP
        at += depth + gap
    placed.width, placed.height = (at - gap, breadth) if across else (breadth, at - gap)


def _depth(each: _Placed, across: bool) -> float:
    return each.width if across else each.height


def _breadth(each: _Placed, across: bool) -> float:
    return each.height if across else each.width


def _layers(names: list[str], edges: list[Edge]) -> dict[str, int]:
    """Return each box's layer: the longest way to it along edges that lead forward in the order of mention.

    An edge with a label spans one more layer, in which the label stands.
    """
    rank = {name: at for at, name in enumerate(_forward_order(names, edges))}
    layer = dict.fromkeys(names, 0)
    for name in sorted(names, key=rank.__getitem__):
        for edge in edges:
            if edge.source == name and rank[edge.target] > rank[name]:
                layer[edge.target] = max(layer[edge.target], layer[name] + (2 if edge.label else 1))
    return layer


def _forward_order(names: list[str], edges: list[Edge]) -> list[str]:
    """Return the boxes in topological order, where an edge back to a box that is being visited does not count."""
    after: dict[str, list[str]] = {name: [] for name in names}
    for edge in edges:
        after[edge.source].append(edge.target)
    found: list[str] = []
    state: dict[str, bool] = {}

    def visit(name: str) -> None:
        state[name] = False
        for target in reversed(after[name]):
            if target not in state:
                visit(target)
        state[name] = True
        found.append(name)

    aimed = {edge.target for edge in edges if edge.source != edge.target}
    for name in reversed([*(each for each in names if each not in aimed), *names]):
        if name not in state and (name not in aimed or all(each in state for each in names if each not in aimed)):
            visit(name)
    return found[::-1]


def _route(
    edge: Edge, order: dict[str, _Placed], layer: dict[str, int], rows: dict[int, list[_Placed]]
) -> list[_Placed]:
    """Return the stations of an edge: its ends, with a bend in each layer between them; one has the label."""
    first, last = layer[edge.source], layer[edge.target]
    step = 1 if last >= first else -1
    between = list(range(first + step, last, step))
    bends = [_Placed(None, 6.0, LINE_HEIGHT) for _ in between]
    if bends and edge.label:
        held = bends[len(bends) // 2]
        held.label, held.width = edge.label, len(edge.label) * (CHAR_WIDTH - 1) + PAD_X
    for at, bend in zip(between, bends, strict=True):
        rows.setdefault(at, []).append(bend)
    return [order[edge.source], *bends, order[edge.target]]


def _untangle(rows: dict[int, list[_Placed]], edges: list[tuple[Edge, list[_Placed]]]) -> None:
    """Order each layer by the middle of its neighbours' places, down and up, so that fewer edges cross."""
    near: dict[int, list[_Placed]] = {}
    for _, stations in edges:
        for one, other in pairwise(stations):
            near.setdefault(id(one), []).append(other)
            near.setdefault(id(other), []).append(one)
    layers = sorted(rows)
    for sweep in range(6):
        down = sweep % 2 == 0
        for at in layers[1:] if down else layers[-2::-1]:
            fixed = {id(each): place for place, each in enumerate(rows.get(at - 1 if down else at + 1, []))}
            size = max(len(fixed), 1)
            mine = {id(each): place for place, each in enumerate(rows[at])}

            def wanted(
                each: _Placed, fixed: dict[int, int] = fixed, mine: dict[int, int] = mine, size: int = size
            ) -> float:
                places = [fixed[id(other)] for other in near.get(id(each), ()) if id(other) in fixed]
                return sum(places) / len(places) / size if places else mine[id(each)] / max(len(mine), 1)

            rows[at].sort(key=wanted)


def _place_loose(placed: _Placed, loose: list[_Placed]) -> None:
    """Place boxes without edges side by side below all others, in lines of bounded width."""
    x, y, tallest = 0.0, placed.height + (GAP if placed.height and loose else 0.0), 0.0
    for each in loose:
        if x and x + each.width > MAX_WIDTH - 4 * GAP:
            x, y, tallest = 0.0, y + tallest + GAP, 0.0
        each.x, each.y = x, y
        x += each.width + GAP
        tallest = max(tallest, each.height)
        placed.width = max(placed.width, x - GAP)
        placed.height = max(placed.height, y + tallest)


def _group(placed: _Placed) -> Iterator[str]:
    yield f'<g transform="translate({placed.x:.1f} {placed.y:.1f})">'
    if placed.box is not None and placed.box.id:
        yield from _shape(placed.box, placed.width, placed.height)
    for edge, stations in placed.edges:
        yield from _line(edge, stations)
    for each in placed.inside:
        yield from _group(each)
    yield "</g>"


def _shape(box: Box, width: float, height: float) -> Iterator[str]:
    if box.shape == "group" and not box.label.strip():
        return
    round_by = {"pill": height / 2, "circle": width / 2, "join": height / 2, "group": 8.0}.get(box.shape, 5.0)
    kind = "group" if box.inside or box.shape == "group" else box.shape
    yield f'<rect class="{kind}" width="{width:.1f}" height="{height:.1f}" rx="{round_by:.1f}"/>'
    if box.shape in ("each", "store"):
        yield f'<path class="mark" d="M5 0V{height:.1f}M{width - 5:.1f} 0V{height:.1f}"/>'
    lines = box.label.split("\n")
    start = TITLE_HEIGHT - 4 if kind == "group" else height / 2 + 5 - (len(lines) - 1) * LINE_HEIGHT / 2
    for at, line in enumerate(lines):
        yield f'<text x="{width / 2:.1f}" y="{start + at * LINE_HEIGHT:.1f}">{escape(line)}</text>'


def _line(edge: Edge, stations: list[_Placed]) -> Iterator[str]:
    kind = {"==>": "thick", "-.->": "dotted"}.get(edge.line, "plain")
    first, last = stations[0], stations[-1]
    if first is last:
        yield from _loop(edge, first, kind)
        return
    points = [each.middle for each in stations]
    start, end = _border(first, points[1]), _border(last, points[-2])
    yield f'<path class="edge {kind}" d="{_curve([start, *points[1:-1], end])}"/>'
    if edge.line != "---":
        yield _head(_before(points[1:-1], start, end), end)
    if edge.line == "<-->":
        yield _head(points[1] if len(points) > 2 else end, start)
    yield from _label(edge, stations)


def _label(edge: Edge, stations: list[_Placed]) -> Iterator[str]:
    """Yield the label of an edge in the bend that has room for it, else in its middle."""
    if not edge.label:
        return
    held = next((bend for bend in stations[1:-1] if bend.label), None)
    ends = [each.middle for each in stations]
    x, y = held.middle if held else ((ends[0][0] + ends[-1][0]) / 2, (ends[0][1] + ends[-1][1]) / 2)
    width = held.width if held else len(edge.label) * (CHAR_WIDTH - 1) + PAD_X
    yield f'<rect class="label" x="{x - width / 2:.1f}" y="{y - 8:.1f}" width="{width:.1f}" height="16"/>'
    yield f'<text class="label" x="{x:.1f}" y="{y + 4:.1f}">{escape(edge.label)}</text>'


def _loop(edge: Edge, box: _Placed, kind: str) -> Iterator[str]:
    x, y = box.x + box.width, box.y + box.height / 2
    bow = f"C{x + 30:.1f} {y - 20:.1f} {x + 30:.1f} {y + 20:.1f}"
    yield f'<path class="edge {kind}" d="M{x:.1f} {y - 8:.1f}{bow} {x:.1f} {y + 8:.1f}"/>'
    yield _head((x + 18, y + 14), (x, y + 8))
    yield f'<text class="label side" x="{x + 26:.1f}" y="{y + 4:.1f}">{escape(edge.label)}</text>'


def _before(bends: list[Point], start: Point, end: Point) -> Point:
    near = bends[-1] if bends else start
    return (end[0] + near[0]) / 2, (end[1] + near[1]) / 2


def _border(box: _Placed, towards: Point) -> Point:
    """Return where the way from the middle of a box to a point leaves the box."""
    (x, y), (to_x, to_y) = box.middle, towards
    dx, dy = to_x - x, to_y - y
    if not dx and not dy:
        return x, y
    scale = min(box.width / 2 / abs(dx) if dx else 1e9, box.height / 2 / abs(dy) if dy else 1e9)
    return x + dx * scale, y + dy * scale


def _curve(points: list[Point]) -> str:
    """Return a path that is straight between two points, and rounded at each bend."""
    if len(points) == 2:
        (a, b), (c, d) = points
        return f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}"
    parts = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for bend, after in pairwise(points[1:]):
        half = ((bend[0] + after[0]) / 2, (bend[1] + after[1]) / 2)
        if after is points[-1]:
            half = after
        parts.append(f"Q{bend[0]:.1f} {bend[1]:.1f} {half[0]:.1f} {half[1]:.1f}")
    return "".join(parts)


def _head(source: Point, tip: Point) -> str:
    dx, dy = tip[0] - source[0], tip[1] - source[1]
    length = max((dx * dx + dy * dy) ** 0.5, 0.001)
    ux, uy = dx / length * 8, dy / length * 8
    left, right = (tip[0] - ux - uy / 2, tip[1] - uy + ux / 2), (tip[0] - ux + uy / 2, tip[1] - uy - ux / 2)
    corners = "L".join(f"{x:.1f} {y:.1f}" for x, y in (tip, left, right))
    return f'<path class="head" d="M{corners}Z"/>'
