"""Maps each aspect to what writes its claims, for the kinds of questions that name no writer of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from actors.capabilities.code_analysis.answers.absence.absent_subject import aside_claims
from actors.capabilities.code_analysis.answers.default_value import value_claims
from actors.capabilities.code_analysis.answers.definition import definition
from actors.capabilities.code_analysis.answers.documents.document_claims import document_claims
from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.answers.history import history, together
from actors.capabilities.code_analysis.answers.lists.choices import choice_claims
from actors.capabilities.code_analysis.answers.lists.listing import listing_claims
from actors.capabilities.code_analysis.answers.lists.precedents import precedents
from actors.capabilities.code_analysis.answers.lists.requirements import requirements
from actors.capabilities.code_analysis.answers.mechanism import mechanism
from actors.capabilities.code_analysis.answers.open_answer import MAX_SHOWN_WORDS, MAX_WORDS, answer_claims
from actors.capabilities.code_analysis.answers.part_answers import numbers_of_text, places_of_parts, with_all_parts
from actors.capabilities.code_analysis.answers.places.further_places import word_count
from actors.capabilities.code_analysis.answers.settings import configuration
from actors.capabilities.code_analysis.answers.uses import tests_of, usage
from actors.capabilities.code_analysis.answers.verdict import verdict_claims, with_verdicts
from actors.capabilities.code_analysis.answers.wording import module_claims
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.kinds import Writer, kind_of
from actors.capabilities.code_analysis.question.parts import parts_of
from actors.capabilities.code_analysis.question.polar import polar_clause
from actors.capabilities.code_analysis.ranking.answer_order import MAX_TOLD_PER_FILE, in_answer_order
from actors.capabilities.code_analysis.ranking.leading_place import Weights, in_leading_order
from runtime.codebase.files.boilerplate import asks_for_boilerplate, is_boilerplate


def answer(evidence: Evidence, weights: Weights | None = None) -> list[Claim]:
    """Return claims about the values, places and passages that answer a question in words.

    `weights`: those by which the leading place is chosen; by default the fitted ones.
    """
    question, facts = evidence.question.text, _told(evidence)
    chosen = choice_claims(evidence)
    if chosen and len(parts_of(question)) == 1:
        return [*chosen, *document_claims(facts)]
    places = in_leading_order(question, in_answer_order(facts, MAX_TOLD_PER_FILE), weights)
    parts = places_of_parts(question, places)
    values = value_claims(facts, lambda clause: numbers_of_text(parts, question, clause))
    asked = [clause for part in parts if (clause := polar_clause(part.part.text)) is not None]
    verdicts = verdict_claims(asked, facts, lambda clause: numbers_of_text(parts, question, clause))
    values = [*verdicts, *with_verdicts(asked, values, facts)]
    said, asides = document_claims(facts), aside_claims(facts)
    said = [claim for claim in said if not _is_repeated(claim, verdicts)]
    left_words = MAX_WORDS - sum(map(word_count, (*values, *asides)))
    # Who asks for a relation of a thing reads code of that thing alone, and who adds one what another commit touched.
    has_other_code = kind_of(evidence.question).of_relation or bool(evidence.of("precedent"))
    left_shown = 0 if has_other_code else MAX_SHOWN_WORDS
    claims = answer_claims(
        places,
        parts,
        said,
        left_words=left_words,
        left_shown=left_shown,
        values=values,
        unsure=evidence.unsure_parts,
    )
    return with_all_parts([*chosen, *values, *(claims or document_claims(facts, "lead")), *asides], parts)


def _told(evidence: Evidence) -> list[CodeFact]:
    """Return the facts without those of files of rights, people and style checks, unless the question asks for them."""
    asked = evidence.question
    if asks_for_boilerplate(asked.text, asked.paths):
        return evidence.facts
    return [fact for fact in evidence.facts if not is_boilerplate(fact.citation.file)]


def _is_repeated(claim: Claim, verdicts: Sequence[Claim]) -> bool:
    """Return whether a verdict quotes what a claim quotes."""
    return any(quote in verdict.quotes for verdict in verdicts for quote in claim.quotes)


def listing(evidence: Evidence) -> list[Claim]:
    """Return the values of the closed set that is asked for, else the entries of a list."""
    return choice_claims(evidence) or listing_claims(evidence.question, evidence.entities, evidence.facts)


def structure(evidence: Evidence) -> list[Claim]:
    """Return what the repository says of itself, and its modules."""
    return module_claims(evidence.of("module"), evidence.of("code"))


WRITERS: Mapping[str, Writer] = {
    "answer": answer,
    "definition": definition,
    "mechanism": mechanism,
    "usage": usage,
    "tests": tests_of,
    "configuration": configuration,
    "listing": listing,
    "structure": structure,
    "history": history,
    "together": together,
    "precedents": precedents,
    "requirements": requirements,
}


def claims_for(evidence: Evidence, aspect: str) -> list[Claim]:
    """Return the claims for an aspect, by the writer of the question's kind if it has one."""
    writer = kind_of(evidence.question).writers.get(aspect) or WRITERS.get(aspect, definition)
    return writer(evidence)
