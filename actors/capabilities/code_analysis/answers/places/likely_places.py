"""Reduces what was found to likely places, each with the lines of it that speak most of the question.

Nothing is said of them: an answer that was not found asserts nothing, and still lets its reader judge.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import msgspec

from actors.capabilities.code_analysis.answers.findings import Finding
from actors.capabilities.code_analysis.answers.places.shown_blocks import part_of
from actors.capabilities.code_analysis.evidence.claims import Claim, code_span, may_be_quoted
from runtime.codebase.files.words import index_terms

MAX_LIKELY = 5
MAX_TESTS = 3
MAX_LINES = 2
# The first ones are shown with so many of their lines of code: who was asked in other words may see the answer in them.
MAX_SHOWN = (16, 8)
# A longer line would take more room than the others together.
MAX_LINE_CHARS = 120
_AS_THEY_ARE = frozenset({"only_aside", "likely_test"})


def likely_places(findings: Sequence[Finding], terms: Collection[str], holds: Callable[[Claim], bool]) -> list[Finding]:
    """Return findings whose claims are places, each once, at most five in all.

    The first two are shown with some of their code, if the question's `terms` stand in it. Of the others at most two
    lines are quoted, those with most of the terms; only lines that the place `holds`. Mentions aside stay as they are,
    ahead of the places. Three tests that fit are kept besides, as they are.
    """
    seen: set[tuple[str, int, int]] = set()
    reduced: list[Finding] = []
    for finding in findings:
        kept = [claim for claim in finding.claims if claim.role == "only_aside"]
        kept += [claim for claim in finding.claims if claim.role == "likely_test"][:MAX_TESTS]
        for claim in finding.claims:
            place = next(((c.file, c.start_line, c.end_line) for c in claim.citations), None)
            if claim.role not in _AS_THEY_ARE and place is not None and place not in seen and len(seen) < MAX_LIKELY:
                seen.add(place)
                shown = _shown(claim, terms, MAX_SHOWN[len(seen) - 1]) if len(seen) <= len(MAX_SHOWN) else None
                kept.append(shown or _place(claim, terms, holds))
        reduced.append(Finding(finding.goal, tuple(kept)))
    return reduced


def _shown(claim: Claim, terms: Collection[str], most: int) -> Claim | None:
    """Return a place with the lines of the code that its claim shows which have most terms; None if these are few."""
    code = part_of(claim.code, terms, most) if all(map(may_be_quoted, claim.code.split("\n"))) else ""
    name = code_span(claim.subject or claim.citations[0].file)
    is_few = len(code.split("\n")) <= 1
    return None if is_few else Claim(claim.role, name, claim.citations, code=code, subject=claim.subject)


def _place(claim: Claim, terms: Collection[str], holds: Callable[[Claim], bool]) -> Claim:
    name = code_span(claim.subject or claim.citations[0].file)
    bare = Claim(claim.role, name, claim.citations[:1], subject=claim.subject)
    lines = [line for line in _telling(claim, terms) if holds(msgspec.structs.replace(bare, quotes=(line,)))]
    if not lines:
        return bare
    chosen = tuple(lines[:MAX_LINES])
    return msgspec.structs.replace(bare, text=f"{name}: {', '.join(map(code_span, chosen))}", quotes=chosen)


def _telling(claim: Claim, terms: Collection[str]) -> list[str]:
    """Return the lines that a claim shows or quotes which have terms of the question, those with most ahead."""
    shown = claim.code.split("\n") if claim.code else claim.quotes
    lines = dict.fromkeys(line.strip() for line in shown if len(line.strip()) <= MAX_LINE_CHARS and may_be_quoted(line))
    told = {line: len(set(terms).intersection(index_terms(line).split())) for line in lines}
    return sorted((line for line in lines if told[line]), key=lambda line: -told[line])
