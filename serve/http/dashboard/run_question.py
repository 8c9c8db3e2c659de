"""Renders the question that a run waits with: what it is about, and the form that answers it.

Of a review the texts that are to go out are shown as they would be read, beside the code that they cite, and can be
changed before they do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import quote

from runtime.primitives.visible_text import visible
from runtime.run.envelope import Envelope, Interrupt
from serve.cited_code import Code, mark_of
from serve.http.dashboard.addresses import run_address
from serve.http.dashboard.page_frame import Frame, form_token_field
from serve.http.dashboard.run_list_page import instant
from serve.run_fragments import answer_section, line_of, told

MAX_DATA_CHARS = 20_000
MAX_TEXT_CHARS = 100_000
# As a form sends it; a request may have more.
MAX_SENT_BYTES = 900_000
# Before the names of the fields of a form that are data of the answer.
DATA = "data."


def question_section(envelope: Envelope, code: Code, frame: Frame, *, may_answer: bool) -> str:
    """Return the section of the question that a run waits with; empty if there is none."""
    interrupt = envelope.interrupt
    if interrupt is None or envelope.lifecycle != "waiting":
        return ""
    message = f'<p dir="auto">{told(interrupt.message)}</p>' if interrupt.message else ""
    ends_ms = [each for each in (interrupt.expires_at_ms, envelope.bounds.deadline_ms) if each]
    until = f'<p class="dim">Until {instant(min(ends_ms))}.</p>' if ends_ms else ""
    form = _answer_form(envelope.run_id, interrupt, frame) if may_answer else ""
    title = "The run is paused" if interrupt.kind == "checkpoint" else "The run asks"
    about = "".join(_about(envelope, interrupt, code))
    return (
        f'<section class="asks" aria-labelledby="asks-title"><h2 id="asks-title">{title}</h2>'
        f'<p dir="auto"><strong>{told(interrupt.question)}</strong></p>{message}{about}{form}{until}</section>'
    )


def cited_in_review(envelope: Envelope) -> list[Mapping[str, Any]]:
    """Return the citations of stages' outputs whose marks stand in a text that is reviewed."""
    interrupt = envelope.interrupt
    texts = "\n".join(reviewed_texts(interrupt).values()) if interrupt is not None else ""
    found: dict[str, Mapping[str, Any]] = {}
    for each in _citations(envelope.outputs.values()) if texts else ():
        if mark_of(each) in texts:
            found.setdefault(mark_of(each), each)
    return list(found.values())


def reviewed_texts(interrupt: Interrupt) -> dict[str, str]:
    """Return name → text of what a reviewer may change; a very long one is left to other doors."""
    if interrupt.kind != "agent_review":
        return {}
    texts = ((name, text) for name, text in interrupt.data.items() if isinstance(text, str) and text.strip())
    return {name: text for name, text in texts if len(text) <= MAX_TEXT_CHARS and len(quote(text)) <= MAX_SENT_BYTES}


def changed_texts(interrupt: Interrupt | None, given: Mapping[str, str]) -> dict[str, str]:
    """Return those of the texts of a form that are not what the form showed."""
    shown = {} if interrupt is None else reviewed_texts(interrupt)
    return {name: text for name, text in given.items() if text != visible(shown.get(name, ""))}


def as_reviewed(interrupt: Interrupt | None, given: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of a form, lines that nobody touched with the hidden characters that the form made visible."""
    originals = {} if interrupt is None else reviewed_texts(interrupt)
    return {name: _restored(text, originals.get(name, "")) for name, text in given.items()}


def _restored(text: str, original: str) -> str:
    lines = {visible(line): line for line in original.replace("\r\n", "\n").split("\n")}
    return "\n".join(lines.get(line, line) for line in text.split("\n"))


def _citations(outputs: Iterator[Any] | Any) -> Iterator[Mapping[str, Any]]:
    for output in outputs:
        listed = output.get("citations") if isinstance(output, Mapping) else None
        for each in listed if isinstance(listed, Sequence) else ():
            is_place = isinstance(each, Mapping) and isinstance(each.get("file"), str)
            if is_place and all(isinstance(each.get(name), int) for name in ("start_line", "end_line")):
                yield each


def _about(envelope: Envelope, interrupt: Interrupt, code: Code) -> Iterator[str]:
    texts, citations = reviewed_texts(interrupt), cited_in_review(envelope)
    for text in texts.values():
        cited = [each for each in citations if mark_of(each) in text]
        yield from answer_section({"answer": text, "citations": cited}, code, title="To go out")
    rest = {name: value for name, value in interrupt.data.items() if name not in texts}
    if rest:
        whole = json.dumps(rest, ensure_ascii=False, indent=2, sort_keys=True)
        shown = whole[:MAX_DATA_CHARS]
        if len(shown) < len(whole):
            command = f"<code>jeeves runs show {line_of(envelope.run_id)}</code>"
            yield f'<p class="notice bad">{len(shown)} of {len(whole)} characters are shown; {command} has all.</p>'
        yield '<details id="asks-data"><summary>What it is about</summary>'
        yield f'<pre tabindex="0">{line_breaks_kept(shown)}</pre></details>'


def line_breaks_kept(text: str) -> str:
    """Return a text of several lines as no markup, its hidden characters made visible."""
    return escape(visible(text))


def _answer_form(run_id: str, interrupt: Interrupt, frame: Frame) -> str:
    if interrupt.kind == "checkpoint":
        return steering_form(run_address(run_id, "resume"), frame, "<button>Resume</button>")
    is_needed = interrupt.kind == "clarification"
    name = "Answer" if is_needed else "Remark (optional)"
    fields = (
        f'<input type="hidden" name="interrupt" value="{line_of(interrupt.id)}"><label for="text">{name}</label>'
        f'<textarea id="text" name="text" rows="2" dir="auto"{" required" if is_needed else ""}></textarea>'
    )
    if is_needed:
        buttons = "<button>Answer</button>"
    elif interrupt.kind == "agent_review":
        texts = reviewed_texts(interrupt)
        fields += "".join(_changeable(number, name, text) for number, (name, text) in enumerate(texts.items()))
        names = [("approve", "Approve"), *([("modify", "Approve as changed")] if texts else []), ("reject", "Reject")]
        buttons = "".join(f'<button name="decision" value="{value}">{label}</button>' for value, label in names)
    else:
        buttons = '<button name="approved" value="yes">Yes</button><button name="approved" value="no">No</button>'
    return steering_form(run_address(run_id, "answer"), frame, f'{fields}<div class="row">{buttons}</div>')


def _changeable(number: int, name: str, text: str) -> str:
    """Return a field with a text that may be changed, closed until somebody wants to."""
    field = f"asks-text-{number}"
    # A line feed right behind the tag is no part of the text.
    opened = f'<textarea id="{field}" name="{DATA}{line_of(name)}" rows="12" dir="auto">\n'
    return (
        f'<details id="{field}-menu"><summary>Change the text</summary><label for="{field}">{told(name)}</label>'
        f"{opened}{line_breaks_kept(text)}</textarea></details>"
    )


def steering_form(action: str, frame: Frame, content: str) -> str:
    """Return a form of ours that is sent to an address of a run."""
    return f'<form method="post" action="{action}" class="stack">{form_token_field(frame)}{content}</form>'
