"""Renders one run as a page that stands alone: answer beside cited code, bounds, stages, decisions.

The page has no script and loads nothing. Repositories, questions and models are hostile: every text is escaped, and
hidden characters are made visible; links lead to places of the page alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any

from runtime.primitives.visible_text import visible, visible_line
from runtime.run.envelope import Envelope, HistoryRecord
from runtime.supervision.replay import Reason

# Beyond these a page would be slow to open; the log has the rest.
MAX_STAGES = 500
MAX_DECISIONS = 1_000

_FENCE = re.compile(r"^(`{3,}|~{3,})")
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_STRONG = re.compile(r"\*\*([^*]+)\*\*")

_STYLE = """
:root { color-scheme: light dark; --text: #1b1f24; --back: #fff; --soft: #f3f5f7; --line: #8c959f; --dim: #57606a;
  --mark: #0757ba; --bad: #a40e26; --bar: #2f6fd0; --lit: #fff3bf; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --back: #0d1117; --soft: #161b22; --line: #6e7681;
  --dim: #9da7b1; --mark: #79b8ff; --bad: #ff8e8e; --bar: #58a6ff; --lit: #4a3b00; } }
body { margin: 0 auto; max-width: 80rem; padding: 1rem; color: var(--text); background: var(--back);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
a { color: var(--mark); } .dim { color: var(--dim); } .bad { color: var(--bad); }
code, pre { font: .875rem/1.45 ui-monospace, monospace; }
pre { background: var(--soft); padding: .6rem; border-radius: .3rem; overflow-x: auto; margin: .4rem 0; }
.answer p { margin: .5rem 0; }
.beside { display: grid; gap: 1.5rem; } @media (min-width: 60rem) { .beside { grid-template-columns: 1fr 1fr; } }
.beside > * { min-width: 0; } .cited { padding-left: 1.5rem; } .cited li:target { background: var(--lit); }
.scrolls { overflow-x: auto; } table { border-collapse: collapse; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; vertical-align: top; border-bottom: 1px solid var(--soft); }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.way { width: 16rem; min-width: 8rem; vertical-align: middle; }
.way div { background: var(--bar); height: .7rem; border-radius: .2rem; min-width: 2px; }
.way .failed { background: var(--bad); } meter { width: 10rem; }
"""


def run_page(envelope: Envelope, document: Mapping[str, Any], reasons: Sequence[Reason]) -> str:
    """Return the page of a run; `document` is its answer document, `reasons` the decisions behind it."""
    title = _line(str(document["question"]))
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            f"<title>{title}</title><style>{_STYLE}</style></head><body>",
            f"<header><h1>{title}</h1>{_state(envelope, document)}</header><main>",
            *_answer(document),
            *_bounds(envelope),
            *_stages(envelope),
            *_decisions(reasons),
            "</main></body></html>\n",
        ]
    )


def _state(envelope: Envelope, document: Mapping[str, Any]) -> str:
    ended = str(document["terminal_reason"] or envelope.lifecycle).replace("_", " ")
    told = [ended, str(document.get("status") or "").replace("_", " ")]
    if document.get("confidence") is not None:
        told.append(f"confidence {float(document['confidence']):.2f}")
    told += [f"asked {_time(envelope.received_at_ms)} UTC", f"took {document['usage']['duration_ms']} ms"]
    told += [f"reasoner {document['reasoner']}", f"repository {document['repo']}"]
    told += [f"commit {document['commit'][:12]}"] if document.get("commit") else []
    told += [f"run {envelope.run_id}", f"pipeline {envelope.request.pipeline}"]
    lines = [f'<p class="dim">{_line(" · ".join(part for part in told if part))}</p>']
    if document.get("terminal_detail"):
        lines.append(f"<p>{_line(str(document['terminal_detail']))}</p>")
    if "interrupt" in document:
        lines.append(f"<p><strong>It waits for an answer: {_line(str(document['interrupt']['question']))}</strong></p>")
    return "".join(lines)


def _answer(document: Mapping[str, Any]) -> Iterator[str]:
    places = {_mark(each): number for number, each in enumerate(document["citations"], 1)}
    yield '<div class="beside"><section><h2>Answer</h2><div class="answer">'
    yield from _blocks(visible(str(document["answer"])), places)
    yield "</div></section>"
    if document["citations"]:
        yield '<section><h2>Cited</h2><ol class="cited">'
        yield from (_citation(number, each) for number, each in enumerate(document["citations"], 1))
        yield "</ol></section>"
    yield "</div>"


def _citation(number: int, citation: Mapping[str, Any]) -> str:
    named = f" in <code>{_line(str(citation['symbol']))}</code>" if citation.get("symbol") else ""
    why = f' <span class="dim">{_line(str(citation["why"]))}</span>' if citation.get("why") else ""
    quote = _pre(visible(str(citation["quote"]))) if citation.get("quote") else ""
    return f'<li id="c{number}"><code>{escape(_mark(citation)[1:-1])}</code>{named}{why}{quote}</li>'


def _mark(citation: Mapping[str, Any]) -> str:
    first, last = citation["start_line"], citation["end_line"]
    lines = f"{first}" if first == last else f"{first}-{last}"
    return f"[{visible_line(str(citation['file']))}:{lines}]"


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
        elif line.strip():
            yield f"<p>{_inline(line, places)}</p>"
    if fence:
        yield _pre("\n".join(code))


def _inline(line: str, places: Mapping[str, int]) -> str:
    """Return a line with its citations as links to the cited code, and code and emphasis as such."""
    marks = sorted(places, key=len, reverse=True)
    # Split by a pattern with one group: the marks are the pieces at odd places.
    pieces = re.split(f"({'|'.join(map(re.escape, marks))})", line) if marks else [line]
    told = []
    for at, piece in enumerate(pieces):
        if at % 2:
            told.append(f'<a href="#c{places[piece]}">{escape(piece)}</a>')
        else:
            styled = _STRONG.sub(r"<strong>\1</strong>", _CODE.sub(r"<code>\1</code>", escape(piece)))
            told.append(f"• {styled[2:]}" if at == 0 and styled.startswith("- ") else styled)
    return "".join(told)


def _bounds(envelope: Envelope) -> Iterator[str]:
    bounds, used = envelope.bounds, envelope.usage
    tokens = used.tokens_in + used.tokens_out
    rows = (
        ("stage visits", used.agent_hops, bounds.max_agent_hops),
        ("iterations", used.iterations, bounds.max_iterations),
        ("tool calls", used.tool_calls, bounds.max_tool_calls),
        ("model calls", used.llm_calls, bounds.max_llm_calls),
        ("tokens", tokens, bounds.max_tokens),
    )
    yield _table_head("Bounds", ("bound", "used", "of", "share"))
    for name, spent, limit in rows:
        meter = f'<meter min="0" max="{limit}" value="{min(spent, limit)}">{spent} of {limit}</meter>' if limit else ""
        of = "no limit" if limit is None else str(limit)
        yield f'<tr><td>{name}</td><td class="number">{spent}</td><td class="number">{of}</td><td>{meter}</td></tr>'
    yield "</tbody></table></div></section>"


def _table_head(title: str, names: Sequence[str]) -> str:
    cells = "".join(f'<th scope="col">{name}</th>' for name in names)
    opened = f'<section><h2>{title}</h2><div class="scrolls" tabindex="0" role="region" aria-label="{title}">'
    return f"{opened}<table><thead><tr>{cells}</tr></thead><tbody>"


def _stages(envelope: Envelope) -> Iterator[str]:
    shown = envelope.history[:MAX_STAGES]
    ends = [record.started_at_ms + record.duration_ms for record in shown]
    span_ms = max(max(ends, default=0) - envelope.received_at_ms, 1)
    yield _table_head("Stages", ("visit", "stage", "result", "ms", "tools", "model", "when"))
    yield from (_stage(record, envelope.received_at_ms, span_ms) for record in shown)
    yield "</tbody></table></div>"
    if len(envelope.history) > MAX_STAGES:
        yield f"<p>{len(envelope.history) - MAX_STAGES} more; <code>jeeves runs log</code> has all.</p>"
    yield "</section>"


def _stage(record: HistoryRecord, begin_ms: int, span_ms: int) -> str:
    failed = record.status != "success"
    start = min(max(100 * (record.started_at_ms - begin_ms) / span_ms, 0), 100)
    width = min(100 * record.duration_ms / span_ms, 100 - start)
    bar = f'<div{" class=failed" if failed else ""} style="margin-left:{start:.2f}%;width:{width:.2f}%"></div>'
    retry = f" (attempt {record.attempt})" if record.attempt > 1 else ""
    error = f' <span class="bad">{_line(record.error)}</span>' if record.error else ""
    numbers = (record.duration_ms, record.tool_calls, record.llm_calls)
    cells = "".join(f'<td class="number">{number}</td>' for number in numbers)
    told = f"<td>{_line(record.stage)}{retry}</td><td>{_line(record.status)}{error}</td>"
    return f'<tr><td class="number">{record.hop}</td>{told}{cells}<td class="way" aria-hidden="true">{bar}</td></tr>'


def _decisions(reasons: Sequence[Reason]) -> Iterator[str]:
    yield f"<section><h2>Decisions</h2><details><summary>{len(reasons)} decisions, and why</summary><ol>"
    for reason in reasons[:MAX_DECISIONS]:
        when = f'<span class="dim">{_time(reason.at_ms)}</span>'
        yield f'<li value="{reason.seq}">{when} {_line(reason.why)}<br>→ {_line(reason.what)}</li>'
    more = len(reasons) - MAX_DECISIONS
    yield f"</ol>{f'<p>{more} more; <code>jeeves runs why</code> has all.</p>' if more > 0 else ''}</details></section>"


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def _pre(text: str) -> str:
    """Return code that is visible already; whoever has no pointer scrolls it by keys."""
    return f'<pre tabindex="0">{escape(text)}</pre>'


def _line(text: str) -> str:
    return escape(visible_line(text))
