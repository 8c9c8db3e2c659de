"""Renders the parts of a run's page: state, answer beside cited code, bounds, stages, decisions.

Repositories, questions and models are hostile: every text is escaped, hidden characters are made visible, and what is
written from right to left stays within its place. No part has a script, a style or an address of elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any

from runtime.primitives.visible_text import visible, visible_line
from runtime.run.envelope import Envelope, HistoryRecord
from runtime.supervision.replay import Reason
from serve.cited_code import Code, mark_of

_FENCE = re.compile(r"^(`{3,}|~{3,})")
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
# Stands for code while emphasis is looked for; no visible text has it.
_HELD = "\x00"
_STRONG = re.compile(r"\*\*([^*]+)\*\*")


def state_lines(envelope: Envelope, document: Mapping[str, Any]) -> str:
    """Return how a run fares, in a line or three: its end, times, repository and names."""
    ended = str(document["terminal_reason"] or envelope.lifecycle).replace("_", " ")
    parts = [ended, str(document.get("status") or "").replace("_", " ")]
    if document.get("confidence") is not None:
        parts.append(f"confidence {float(document['confidence']):.2f}")
    parts += [f"asked {shown_time(envelope.received_at_ms)} UTC", f"took {document['usage']['duration_ms']} ms"]
    parts += [f"reasoner {document['reasoner']}", f"repository {document['repo']}"]
    parts += [f"commit {document['commit'][:12]}"] if document.get("commit") else []
    parts += [f"run {envelope.run_id}", f"pipeline {envelope.request.pipeline}"]
    lines = [f'<p class="dim">{" · ".join(told(part) for part in parts if part)}</p>']
    if document.get("terminal_detail"):
        lines.append(f"<p>{told(str(document['terminal_detail']))}</p>")
    if "interrupt" in document:
        lines.append(f"<p><strong>It waits for an answer: {told(str(document['interrupt']['question']))}</strong></p>")
    return "".join(lines)


def answer_section(document: Mapping[str, Any], code: Code, title: str = "Answer") -> Iterator[str]:
    """Yield the answer, and beside it the code that it cites; its marks lead there.

    `code`: the lines of citations; of one that is not in it only the quote is shown.
    """
    places = {_mark(each): number for number, each in enumerate(document["citations"], 1)}
    yield f'<div class="beside"><section><h2>{title}</h2><div class="answer">'
    yield from _blocks(visible(str(document["answer"])), places)
    yield "</div></section>"
    if document["citations"]:
        yield '<section><h2>Cited</h2><ol class="cited">'
        for number, each in enumerate(document["citations"], 1):
            yield _citation(number, each, code.get(mark_of(each), ()))
        yield "</ol></section>"
    yield "</div>"


def _citation(number: int, citation: Mapping[str, Any], lines: Sequence[tuple[int, str]]) -> str:
    named = f" in <code>{told(str(citation['symbol']))}</code>" if citation.get("symbol") else ""
    why = f' <span class="dim">{told(str(citation["why"]))}</span>' if citation.get("why") else ""
    quote = _numbered(lines) if lines else _pre(visible(str(citation["quote"]))) if citation.get("quote") else ""
    return f'<li id="c{number}"><code><bdi>{escape(_mark(citation)[1:-1])}</bdi></code>{named}{why}{quote}</li>'


def _numbered(lines: Sequence[tuple[int, str]]) -> str:
    """Return lines of code with their numbers, which no copy takes along."""
    items = "".join(f'<span data-line="{number}">{escape(visible(line))}\n</span>' for number, line in lines)
    return f'<pre class="code" tabindex="0" dir="ltr">{items}</pre>'


def _mark(citation: Mapping[str, Any]) -> str:
    return visible_line(mark_of(citation))


def _blocks(text: str, places: Mapping[str, int]) -> Iterator[str]:
    """Yield the blocks of an answer: fenced code, items of lists, and paragraphs."""
    code: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence and line.strip() == fence:
            yield _pre("\n".join(code))
            code, fence = [], ""
        elif fence:
            code.append(line)
        elif mark is not None:
            fence = mark[0]
            if about := line.removeprefix(fence).strip():
                yield f'<p class="dim">{told(about)}</p>'
        elif line.strip():
            yield f'<p dir="auto">{_inline(line, places)}</p>'
    if fence:
        yield _pre("\n".join(code))


def _inline(line: str, places: Mapping[str, int]) -> str:
    """Return a line with its citations as links to the cited code, and code and emphasis as such."""
    marks = sorted(places, key=len, reverse=True)
    # Split by a pattern with one group: the marks are the pieces at odd places.
    pieces = re.split(f"({'|'.join(map(re.escape, marks))})", line) if marks else [line]
    styled_pieces = []
    for at, piece in enumerate(pieces):
        if at % 2:
            styled_pieces.append(f'<a href="#c{places[piece]}">{escape(piece)}</a>')
        else:
            styled = _styled(piece)
            styled_pieces.append(f"• {styled[2:]}" if at == 0 and styled.startswith("- ") else styled)
    return "".join(styled_pieces)


def _styled(text: str) -> str:
    """Return text with code and emphasis as such; what stands in code is no emphasis."""
    codes: list[str] = []

    def kept(found: re.Match[str]) -> str:
        codes.append(f"<code>{found[1]}</code>")
        return _HELD

    styled = _STRONG.sub(r"<strong>\1</strong>", _CODE.sub(kept, escape(text).replace(_HELD, "")))
    return re.sub(_HELD, lambda _: codes.pop(0), styled)


def bounds_section(envelope: Envelope, now_ms: int | None = None) -> Iterator[str]:
    """Yield the table of what a run has used of its bounds, of its time until `now_ms` if it is under way."""
    bounds, used = envelope.bounds, envelope.usage
    until_ms = envelope.finished_at_ms or now_ms or envelope.received_at_ms
    seconds = None if bounds.deadline_ms is None else (bounds.deadline_ms - envelope.received_at_ms + 500) // 1000
    tokens = used.tokens_in + used.tokens_out
    rows = (
        ("stage visits", used.agent_hops, bounds.max_agent_hops),
        ("iterations", used.iterations, bounds.max_iterations),
        ("tool calls", used.tool_calls, bounds.max_tool_calls),
        ("model calls", used.llm_calls, bounds.max_llm_calls),
        ("tokens", tokens, bounds.max_tokens),
        ("seconds", max(until_ms - envelope.received_at_ms, 0) // 1000, seconds),
    )
    yield table_head("Bounds", ("bound", "used", "of", "share"), ("used", "of"))
    for name, spent, limit in rows:
        meter = (
            f'<meter min="0" max="{limit}" value="{min(spent, limit)}" aria-label="{name}"></meter>' if limit else ""
        )
        of = "no limit" if limit is None else str(limit)
        yield f'<tr><td>{name}</td><td class="number">{spent}</td><td class="number">{of}</td><td>{meter}</td></tr>'
    yield "</tbody></table></div></section>"


def table_head(title: str, names: Sequence[str], numbers: Collection[str] = ()) -> str:
    """Return the beginning of a table's section, up to its body; `numbers`: which columns have numbers."""
    kinds = (' class="number"' if name in numbers else "" for name in names)
    cells = "".join(f'<th scope="col"{kind}>{name}</th>' for kind, name in zip(kinds, names, strict=True))
    opened = f'<section><h2>{title}</h2><div class="scrolls" tabindex="0" role="region" aria-label="{title}">'
    return f"{opened}<table><thead><tr>{cells}</tr></thead><tbody>"


