"""Draws a run's pipeline as SVG: its stages, what each does now, and the ways that the run took.

It is drawn twice, along the page and down it; the style sheet shows the one that fits. The table of stages says the
same in words, so that screen readers are told of the picture in one sentence.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from runtime.pipeline.config import END, PipelineConfig
from runtime.run.envelope import Envelope
from serve.run_fragments import line_of, span

BOX_WIDTH, BOX_HEIGHT = 124, 50
GAP_ALONG, GAP_DOWN = 40, 34
ARC_BASE, ARC_STEP = 22, 11
MARGIN = 8
MAX_NAME_CHARS = 15

_STATUS_WORDS = {
    "active": "running",
    "asking": "waits for an answer",
    "success": "done",
    "failed": "failed",
    "handled": "failed, handled",
    "cancelled": "cancelled",
    "": "not reached",
}


class Stage(NamedTuple):
    """Holds what the picture tells of a stage."""

    name: str
    status: str
    visits: int
    duration_ms: int


class Way(NamedTuple):
    """Holds a way from a stage to a stage, by their places in the row, and how often it was taken."""

    source: int
    target: int
    taken: int


class Picture(NamedTuple):
    """Holds a pipeline as a run has it."""

    stages: list[Stage]
    ways: list[Way]


def picture_of(rules: PipelineConfig, envelope: Envelope) -> Picture:
    """Return the stages of a run's pipeline in their order, and the ways between them that are usual or were taken."""
    visits: Counter[str] = Counter()
    spent: defaultdict[str, int] = defaultdict(int)
    for record in envelope.history:
        visits[record.stage] += 1
        spent[record.stage] += record.duration_ms
    agents = sorted(rules.agents, key=lambda agent: agent.stage_order)
    stages = [
        Stage(agent.name, _status(envelope, agent.name), visits[agent.name], spent[agent.name]) for agent in agents
    ]
    places = {agent.name: place for place, agent in enumerate(agents)}
    taken = _taken(envelope.usage.edges, places)
    for agent in agents:
        # Where errors lead is drawn once a run went there.
        targets = {rule.target for rule in agent.routing_rules} | {agent.default_next, *agent.requires}
        for target in targets - {None, END}:
            if target in places and target not in agent.requires:
                taken.setdefault((places[agent.name], places[target]), 0)
        for source in agent.requires:
            if source in places:
                taken.setdefault((places[source], places[agent.name]), 0)
    return Picture(stages, [Way(*ends, count) for ends, count in sorted(taken.items())])


def _status(envelope: Envelope, stage: str) -> str:
    """Return what a stage does; of a run that is over nothing runs or waits any more."""
    status = str(envelope.stages.get(stage, ""))
    return "cancelled" if envelope.lifecycle == "terminated" and status in ("active", "asking") else status


def _taken(edges: Mapping[str, int], places: Mapping[str, int]) -> dict[tuple[int, int], int]:
    found = {}
    for edge, count in edges.items():
        source, _, target = edge.partition("->")
        if source in places and target in places:
            found[places[source], places[target]] = count
    return found


def pipeline_svg(picture: Picture) -> str:
    """Return the picture along the page and down it."""
    told = "; ".join(f"{stage.name}: {_STATUS_WORDS.get(stage.status, stage.status)}" for stage in picture.stages)
    along = "".join(_drawn(picture, is_down=False))
    down = "".join(_drawn(picture, is_down=True))
    return (
        '<div class="picture along scrolls" tabindex="0" role="region" aria-label="Picture of the pipeline">'
        f'<div role="img" aria-label="Pipeline. {line_of(told)}">{along}</div></div>'
        f'<div class="picture down" role="img" aria-label="Pipeline. {line_of(told)}">{down}</div>'
    )


def _drawn(picture: Picture, is_down: bool) -> Iterator[str]:
    # Ways forward pass on the side before the boxes, ways back on the side behind them.
    before = _room(way.target - way.source for way in picture.ways if way.target > way.source + 1)
    behind = _room(way.source - way.target for way in picture.ways if way.target <= way.source)
    count = len(picture.stages)
    if is_down:
        width, height = BOX_WIDTH + before + behind, count * (BOX_HEIGHT + GAP_DOWN) - GAP_DOWN + 2 * MARGIN
    else:
        width, height = count * (BOX_WIDTH + GAP_ALONG) - GAP_ALONG + 2 * MARGIN, BOX_HEIGHT + before + behind
    yield f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" aria-hidden="true" focusable="false">'
    yield from (_way(way, before, is_down) for way in picture.ways)
    yield from (_box(stage, place, before, is_down) for place, stage in enumerate(picture.stages))
    yield "</svg>"


