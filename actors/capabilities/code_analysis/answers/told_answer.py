"""Composes an answer that a model wrote: its claims in its order, and its own open questions.

Nothing is added to it by rules: no sections, and no sentence on what was not found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from actors.capabilities.code_analysis.answers.findings import Finding
from actors.capabilities.code_analysis.evidence.claims import Claim, plain, render
from runtime.codebase.citation import Citation

NOTHING_HELD = "What was found does not answer this: no statement about it held up against the lines that it cited."
NOTHING_WRITTEN = "Nothing that was read answers this."


def in_order(findings: Sequence[Finding]) -> list[Claim]:
    """Return the claims of all goals in the order in which the model wrote them."""
    return sorted((claim for finding in findings for claim in finding.claims), key=lambda claim: claim.place)


def citations_in_order(claims: Sequence[Claim]) -> list[Citation]:
    """Return the citations of the claims in their order, each place once."""
    places: dict[tuple[str, int, int], Citation] = {}
    for claim in claims:
        for citation in claim.citations:
            places.setdefault((citation.file, citation.start_line, citation.end_line), citation)
    return list(places.values())


def told_answer(
    claims: Sequence[Claim],
    open_questions: Sequence[str],
    contradictions: Sequence[str],
    other_readings: Sequence[str],
    was_struck: bool,
    skipped: Mapping[str, int],
    remarks: Sequence[str],
) -> str:
    """Return the answer as Markdown. `other_readings` are those of the question that it does not go by.

    `was_struck`: claims were struck by the judge or not borne out by the files. `remarks`: what it must say of its own
    making, such as the bound that ended it.
    """
    parts = [render(claim) for claim in claims]
    if not claims:
        parts.append(NOTHING_HELD if was_struck else NOTHING_WRITTEN)
    if contradictions:
        parts.append("\n".join(("**Contradicts itself**", "", *(f"- {plain(said)}" for said in contradictions))))
    if open_questions:
        parts.append("\n".join(("**Open**", "", *(f"- {plain(question)}" for question in open_questions))))
    parts += [f"The question may also mean: {plain(reading).rstrip('.')}." for reading in other_readings]
    if skipped:
        listed = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in sorted(skipped.items()))
        parts.append(f"Not looked at: {listed}.")
    return "\n\n".join((*parts, *remarks))