# The roles keep it a table for screen readers where a narrow page lays its cells out as lines.
_STAGE_COLUMNS = ("visit", "stage", "result", "ms", "tools", "model", "when")
_STAGE_NUMBERS = ("visit", "ms", "tools", "model")
_STAGES_HEAD = (
    '<section><h2>Stages</h2><div class="scrolls stages" tabindex="0" role="region" aria-label="Stages">'
    '<table role="table"><thead role="rowgroup"><tr role="row">'
    + "".join(
        f'<th scope="col" role="columnheader"{" class=number" if name in _STAGE_NUMBERS else ""}>{name}</th>'
        for name in _STAGE_COLUMNS
    )
    + '</tr></thead><tbody role="rowgroup">'
)


def stages_section(envelope: Envelope, shown: Sequence[HistoryRecord], more: str = "") -> Iterator[str]:
    """Yield the table of some finished visits of stages, with when each of them was; `more` tells of the others."""
    ends = [record.started_at_ms + record.duration_ms for record in shown]
    span_ms = max(max(ends, default=0) - envelope.received_at_ms, 1)
    yield _STAGES_HEAD
    yield from (_stage(record, envelope.received_at_ms, span_ms) for record in shown)
    yield "</tbody></table></div>"
    if more:
        yield f"<p>{more}</p>"
    yield "</section>"


def _stage(record: HistoryRecord, begin_ms: int, span_ms: int) -> str:
    failed = record.status != "success"
    start = min(max(100 * (record.started_at_ms - begin_ms) / span_ms, 0), 100)
    width = min(100 * record.duration_ms / span_ms, 100 - start)
    # The smallest width can be seen, and is still within the row.
    seen = max(width, 0.8)
    place = f'x="{min(start, 100 - seen):.2f}%" width="{seen:.2f}%"'
    bar = f'<svg width="100%" height="12"><rect class="{"failed" if failed else "went"}" {place} height="12"/></svg>'
    retry = f" (attempt {record.attempt})" if record.attempt > 1 else ""
    error = f' <span class="bad">{told(record.error)}</span>' if record.error else ""
    told_cells = (
        str(record.hop),
        f"{told(record.stage)}{retry}",
        f"{told(record.status)}{error}",
        *map(str, (record.duration_ms, record.tool_calls, record.llm_calls)),
    )
    cells = "".join(
        f'<td role="cell" data-head="{name}"{" class=number" if name in _STAGE_NUMBERS else ""}>{cell}</td>'
        for name, cell in zip(_STAGE_COLUMNS, told_cells, strict=False)
    )
    return f'<tr role="row">{cells}<td class="way" aria-hidden="true">{bar}</td></tr>'


def decision_items(reasons: Sequence[Reason]) -> Iterator[str]:
    """Yield decisions as items of an ordered list: when, why, and what followed."""
    for reason in reasons:
        when = f'<span class="dim">{shown_time(reason.at_ms)}</span>'
        yield f'<li value="{reason.seq}">{when} {told(reason.why)}<br>→ {told(reason.what)}</li>'


def shown_time(at_ms: int) -> str:
    """Return an instant in UTC, to the millisecond."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def span(duration_ms: int) -> str:
    """Return a duration in two units at most."""
    seconds = max(duration_ms, 0) / 1000
    if seconds < 1:
        return f"{max(duration_ms, 0)} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def _pre(text: str) -> str:
    """Return code that is visible already; whoever has no pointer scrolls it by keys."""
    return f'<pre tabindex="0" dir="auto">{escape(text)}</pre>'


def line_of(text: str) -> str:
    """Return a text as one line that is no markup, its hidden characters made visible."""
    return escape(visible_line(text))


def told(text: str) -> str:
    """Return a text as `line_of`, kept from changing the direction of what stands around it."""
    return f"<bdi>{line_of(text)}</bdi>"
