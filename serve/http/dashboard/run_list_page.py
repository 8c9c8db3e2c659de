"""Renders the first page: how the system fares, what runs now, a form for a question, the runs."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from runtime.memory.sessions import MAX_SESSION_ID_CHARS
from runtime.primitives.hashing import content_hash
from runtime.run.envelope import BOUND_REASONS, FAILURE_REASONS, Envelope
from runtime.store.run_records import RunSummary
from serve.http.dashboard.addresses import ASK, DASHBOARD, OPEN, SYSTEM, run_address, with_query
from serve.http.dashboard.page_frame import Frame, form_token_field
from serve.http.dashboard.run_rows import MAX_ROWS, ROWS, STATES, Row, Wanted
from serve.http.documents.run_documents import page_after
from serve.run_fragments import line_of, span, told

# Runs under way that are shown with their stages; the list has all of them.
MAX_NOW = 12
# The element that leads to the next page of the list.
EARLIER = "earlier-runs"

_STATE_NAMES = {"all": "All", "open": "Under way", "ended": "Ended"}
_GOOD = frozenset({"completed"})
_LIFECYCLES = {"new": "waits for its turn", "ready": "running", "blocked": "running"}


class Badge(NamedTuple):
    """Names the state of a run in words, and the kind by which it is coloured."""

    kind: str
    words: str


class Now(NamedTuple):
    """Holds a run under way."""

    envelope: Envelope
    question: str


class Asked(NamedTuple):
    """Holds what a question may name: repositories and pipelines, the default ones first."""

    repositories: Sequence[str]
    pipelines: Sequence[str]
    max_chars: int


def badge_of(lifecycle: str, terminal_reason: str | None, finished: bool) -> Badge:
    """Return the badge of a run."""
    if not finished:
        kind = "waits" if lifecycle == "waiting" else "goes"
        return Badge(kind, _LIFECYCLES.get(lifecycle, lifecycle) or "begins")
    reason = terminal_reason or "over"
    kinds = (("good", _GOOD), ("bound", BOUND_REASONS), ("failed", FAILURE_REASONS))
    return Badge(next((kind for kind, those in kinds if reason in those), "other"), reason.replace("_", " "))


def envelope_badge(envelope: Envelope) -> Badge:
    """Return the badge of a run whose envelope is known: it tells a pause from a question."""
    if envelope.lifecycle == "waiting" and envelope.interrupt is not None and envelope.interrupt.kind == "checkpoint":
        return Badge("waits", "paused")
    return badge_of(envelope.lifecycle, envelope.terminal_reason, envelope.lifecycle == "terminated")


def badge(shown: Badge) -> str:
    """Return a badge as markup; its colour says nothing that its words do not."""
    return f'<span class="badge {shown.kind}">{line_of(shown.words)}</span>'


def summary_badge(run: RunSummary) -> Badge:
    """Return the badge of a run in a list."""
    return badge_of(run.lifecycle, run.terminal_reason, run.finished)


def health_strip(health: Mapping[str, Any] | None, frame: Frame) -> str:
    """Return one line about the system, with the way to more."""
    if health is None:
        return ""
    status = str(health["status"])
    kind = {"healthy": "good", "degraded": "bound"}.get(status, "failed")
    under_way = health["bounds"]["runs_under_way"]
    parts = [f"{under_way} {'run' if under_way == 1 else 'runs'} under way"] if frame.may("operate") else []
    questions = health["bounds"]["questions"]
    parts.append(f"{questions['used']} of {questions['of']} places for questions taken")
    worse = sum(1 for state in health["tools"].values() if state in ("degraded", "unhealthy"))
    opened = sum(len(those) for those in health["breakers"].values())
    parts += [f"{worse} {'tool fares' if worse == 1 else 'tools fare'} badly"] if worse else []
    parts += [f"{opened} {'breaker is' if opened == 1 else 'breakers are'} open"] if opened else []
    faults = [f"{part}: {said}" for part, said in health["parts"].items() if said != "answers"]
    told_faults = "".join(f'<p class="bad">{told(fault)}</p>' for fault in faults)
    line = f'{badge(Badge(kind, status))} <span>{" · ".join(parts)}</span> <a href="{SYSTEM}">Details</a>'
    return f'<p class="strip">{line}</p>{told_faults}'


def now_section(runs: Sequence[Now], has_more: bool, now_ms: int) -> str:
    """Return the runs under way, each with its stage and its visits of stages against the bound."""
    if not runs:
        return '<p class="dim">Nothing runs now.</p>'
    items = "".join(_now_item(each, now_ms) for each in runs)
    rest = "<p>More runs under way are in the list below.</p>" if has_more else ""
    return f'<ul class="cards">{items}</ul>{rest}'


def _now_item(run: Now, now_ms: int) -> str:
    envelope = run.envelope
    active = [name for name, status in envelope.stages.items() if status in ("active", "asking")]
    stage = ", ".join(active) or envelope.current_stage or "not begun"
    hops, limit = envelope.usage.agent_hops, envelope.bounds.max_agent_hops
    shown = badge(envelope_badge(envelope))
    meter = f'<meter min="0" max="{max(limit, 1)}" value="{min(hops, limit)}" aria-label="visits of stages"></meter>'
    return (
        f'<li class="card" id="now-{line_of(envelope.run_id)}">{shown} '
        f'<a href="{run_address(envelope.run_id)}" dir="auto">'
        f"{told(run.question or envelope.run_id)}</a>"
        f'<p class="dim">{told(stage)} · {hops} of {limit} visits {meter} · '
        f"for {span(now_ms - envelope.received_at_ms)}</p></li>"
    )


def ask_form(asked: Asked, frame: Frame) -> str:
    """Return the form that starts a question; sent twice it starts one run."""
    options = "".join(f"<option>{line_of(name)}</option>" for name in asked.repositories)
    pipelines = "".join(f"<option>{line_of(name)}</option>" for name in asked.pipelines)
    return (
        f'<section aria-labelledby="ask-title"><h2 id="ask-title">Ask</h2>'
        f'<form method="post" action="{ASK}" class="stack">{form_token_field(frame)}'
        f'<input type="hidden" name="key" value="{secrets.token_hex(8)}">'
        '<label for="question">Question</label>'
        '<textarea id="question" name="question" rows="2" required dir="auto"'
        f' maxlength="{asked.max_chars}"></textarea>'
        f'<div class="row"><label>Repository <select name="repo">{options}</select></label>'
        f'<label>Pipeline <select name="pipeline">{pipelines}</select></label>'
        f'<label>Session <input name="session" maxlength="{MAX_SESSION_ID_CHARS}" size="14" placeholder="none"'
        ' autocomplete="off"></label>'
        '<label class="check"><input type="checkbox" name="wait" value="yes" checked> wait if it has a question</label>'
        "<button>Ask</button></div></form></section>"
    )


def list_section(table: str, wanted: Wanted, frame: Frame) -> str:
    """Return the list of runs with its filter and the way to the next page."""
    return (
        f'<section aria-labelledby="runs-title"><h2 id="runs-title">Runs</h2>{_filter(wanted, frame)}'
        f'<div id="list">{table}</div></section>'
    )


def list_digest(table: str) -> str:
    """Return what tells the stream of a page which list the page was loaded with."""
    return content_hash(table.encode())[:16]


def run_table(rows: Sequence[Row], wanted: Wanted) -> str:
    """Return the table of runs, and the link to the next page."""
    if not rows:
        return '<p class="dim" id="no-runs">There are no such runs.</p>'
    heads = ["State", "Question", "Began", "Took", "Pipeline", *(["Caller"] if wanted.everybody else [])]
    cells = "".join(f'<th scope="col" class="{name.lower()}">{name}</th>' for name in heads)
    body = "".join(row_of(row, wanted.everybody) for row in rows)
    return (
        f'<table class="runs"><caption class="hidden">Runs, the newest first</caption><thead><tr>{cells}</tr></thead>'
        f'<tbody id="rows">{body}</tbody></table><p id="{EARLIER}">{earlier_link(rows, wanted)}</p>'
    )


def earlier_link(rows: Sequence[Row], wanted: Wanted) -> str:
    """Return the link to the runs before those of a full list; empty for one that is not full."""
    following = page_after([row.run for row in rows], wanted.limit)
    if not following:
        return ""
    query = {**list_query(wanted), "before": following}
    return f'<a rel="next" href="{line_of(with_query(DASHBOARD, **query))}">Earlier runs</a>'


def row_of(row: Row, with_caller: bool) -> str:
    """Return the row of a run."""
    run = row.run
    question = told(row.question) if row.question else f"<code>{line_of(run.run_id)}</code>"
    caller = f'<td class="caller">{told(run.user_id)}</td>' if with_caller else ""
    took = span(run.last_at_ms - run.started_at_ms) if run.finished else ""
    return (
        f'<tr id="{row_id(run)}"><td class="state">{badge(summary_badge(run))}</td>'
        f'<td class="question"><a href="{run_address(run.run_id)}" dir="auto">{question}</a></td>'
        f'<td class="began">{instant(run.started_at_ms)}</td><td class="took number">{took}</td>'
        f'<td class="pipeline">{told(run.pipeline)}</td>{caller}</tr>'
    )


def row_id(run: RunSummary) -> str:
    """Return the id of the row of a run."""
    return f"row-{line_of(run.run_id)}"


def list_query(wanted: Wanted) -> dict[str, object]:
    """Return the fields of the query that a list has beside its place; those with their default are left out."""
    return {
        "state": wanted.state if wanted.state != "all" else None,
        "callers": "all" if wanted.everybody else None,
        "limit": wanted.limit if wanted.limit != ROWS else None,
    }


def _filter(wanted: Wanted, frame: Frame) -> str:
    states = "".join(_option(name, _STATE_NAMES[name], wanted.state) for name in STATES)
    limits = "".join(_option(str(size), str(size), str(wanted.limit)) for size in _sizes(wanted.limit))
    callers = ""
    if frame.may("operate"):
        chosen = "all" if wanted.everybody else "own"
        options = _option("own", "my own", chosen) + _option("all", "all callers", chosen)
        callers = f'<label>Of <select name="callers">{options}</select></label>'
    return (
        f'<div class="row"><form method="get" action="{DASHBOARD}" class="row">'
        f'<label>State <select name="state">{states}</select></label>{callers}'
        f'<label>At most <select name="limit">{limits}</select></label><button class="quiet">Show</button></form>'
        f'<form method="get" action="{OPEN}" class="row"><label>Run <input name="run" required maxlength="100"'
        ' size="16" placeholder="its id" autocomplete="off" spellcheck="false"></label>'
        '<button class="quiet">Open</button></form></div>'
    )


def _sizes(limit: int) -> Iterator[int]:
    yield from sorted({ROWS, 200, MAX_ROWS, limit})


def _option(value: str, name: str, chosen: str) -> str:
    return f'<option value="{line_of(value)}"{" selected" if value == chosen else ""}>{line_of(name)}</option>'


def instant(at_ms: int) -> str:
    """Return an instant to the second, for people and for programs."""
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    return f'<time datetime="{at:%Y-%m-%dT%H:%M:%SZ}"><span class="day">{at:%Y-%m-%d}</span> {at:%H:%M:%S}</time>'