def _room(lengths: Iterable[int]) -> int:
    longest = max(lengths, default=None)
    return MARGIN if longest is None else ARC_BASE + ARC_STEP * longest


def _corner(place: int, room: int, is_down: bool) -> tuple[int, int]:
    if is_down:
        return room, MARGIN + place * (BOX_HEIGHT + GAP_DOWN)
    return MARGIN + place * (BOX_WIDTH + GAP_ALONG), room


def _box(stage: Stage, place: int, room: int, is_down: bool) -> str:
    x, y = _corner(place, room, is_down)
    name = stage.name if len(stage.name) <= MAX_NAME_CHARS else f"{stage.name[: MAX_NAME_CHARS - 1]}…"
    words = _STATUS_WORDS.get(stage.status, stage.status)
    if stage.status not in ("active", "asking") and stage.visits:
        words = span(stage.duration_ms) + (f" · {stage.visits} visits" if stage.visits > 1 else "")
    kind = stage.status or "unreached"
    middle = x + BOX_WIDTH // 2
    return (
        f'<g class="stage {line_of(kind)}"><title>{line_of(stage.name)}: {line_of(words)}</title>'
        f'<rect x="{x}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="8"/>'
        f'<text x="{middle}" y="{y + 21}" class="name">{line_of(name)}</text>'
        f'<text x="{middle}" y="{y + 38}" class="words">{line_of(words)}</text></g>'
    )


def _way(way: Way, room: int, is_down: bool) -> str:
    kind = "way taken" if way.taken else "way"
    path, label_at, head = _path(way, room, is_down)
    label = ""
    if way.taken > 1:
        label = f'<text x="{label_at[0]}" y="{label_at[1]}" class="times">{way.taken}×</text>'
    return f'<g class="{kind}"><path d="{path}"/><path class="head" d="{head}"/>{label}</g>'


def _path(way: Way, room: int, is_down: bool) -> tuple[str, tuple[int, int], str]:
    """Return the line of a way, where its label stands, and the head of its arrow."""
    x1, y1 = _corner(way.source, room, is_down)
    x2, y2 = _corner(way.target, room, is_down)
    if way.target == way.source + 1:
        return _straight(x1, y1, x2, y2, is_down)
    # Forward along one side, back along the other; the wider the further. A way to itself is a small one.
    reach = ARC_BASE + ARC_STEP * abs(way.target - way.source)
    is_back = way.target <= way.source
    shift = 18 if is_back else -18
    if is_down:
        side = x1 if not is_back else x1 + BOX_WIDTH
        turn = side - reach if not is_back else side + reach
        start, end = y1 + BOX_HEIGHT // 2 - shift // 3, y2 + BOX_HEIGHT // 2 + shift // 3
        tip = -6 if not is_back else 6
        head = f"M{side + tip},{end - 4} L{side},{end} L{side + tip},{end + 4}"
        return f"M{side},{start} C{turn},{start} {turn},{end} {side},{end}", (turn, (start + end) // 2), head
    side = y1 if not is_back else y1 + BOX_HEIGHT
    turn = side - reach if not is_back else side + reach
    start, end = x1 + BOX_WIDTH // 2 - shift, x2 + BOX_WIDTH // 2 + shift
    tip = -6 if not is_back else 6
    head = f"M{end - 4},{side + tip} L{end},{side} L{end + 4},{side + tip}"
    label_at = (start + end) // 2, side - reach * 3 // 4 - 3 if not is_back else side + reach * 3 // 4 + 11
    return f"M{start},{side} C{start},{turn} {end},{turn} {end},{side}", label_at, head


def _straight(x1: int, y1: int, x2: int, y2: int, is_down: bool) -> tuple[str, tuple[int, int], str]:
    if is_down:
        middle, end = x1 + BOX_WIDTH // 2, y2
        head = f"M{middle - 4},{end - 6} L{middle},{end} L{middle + 4},{end - 6}"
        return f"M{middle},{y1 + BOX_HEIGHT} L{middle},{end}", (middle + 16, end - GAP_DOWN // 2 + 4), head
    middle, end = y1 + BOX_HEIGHT // 2, x2
    head = f"M{end - 6},{middle - 4} L{end},{middle} L{end - 6},{middle + 4}"
    return f"M{x1 + BOX_WIDTH},{middle} L{end},{middle}", (end - GAP_ALONG // 2, middle - 7), head
