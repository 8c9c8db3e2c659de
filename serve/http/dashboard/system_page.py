"""Renders how the system fares: parts, queues, bounds, breakers, tools, agents and models."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from runtime.llm.call_metrics import ModelStats
from runtime.memory.tool_metrics import ToolHealth
from runtime.primitives.metrics import MODEL_CALL_S, MODEL_CALLS, MODEL_TOKENS
from runtime.queues.work_table import QueueStats
from serve.http.dashboard.run_list_page import Badge, badge
from serve.run_fragments import line_of, table_head, told

_PART_END = re.compile(r"(?<=[._:/])(?=\w)")
_KINDS = {
    "healthy": "good",
    "answers": "good",
    "connected": "good",
    "degraded": "bound",
    "half_open": "bound",
    "unknown": "other",
}


class SystemView(NamedTuple):
    """Holds what the page of the system shows; `queues`: the work queues of the store by name."""

    health: Mapping[str, Any]
    tools: Sequence[ToolHealth]
    queues: Mapping[str, QueueStats]
    models: ModelStats


def system_parts(view: SystemView) -> dict[str, str]:
    """Return the parts of the page by their ids."""
    return {
        "system-parts": _parts(view.health),
        "system-queues": _queues(view),
        "system-breakers": _breakers(view.health["breakers"]),
        "system-agents": _agents(view.health["agents"]),
        "system-tools": _tools(view.tools),
        "system-models": _models(view),
    }


def system_content(parts: Mapping[str, str]) -> str:
    """Return the content of the page."""
    shown = "".join(f'<div id="{name}">{text}</div>' for name, text in parts.items())
    return f'<h1>System</h1><div class="columns even">{shown}</div>'


def _state(word: str) -> str:
    return badge(Badge(_KINDS.get(word, "failed"), word.replace("_", " ")))


def _parts(health: Mapping[str, Any]) -> str:
    rows = [
        f"<tr><td>{told(part)}</td><td>{_state(said) if said == 'answers' else _state('down')}</td>"
        f"<td>{'' if said == 'answers' else told(said)}</td></tr>"
        for part, said in health["parts"].items()
    ]
    rows.append(f"<tr><td>all together</td><td>{_state(str(health['status']))}</td><td></td></tr>")
    return _table("Parts", ("part", "state", "why"), rows)


def _queues(view: SystemView) -> str:
    health = view.health
    bounds, bus = health["bounds"], health["queues"]
    rows = [
        _used(name.replace("_", " "), bounds[name]["used"], bounds[name]["of"])
        for name in ("questions", "event_streams")
    ]
    for name, place in (bus["models"] or {}).items():
        rows.append(_used(f"calls of model {name}, {place['waiting']} more wait", place["used"], place["of"]))
    text = _table("Bounds in use", ("what", "used", "of", "share"), rows, ("used", "of"))
    counts = [
        ("runs under way", bounds["runs_under_way"]),
        ("parked frames of the bus", bus["parked_frames"]),
        ("dead letters of the bus", bus["dead_letters"]),
        ("queries under way on the bus", bus["queries_under_way"]),
    ]
    rows = [_row(name, "no answer" if count is None else count) for name, count in counts]
    text += _table("Queues", ("what", "count"), rows, ("count",))
    if view.queues:
        heads = ("work queue", "ready", "leased", "delayed", "completed", "dead")
        rows = [
            _row(name, each.ready, each.leased, each.delayed, each.completed, each.dead)
            for name, each in sorted(view.queues.items())
        ]
        text += _table("Work queues", heads, rows, heads[1:])
    return text


def _used(name: str, used: int, of: int) -> str:
    meter = f'<meter min="0" max="{max(of, 1)}" value="{used}" aria-label="{used} of {of}"></meter>'
    return f'<tr><td>{told(name)}</td><td class="number">{used}</td><td class="number">{of}</td><td>{meter}</td></tr>'


def _breakers(breakers: Mapping[str, Mapping[str, str]]) -> str:
    rows = [
        f"<tr><td>{told(kind)}</td><td>{_parted(name)}</td><td>{_state(state)}</td></tr>"
        for kind, states in breakers.items()
        for name, state in states.items()
    ]
    if not rows:
        return '<section><h2>Breakers</h2><p class="dim">All are closed.</p></section>'
    return _table("Breakers", ("of", "name", "state"), rows)


def _tools(tools: Iterable[ToolHealth]) -> str:
    rows = [
        f"<tr><td>{_parted(tool.tool)}</td><td>{_state(tool.health)}{' ' + _state('open') if tool.open_in else ''}</td>"
        + _numbers(tool.calls, tool.failures, tool.p50_ms, tool.p95_ms, tool.max_ms)
        for tool in sorted(tools, key=lambda each: each.tool)
    ]
    if not rows:
        return '<section><h2>Tools</h2><p class="dim">None was called lately.</p></section>'
    heads = ("tool", "health", "calls", "failures", "median ms", "95 %", "longest")
    return _table("Tools", heads, rows, heads[2:])


def _models(view: SystemView) -> str:
    calls = _by_deployment(view.models, MODEL_CALLS.name)
    if not calls:
        return ""
    tokens = {way: _by_deployment(view.models, MODEL_TOKENS.name, way) for way in ("in", "cached", "out")}
    spent = {each.labels["deployment"]: each.total for each in view.models.histograms.get(MODEL_CALL_S.name, ())}
    rows = []
    for name in sorted(calls):
        seconds, out = spent.get(name, 0.0), tokens["out"].get(name, 0)
        pace = f"{out / seconds:.1f}" if seconds > 0 else "–"
        state = str(view.models.breakers.get(name, "closed"))
        each = (calls[name], *(tokens[way].get(name, 0) for way in ("in", "cached", "out")))
        shown = _state("answers") if state == "closed" else _state(state)
        rows.append(f"<tr><td>{_parted(name)}</td><td>{shown}</td>{_numbers(*each, pace, f'{seconds:.1f}')}")
    heads = (
        "deployment",
        "state",
        "calls",
        "tokens in",
        "cached",
        "tokens out",
        "tokens out per s of calls",
        "s of calls",
    )
    return _table("Models", heads, rows, heads[2:])


def _by_deployment(models: ModelStats, metric: str, direction: str | None = None) -> dict[str, int]:
    found: dict[str, int] = {}
    for sample in models.counters.get(metric, ()):
        if direction is None or sample.labels["kind"] == direction:
            name = sample.labels["deployment"]
            found[name] = found.get(name, 0) + sample.value
    return found


def _agents(agents: Mapping[str, str]) -> str:
    rows = [f"<tr><td>{_parted(name)}</td><td>{_state(state)}</td></tr>" for name, state in agents.items()]
    return _table("Agents and other parts on the bus", ("address", "state"), rows) if rows else ""


def _row(name: str, *values: object) -> str:
    return f"<tr><td>{told(name)}</td>{_numbers(*values)}"


def _numbers(*values: object) -> str:
    return "".join(f'<td class="number">{told(str(value))}</td>' for value in values) + "</tr>"


def _parted(name: str) -> str:
    """Return a name as text that may go on in the next line after each of its parts."""
    parted = _PART_END.sub("<wbr>", line_of(name))
    return f"<bdi>{parted}</bdi>"


def _table(title: str, heads: Sequence[str], rows: Sequence[str], numbers: Collection[str] = ()) -> str:
    return f"{table_head(title, heads, numbers)}{''.join(rows)}</tbody></table></div></section>"
