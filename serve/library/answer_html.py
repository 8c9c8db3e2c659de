"""Renders answers as HTML for notebooks.

Repositories are hostile: every text is escaped, hidden characters are made visible, and there is neither a link nor a
script nor anything that is loaded.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from runtime.primitives.visible_text import visible, visible_line

if TYPE_CHECKING:
    from serve.library.results import Answer, Citation

_MARKED = "background:#fff3bf;color:#1a1a1a;border-radius:3px;padding:0 2px"
_PRE = "white-space:pre-wrap;overflow-wrap:anywhere;margin:0.3em 0"


def html_of(answer: Answer) -> str:
    """Return question, answer with its citations highlighted, and the cited lines, as one HTML element."""
    told = [f"<p><strong>{_line(answer.question)}</strong></p>", _text_of(answer), _state_of(answer)]
    places = "".join(_citation(each) for each in answer.citations)
    listed = f"<details><summary>{len(answer.citations)} citations</summary><ol>{places}</ol></details>"
    return f'<div class="jeeves-answer">{"".join(told)}{listed if answer.citations else ""}</div>'


def _text_of(answer: Answer) -> str:
    marks = sorted({f"[{each.place}]" for each in answer.citations}, key=len, reverse=True)
    # Split by a pattern with one group: the marks are the pieces at odd places.
    pieces = re.split(f"({'|'.join(map(re.escape, marks))})", answer.text) if marks else [answer.text]
    parts = [
        f'<mark style="{_MARKED}">{_line(piece)}</mark>' if at % 2 else _text(piece) for at, piece in enumerate(pieces)
    ]
    return f'<div style="{_PRE}">{"".join(parts)}</div>'


def _state_of(answer: Answer) -> str:
    told = [answer.outcome.replace("_", " ")]
    if answer.confidence is not None:
        told.append(f"confidence {answer.confidence:.2f}")
    if answer.interrupt is not None:
        told.append(f"waits for: {answer.interrupt.question}")
    told.append(f"run {answer.run_id}")
    return f"<p><small>{_line(' · '.join(told))}</small></p>"


def _citation(citation: Citation) -> str:
    named = f" in <code>{_line(citation.symbol)}</code>" if citation.symbol else ""
    why = f" – {_line(citation.why)}" if citation.why else ""
    quote = f'<pre style="{_PRE}">{_text(citation.quote)}</pre>' if citation.quote else ""
    return f"<li><code>{_line(str(citation))}</code>{named}{why}{quote}</li>"


def _text(text: str) -> str:
    return escape(visible(text))


def _line(text: str) -> str:
    return escape(visible_line(text))
