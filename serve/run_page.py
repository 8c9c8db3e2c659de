"""Renders one run as a page that stands alone: answer beside cited code, bounds, stages, decisions.

The page has no script and loads nothing; links lead to places of the page alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runtime.run.envelope import Envelope
from runtime.supervision.replay import Reason
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
.answer p { margin: .5rem 0; }
.beside { display: grid; gap: 1.5rem; } @media (min-width: 60rem) { .beside { grid-template-columns: 1fr 1fr; } }
.beside > * { min-width: 0; } .cited { padding-left: 1.5rem; } .cited li:target { background: var(--lit); }
.scrolls { overflow-x: auto; } table { border-collapse: collapse; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; vertical-align: top; border-bottom: 1px solid var(--soft); }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.way { width: 16rem; min-width: 8rem; vertical-align: middle; }
.went { fill: var(--bar); } .failed { fill: var(--bad); } meter { width: 10rem; }
"""


def run_page(envelope: Envelope, document: Mapping[str, Any], reasons: Sequence[Reason]) -> str:
    """Return the page of a run; `document` is its answer document, `reasons` the decisions behind it."""
    title = line_of(str(document["question"]))
    more = len(envelope.history) - MAX_STAGES
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            f"<title>{title}</title><style>{_STYLE}</style></head><body>",
            f'<header><h1 dir="auto">{title}</h1>{state_lines(envelope, document)}</header><main>',
            *answer_section(document),
            *bounds_section(envelope),
            *stages_section(
                envelope,
                envelope.history[:MAX_STAGES],
                f"{more} more; <code>jeeves runs log</code> has all." if more > 0 else "",
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
