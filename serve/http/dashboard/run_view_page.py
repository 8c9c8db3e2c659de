"""Renders the page of a run as parts with ids, which the live stream replaces one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from runtime.pipeline.config import PipelineConfig
from runtime.run.envelope import Envelope
from runtime.supervision.replay import Reason
from serve.asked_runs import shortened
from serve.cited_code import Code
from serve.http.dashboard.addresses import DASHBOARD, run_address
from serve.http.dashboard.page_frame import Frame
from serve.http.dashboard.run_list_page import badge, envelope_badge, instant
from serve.http.dashboard.run_question import question_section, steering_form
from serve.pipeline_picture import picture_of, pipeline_svg
from serve.run_fragments import answer_section, bounds_section, decision_items, line_of, span, stages_section, told

# The newest visits of stages; the page of decisions has all.
MAX_STAGES = 100
DECISIONS = 200
# The part that stays where it is and only changes its text, so that screen readers tell of it.
SAID = "run-said"


class RunView(NamedTuple):
    """Holds what the page of a run shows. `document`: its answer document; `rules` None: they were not kept.

    `may_control`: the viewer may steer it, and this service drives it; `code`: the lines that its citations name;
    `session`: the name of its session, if it has one.
    """

    envelope: Envelope
    document: Mapping[str, Any]
    rules: PipelineConfig | None
    may_control: bool
    now_ms: int
    code: Code = MappingProxyType({})
    session: str = ""


def run_parts(view: RunView, frame: Frame) -> dict[str, str]:
    """Return the parts of the page by their ids."""
    return {
        SAID: _said(view.envelope),
        "run-state": _state(view),
        "run-question": question_section(view.envelope, view.code, frame, may_answer=view.may_control),
        "run-control": _control(view, frame),
        "run-picture": _picture(view),
        "run-answer": "".join(_answer(view)),
        "run-bounds": "".join(bounds_section(view.envelope, view.now_ms)),
        "run-stages": _stages(view),
    }


def run_content(view: RunView, parts: Mapping[str, str]) -> str:
    """Return the content of the page."""
    title = shortened(str(view.document["question"]), 2_000) or "Run"
    head = f'<p><a href="{DASHBOARD}">← Runs</a></p><h1 dir="auto">{told(title)}</h1>'
    said = f'<div id="{SAID}" class="hidden" role="status" aria-live="polite">{parts[SAID]}</div>'
    # Who opens a run that is over wants its answer; before, it is the picture that moves.
    leading = "run-answer" if view.envelope.lifecycle == "terminated" else "run-picture"
    names = sorted((name for name in parts if name != SAID), key=lambda name: _rank(name, leading))
    shown = "".join(f'<div id="{name}">{parts[name]}</div>' for name in names)
    return f'{head}{said}<div class="columns">{shown}</div>'


def _rank(name: str, leading: str) -> int:
    """Return the place of a part on the page, among parts of one rank in the order of `run_parts`."""
    return {"run-state": 0, "run-question": 0, "run-control": 0, leading: 1}.get(name, 2)


def _said(envelope: Envelope) -> str:
    """Return what a screen reader says when it changes: the state of the run, and the stage that it is in."""
    state = envelope_badge(envelope).words
    active = [name for name, status in envelope.stages.items() if status == "active"]
    return line_of(f"The run: {state}{', ' + ', '.join(active) if active else ''}")


def _state(view: RunView) -> str:
    envelope, document = view.envelope, view.document
    is_over = envelope.lifecycle == "terminated"
    shown = badge(envelope_badge(envelope))
    until_ms = envelope.finished_at_ms if is_over and envelope.finished_at_ms else view.now_ms
    facts = [
        ("Asked", instant(envelope.received_at_ms)),
        ("Took" if is_over else "For", span(until_ms - envelope.received_at_ms)),
        ("Repository", told(str(document["repo"]))),
        ("Commit", f"<code>{line_of(str(document['commit'])[:12])}</code>" if document.get("commit") else ""),
        ("Pipeline", told(envelope.request.pipeline)),
        ("Reasoner", told(str(document["reasoner"]))),
        ("Caller", told(envelope.request.user_id)),
        ("Session", told(view.session) if view.session else ""),
        ("Confidence", f"{float(document['confidence']):.2f}" if document.get("confidence") is not None else ""),
        ("Run", f"<code>{line_of(envelope.run_id)}</code>"),
    ]
    items = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts if value)
    detail = document.get("terminal_detail")
    said = f'<p class="notice" dir="auto">{told(str(detail))}</p>' if detail else ""
    return f'<p class="state-line">{shown}</p><dl class="facts">{items}</dl>{said}'


def _control(view: RunView, frame: Frame) -> str:
    """Return what steers a run that is not over; cancelling takes two steps."""
    lifecycle, run_id = view.envelope.lifecycle, view.envelope.run_id
    if not view.may_control or lifecycle == "terminated":
        return ""
    pause = ""
    if lifecycle == "running":
        pause = steering_form(run_address(run_id, "pause"), frame, '<button class="quiet">Pause</button>')
    fields = (
        '<label for="reason">Reason (optional)</label><input id="reason" name="reason" maxlength="4000" dir="auto">'
    )
    cancel = steering_form(
        run_address(run_id, "cancel"), frame, f'{fields}<button class="danger">Cancel this run</button>'
    )
    return (
        f'<div class="row control">{pause}<details class="menu" id="cancel-menu"><summary class="button quiet">Cancel…'
        f"</summary>{cancel}</details></div>"
    )


def _picture(view: RunView) -> str:
    if view.rules is None:
        return ""
    drawn = pipeline_svg(picture_of(view.rules, view.envelope))
    return f'<section aria-labelledby="picture-title"><h2 id="picture-title">Pipeline</h2>{drawn}</section>'


def _answer(view: RunView) -> Sequence[str]:
    if view.envelope.lifecycle == "terminated" or view.document["citations"]:
        return list(answer_section(view.document, view.code))
    return []


def _stages(view: RunView) -> str:
    history = view.envelope.history
    more = len(history) - MAX_STAGES
    if not history:
        return '<section><h2>Stages</h2><p class="dim">No visit of a stage has ended yet.</p></section>'
    decisions = f'<a href="{run_address(view.envelope.run_id, "decisions")}">Decisions</a> tell why it went this way.'
    earlier = f"{more} earlier visits are not shown. " if more > 0 else ""
    return "".join(stages_section(view.envelope, history[-MAX_STAGES:], earlier + decisions))


def decisions_content(run_id: str, question: str, reasons: Sequence[Reason], first: int) -> str:
    """Return a page of the decisions of a run, from the one numbered `first` of all."""
    shown = reasons[first : first + DECISIONS]
    ways = []
    if first > 0:
        back = run_address(run_id, "decisions", first=max(first - DECISIONS, 0) or None)
        ways.append(f'<a rel="prev" href="{line_of(back)}">Earlier</a>')
    if first + DECISIONS < len(reasons):
        on = run_address(run_id, "decisions", first=first + DECISIONS)
        ways.append(f'<a rel="next" href="{line_of(on)}">Later</a>')
    last = min(first + DECISIONS, len(reasons))
    count = f"Decisions {first + 1} to {last} of {len(reasons)}." if shown else "There are no decisions here."
    return (
        f'<p><a href="{run_address(run_id)}">← Run</a></p><h1>Decisions</h1><p dir="auto">{told(question)}</p>'
        f'<section><p class="dim">{count}</p><ol class="decisions">{"".join(decision_items(shown))}</ol>'
        f'<p class="row">{"".join(ways)}</p></section>'
    )
