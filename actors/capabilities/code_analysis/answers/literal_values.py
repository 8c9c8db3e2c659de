"""Words the literals of the leading place that tell a value which the question asks for.

Each sentence says no more than its lines do: a comparison, a loop and a stated default are told as what they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from actors.capabilities.code_analysis.evidence.claims import Claim, code_span, may_be_quoted
from actors.capabilities.code_analysis.evidence.values import LiteralNote
from runtime.codebase.citation import Citation
from runtime.codebase.search.values.literal_forms import LiteralForm

MAX_QUOTED_CHARS = 120

_WORDING: Mapping[LiteralForm, str] = {
    "entry": "{subject} is {value}",
    "constant": "{subject} is {value}",
    "binding": "{subject} is set to {value}",
    "argument": "{subject} is given {value}",
    "keyword": "{subject} is given {value}",
    "default": "{subject} is {value} by default",
    "fallback": "{subject} falls back to {value}",
    "returned": "what is returned here is {value}",
    "test": "it is tested whether {subject}",
    "loop": "the loop runs only while {subject}",
    "repeat": "the loop is over {subject}",
    "most": "{subject} is at most {value}",
    "least": "{subject} is at least {value}",
    "documented": "documented default: {value}",
}


def literal_claims(notes: Sequence[LiteralNote], lead: Claim, told: Sequence[Claim]) -> list[Claim]:
    """Return what the literals of the leading place tell, each once, but those in lines that were told as values.

    One that answers by itself comes ahead of the lead, unless another value does. A line that the lead does not show
    is quoted.
    """
    known = [citation for claim in told for citation in claim.citations]
    kept = [
        note for note in notes if may_be_quoted(note.text) and not any(_overlap(note.citation, one) for one in known)
    ]
    is_first = not any(claim.role == "value" for claim in told)
    claims = {_worded(note, lead.code): note for note in kept}
    return [
        Claim("value" if note.leads and is_first else "point", text, (note.citation,), quotes=_quotes(text, note))
        for text, note in claims.items()
    ]


def _worded(note: LiteralNote, shown: str) -> str:
    said = _WORDING[note.form].format(subject=code_span(note.subject), value=code_span(note.value))
    said = said[:1].upper() + said[1:]
    is_shown = any(line.strip() == note.text for line in shown.split("\n"))
    return said if is_shown or len(note.text) > MAX_QUOTED_CHARS else f"{said}: {code_span(note.text)}"


def _quotes(text: str, note: LiteralNote) -> tuple[str, ...]:
    return (note.text,) if note.text in text else (note.value,)


def _overlap(one: Citation, other: Citation) -> bool:
    return one.file == other.file and one.start_line <= other.end_line and other.start_line <= one.end_line
