"""Renders one run as a page that stands alone: the answer beside its code, then how it came about.

The page has no script and loads nothing; links lead to places of the page alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from runtime.pipeline.config import PipelineConfig
from runtime.run.envelope import Envelope
from runtime.supervision.replay import Reason
from serve.cited_code import Code
from serve.pipeline_picture import picture_of, pipeline_svg
from serve.run_fragments import answer_section, bounds_section, decision_items, line_of, stages_section, state_lines

# Beyond these a page would be slow to open; the log has the rest.
MAX_STAGES = 500
MAX_DECISIONS = 1_000

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
.answer p { margin: .5rem 0; white-space: pre-wrap; }
.code [data-line]::before { content: attr(data-line); display: inline-block; min-width: 2.5em; margin-right: 1em;
  text-align: right; color: var(--dim); user-select: none; }
.beside { display: grid; gap: 1.5rem; } @media (min-width: 60rem) { .beside { grid-template-columns: 1fr 1fr; } }
.beside > * { min-width: 0; } .cited { padding-left: 1.5rem; } .cited li:target { background: var(--lit); }
.scrolls { overflow-x: auto; } table { border-collapse: collapse; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; vertical-align: top; border-bottom: 1px solid var(--soft); }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.way { width: 16rem; min-width: 8rem; vertical-align: middle; }
.went { fill: var(--bar); } rect.failed { fill: var(--bad); } meter { width: 10rem; }
.stages { container-type: inline-size; }
@container (max-width: 34rem) {
  .stages table, .stages tbody { display: block; width: 100%; }
  .stages thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .stages tbody tr { display: flex; flex-wrap: wrap; gap: 0 1rem; padding: .4rem 0;
    border-bottom: 1px solid var(--soft); }
  .stages tbody td { padding: 0; border: 0; text-align: left; min-width: 0; overflow-wrap: anywhere; }
  .stages td[data-head]::before { content: attr(data-head) " "; content: attr(data-head) " " / ""; color: var(--dim); }
  .stages td[data-head="stage"] { flex: 1; }
  .stages td[data-head="result"], .stages td.way { flex: 1 1 100%; width: auto; }
}
.picture svg { display: block; max-width: none; } .picture.down { display: none; }
.stage rect { fill: var(--back); stroke: var(--line); stroke-width: 1.5; }
.stage text { text-anchor: middle; fill: var(--text); font: 600 .82rem system-ui, sans-serif; }
.stage .words { font-weight: 400; font-size: .72rem; fill: var(--dim); }
.stage.unreached rect { stroke-dasharray: 4 3; } .stage.unreached .name { fill: var(--dim); font-weight: 400; }
.stage.success rect, .stage.active rect, .stage.asking rect { fill: var(--soft); stroke: var(--bar); stroke-width: 2; }
.stage.failed rect, .stage.handled rect, .stage.cancelled rect { stroke: var(--bad); stroke-width: 2; }
.way path { fill: none; stroke: var(--line); stroke-width: 1.5; stroke-dasharray: 4 3; }
.way path.head { stroke-dasharray: none; }
.way.taken path { stroke: var(--bar); stroke-width: 2; stroke-dasharray: none; }
.way .times { text-anchor: middle; font: .75rem system-ui, sans-serif; fill: var(--text); }
@media (max-width: 46rem) { meter { width: 3rem; } .picture.along { display: none; }
  .picture.down { display: block; } .picture.down svg { height: auto; max-width: min(100%, 22rem); } }
"""


class RunRecord(NamedTuple):
    """Holds what the page of a run shows.

    `document`: its answer document; `reasons`: the decisions behind it; `rules`: what its pipeline was; `code`: the
    lines that its citations name.
    """

    envelope: Envelope
    document: Mapping[str, Any]
    reasons: Sequence[Reason]
    rules: PipelineConfig
    code: Code = MappingProxyType({})


def run_page(run: RunRecord) -> str:
    """Return the page of a run."""
    envelope, document, reasons = run.envelope, run.document, run.reasons
    title = line_of(str(document["question"]))
    more = len(envelope.history) - MAX_STAGES
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            f"<title>{title}</title><style>{_STYLE}</style></head><body>",
            f'<header><h1 dir="auto">{title}</h1>{state_lines(envelope, document)}</header><main>',
            *answer_section(document, run.code),
            *bounds_section(envelope),
            f"<section><h2>Pipeline</h2>{pipeline_svg(picture_of(run.rules, envelope))}</section>",
            *stages_section(
                envelope,
                envelope.history[-MAX_STAGES:],
                f"{more} earlier visits are not shown; <code>jeeves runs log</code> has all." if more > 0 else "",
            ),
            *_decisions(reasons),
            "</main></body></html>\n",
        ]
    )


def _decisions(reasons: Sequence[Reason]) -> Iterator[str]:
    yield f"<section><h2>Decisions</h2><details><summary>{len(reasons)} decisions, and why</summary><ol>"
    yield from decision_items(reasons[:MAX_DECISIONS])
    more = len(reasons) - MAX_DECISIONS
    yield f"</ol>{f'<p>{more} more; <code>jeeves runs why</code> has all.</p>' if more > 0 else ''}</details></section>"
