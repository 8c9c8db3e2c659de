"""Assembles the parts of the answer document: what was asked, with status and citations."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from actors.capabilities.code_analysis.agents.collected_claims import Collected
from actors.capabilities.code_analysis.answers.confidence import ENOUGH
from actors.capabilities.code_analysis.answers.findings import Finding, citation_document
from actors.capabilities.code_analysis.answers.told_answer import citations_in_order
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.handover.answer import AnswerCitation, AnswerPart
from actors.capabilities.code_analysis.handover.passes import passes_of
from actors.capabilities.code_analysis.handover.reading import read
from actors.capabilities.code_analysis.handover.synthesis import PartNote, synthesis_if_any
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.aspects import aspect_of
from actors.capabilities.code_analysis.question.kinds import kind_named, kind_of, kinds_worded
from actors.capabilities.code_analysis.question.parts import parts_of
from runtime.run.stage_view import StageView

# What the relations of a name tell is there.
PROVEN = 1.0


class _Asked(msgspec.Struct, frozen=True):
    """Joins the words of a part with what is known to answer it."""

    text: str
    claims: list[Claim]
    confidence: float | None = None
    presence: float | None = None


def part_notes_of(view: StageView) -> list[PartNote]:
    """Return the parts of a question in words as the round that trusted its answer most left them; empty for others."""
    rounds = [(done.presence, done.parts) for done in passes_of(view)]
    synthesis = synthesis_if_any(view)
    if not rounds and synthesis is not None:
        rounds = [(synthesis.presence, synthesis.parts)]
    told = [(presence or 0.0, parts) for presence, parts in rounds if parts]
    return max(told, key=lambda one: one[0], default=(0.0, []))[1]


def answer_parts(
    view: StageView,
    question: Question,
    findings: Sequence[Finding],
    collected: Collected,
    confidence: float | None,
    *,
    is_found: bool,
) -> list[AnswerPart]:
    """Return what was asked, in order, at least one part; none of an answer that lists likely places is answered."""
    if collected.draft is not None:
        asked = _of_goals(question, findings, confidence)
    elif notes := part_notes_of(view):
        asked = _of_words(notes, findings, confidence)
    else:
        asked = _of_kinds(question, findings, confidence)
    return [_part(one, is_found=is_found) for one in asked]


def unanswered(parts: Sequence[AnswerPart]) -> list[str]:
    """Return the parts that are not trusted, where others are: of other answers, what is missing is told by itself."""
    left = [part.text for part in parts if part.confidence is not None and part.status == "not_found"]
    return left if len(left) < len(parts) else []


def _part(asked: _Asked, *, is_found: bool) -> AnswerPart:
    presence = asked.confidence if asked.presence is None else asked.presence
    is_trusted = presence is None or presence >= ENOUGH
    is_answered = is_found and is_trusted and bool(asked.claims)
    documents = list(map(citation_document, citations_in_order(asked.claims)))
    cited = read("integration", documents, list[AnswerCitation])
    return AnswerPart(asked.text, "answered" if is_answered else "not_found", asked.confidence, cited)


def _of_goals(question: Question, findings: Sequence[Finding], confidence: float | None) -> list[_Asked]:
    """Return the goals that a model worded; a single one is the question."""
    if len(findings) < 2:
        return [_Asked(question.text, [claim for found in findings for claim in found.claims], confidence)]
    return [_Asked(found.goal.text, list(found.claims), confidence if found.claims else None) for found in findings]


def _of_words(notes: Sequence[PartNote], findings: Sequence[Finding], confidence: float | None) -> list[_Asked]:
    """Return the parts of a question in words; what it asks besides, such as tests, answers the part that asks it."""
    claims = [claim for found in findings for claim in found.claims]
    if len(notes) == 1:
        return [_Asked(notes[0].text, claims, confidence, notes[0].presence)]
    asked = []
    for number, note in enumerate(notes, 1):
        besides = {aspect for kind in kinds_worded(note.text) for aspect in kind.besides}
        own = [claim for found in findings if aspect_of(found.goal) in besides for claim in found.claims]
        own += [claim for claim in claims if number in claim.parts and claim not in own]
        asked.append(_Asked(note.text, own, note.confidence, note.presence))
    return asked


def _of_kinds(question: Question, findings: Sequence[Finding], confidence: float | None) -> list[_Asked]:
    """Return the parts of a question about a name or a file, each with what its kind asks for."""
    texts, claims = parts_of(question.text), [claim for found in findings for claim in found.claims]
    if len(texts) != 1 + len(question.further):
        return [_Asked(question.text, claims, confidence, PROVEN)]
    asks = [kind_of(question).aspects, *(kind_named(name).added or () for name in question.further)]
    told: set[str] = set()
    parts = []
    for text, aspects in zip(texts, asks, strict=True):
        own = [claim for found in findings if aspect_of(found.goal) in aspects for claim in found.claims]
        parts.append(_Asked(text, own, confidence, PROVEN))
        told.update(aspects)
    rest = [claim for found in findings if aspect_of(found.goal) not in told for claim in found.claims]
    return [_Asked(parts[0].text, [*parts[0].claims, *rest], confidence, PROVEN), *parts[1:]]
