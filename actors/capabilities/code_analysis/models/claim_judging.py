"""Shows a judge each claim with the lines it cites, and strikes those that the lines do not bear out.

The lines come from the files themselves, never from what the writer was shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from actors.capabilities.code_analysis.evidence.claims import Claim, commit_text, plain, read_claims
from actors.capabilities.code_analysis.handover.critique import StruckClaim
from actors.capabilities.code_analysis.models.agent_context import with_numbers
from actors.capabilities.code_analysis.models.model_input import sanitised
from actors.capabilities.code_analysis.models.schemas import MOST_CLAIMS, JudgedClaim
from runtime.codebase.citation import Citation
from runtime.codebase.codebase import Codebase

# Lines shown around the cited ones, so that a judge sees whose body they are in.
AROUND = 3
MAX_LINES = 60
MAX_LINE_CHARS = 240
STRUCK = frozenset({"unsupported", "misread"})


class Presented(msgspec.Struct, frozen=True):
    """Holds a claim with its goal, its number for the judge, and the text that shows it with its lines."""

    number: int
    goal: str
    claim: Claim
    text: str


def presented(codebase: Codebase, hints: Mapping[str, Any]) -> list[Presented]:
    """Return the claims of a model in the order of its answer, each with the lines that it cites."""
    claims = [(goal, claim) for goal, found in read_claims(dict(hints))[0].items() for claim in found]
    ordered = sorted(claims, key=lambda pair: pair[1].place)[:MOST_CLAIMS]
    return [
        Presented(number, goal, claim, _text(codebase, number, goal, claim))
        for number, (goal, claim) in enumerate(ordered, 1)
    ]


def judged_hints(
    hints: Mapping[str, Any], shown: Sequence[Presented], verdicts: Sequence[JudgedClaim]
) -> tuple[dict[str, list[dict[str, Any]]], list[StruckClaim]]:
    """Return the claims by goal that are left, marked where they were found supported, and the struck ones.

    A claim is struck if any verdict on it says so. A claim that was not shown, or not judged, stays unmarked.
    """
    said: dict[int, JudgedClaim] = {}
    for verdict in verdicts:
        if verdict.claim not in said or verdict.verdict in STRUCK:
            said[verdict.claim] = verdict
    left: dict[str, list[Claim]] = {goal: [] for goal in hints}
    struck: list[StruckClaim] = []
    judged = {one.claim: said.get(one.number) for one in shown}
    for goal, found in read_claims(dict(hints))[0].items():
        for claim in found:
            verdict_of = judged.get(claim)
            if verdict_of is not None and verdict_of.verdict in STRUCK:
                marks = [citation.mark[1:-1] for citation in claim.citations]
                struck.append(StruckClaim(claim.text, marks, verdict_of.verdict, sanitised(verdict_of.why)))
            else:
                left[goal].append(msgspec.structs.replace(claim, judged=verdict_of is not None))
    return {goal: msgspec.to_builtins(found) for goal, found in left.items()}, struck


def _text(codebase: Codebase, number: int, goal: str, claim: Claim) -> str:
    lines = [line for citation in claim.citations for line in _lines(codebase, citation)]
    commits = [f"git: {commit_text(commit)}" for commit in claim.commits]
    return "\n".join((f"Claim {number} (goal {goal}): {claim.text}", *lines, *commits))


def _lines(codebase: Codebase, citation: Citation) -> list[str]:
    """Return the cited lines, marked with `>`, between the lines around them, below the definition that they are in."""
    source = codebase.try_source(citation.file)
    if source is None:
        return [f"{citation.file}: cannot be read"]
    first = max(1, citation.start_line - AROUND)
    last = min(len(source.lines), citation.end_line + AROUND, first + MAX_LINES)
    cited = range(citation.start_line, citation.end_line + 1)
    text = [line[:MAX_LINE_CHARS] for line in source.lines[first - 1 : last]]
    numbered = enumerate(with_numbers(text, first), first)
    cut = [f"(lines {last + 1} to {citation.end_line} are not shown)"] if last < citation.end_line else []
    shown = [f"{'>' if number in cited else ' '}{line}" for number, line in numbered]
    return [citation.mark[1:-1] + _holder(codebase, citation), *shown, *cut]


def _holder(codebase: Codebase, citation: Citation) -> str:
    """Name the definition that holds all cited lines and does not begin with them; a line alone does not show whose."""
    holder = codebase.symbol_at(citation.file, citation.start_line)
    if holder is None or not holder.start_line < citation.start_line <= citation.end_line <= holder.end_line:
        return ""
    return f" in {plain(holder.qualified_name)} (lines {holder.start_line} to {holder.end_line})"
