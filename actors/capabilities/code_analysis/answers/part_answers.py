"""Gives each part of a question in words its own answer: which places its searches found, and how far they are trusted.

The parts come in the order asked. A part that no search was made for by itself is answered by what was found for the
whole question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from actors.capabilities.code_analysis.answers.confidence import Trust, all_features, trust_in
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.parts import AskedPart, asked_parts, searched_parts
from actors.capabilities.code_analysis.ranking.answer_order import PART, Place
from runtime.codebase.search.presence.absence import Absence

# How much of a part stands ahead of what answers it.
MAX_PART_CHARS = 60
# The least confidence of a part whose place is introduced by its words: of what is trusted less, most is wrong.
LEAST_INTRODUCED = 0.2


class PartPlaces(msgspec.Struct, frozen=True):
    """Joins a part of a question with the places that its searches found, best first; `number` counts from 1.

    `steps`: the ids of its searches; empty where it has none of its own, which leaves it the places of the whole.
    """

    number: int
    part: AskedPart
    places: list[Place]
    steps: tuple[str, ...] = ()

    @property
    def first(self) -> Place | None:
        """The best place of code that its own searches found; None without any."""
        return next((place for place in self.places if not place.is_prose), None) if self.steps else None


def places_of_parts(question: str, places: Sequence[Place]) -> list[PartPlaces]:
    """Return the parts of a question with their places; one part with all of them where it asks one thing."""
    parts = asked_parts(question)
    if len(parts) == 1:
        return [PartPlaces(1, parts[0], list(places))]
    found = []
    for number, part in enumerate(parts, 1):
        steps = tuple(f"{PART}{at}" for at, text in enumerate(searched_parts(question)) if part.has(text, question))
        own = [place for place in places if not _steps(place.fact).isdisjoint(steps)]
        found.append(PartPlaces(number, part, own if steps else list(places), steps))
    return found


def numbers_of_places(parts: Sequence[PartPlaces]) -> dict[tuple[str, int, int], tuple[int, ...]]:
    """Return for each place that is the first of a part's the numbers of these parts."""
    numbers: dict[tuple[str, int, int], tuple[int, ...]] = {}
    for part in parts:
        if part.first is not None:
            place = part.first.fact.place
            numbers[place] = (*numbers.get(place, ()), part.number)
    return numbers


def numbers_of_text(parts: Sequence[PartPlaces], question: str, text: str) -> tuple[int, ...]:
    """Return the number of the part in which a clause of the question begins."""
    return tuple(part.number for part in parts if part.part.has(text, question))


def with_all_parts(claims: Sequence[Claim], parts: Sequence[PartPlaces]) -> list[Claim]:
    """Return the claims, of which the lead also answers parts that nothing else does and that were not searched for.

    The lead of a question of one part answers it, as all claims do; a lead that is the first place of no part answers
    the first one.
    """
    if len(parts) == 1:
        return [msgspec.structs.replace(claim, parts=(1,)) for claim in claims]
    covered = {number for claim in claims for number in claim.parts}
    bare = [part.number for part in parts if part.number not in covered and not part.steps]
    return [_with_parts(claim, bare) if claim.role == "lead" else claim for claim in claims]


def _with_parts(lead: Claim, more: Sequence[int]) -> Claim:
    return msgspec.structs.replace(lead, parts=tuple(sorted({*lead.parts, *more} or {1})))


def introduction(part: PartPlaces) -> str:
    """Return what stands ahead of the answer to a further part: the words that ask for it, cut."""
    text = part.part.text.rstrip(" ?.!")
    return f"On «{text if len(text) <= MAX_PART_CHARS else text[: MAX_PART_CHARS - 1].rsplit(' ', 1)[0] + ' …'}»: "


def trust_in_parts(
    question: str,
    places: Sequence[Place],
    absences: Mapping[str, Absence],
    compared: float | None,
    whole: Trust | None,
) -> list[tuple[str, Trust | None]]:
    """Return the parts of a question in words, each with how far its answer can be trusted.

    That is estimated as that of the whole is, from its own places and words, the least of its searches; a part without
    a search of its own has that of the whole. `compared`: the share of the pieces that were compared by meaning.
    """
    trusted: list[tuple[str, Trust | None]] = []
    for part in places_of_parts(question, places):
        said = [all_features(part.part.text, part.places, (), absences.get(step), compared) for step in part.steps]
        own = [trust_in(features) for features in said]
        least = min(own, key=lambda trust: (trust.presence, trust.confidence), default=whole)
        trusted.append((part.part.text, least))
    return trusted


def unsure_parts(trusted: Sequence[tuple[str, Trust | None]]) -> frozenset[int]:
    """Return the numbers of the parts of a question whose places are not trusted to answer them; none of a single one.

    What stands behind «On «…»:» is read as the answer to these words.
    """
    unsure = [
        number
        for number, (_, trust) in enumerate(trusted, 1)
        if trust is not None and not (trust.is_found and trust.confidence >= LEAST_INTRODUCED)
    ]
    return frozenset(unsure if len(trusted) > 1 else ())


def _steps(fact: CodeFact) -> set[str]:
    return {fact.step, *fact.also_by}
