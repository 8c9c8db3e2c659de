"""Turns claims that a model wrote into claims with citations, or says what is wrong with them. Pure.

A model selects, orders and words; it never creates evidence. A claim refers to one to four facts by number and cites
lines that it was shown of each. A claim that names code which nothing shown bears, or that cites other lines, is
dropped with the reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence

import msgspec

from actors.capabilities.code_analysis.answers.wording import change_claim, together_claim
from actors.capabilities.code_analysis.evidence.claims import Claim, ClaimRole
from actors.capabilities.code_analysis.evidence.facts import MAX_QUOTE_CHARS, CodeFact, FactKind
from actors.capabilities.code_analysis.models.model_input import sanitised
from actors.capabilities.code_analysis.models.schemas import CitedFact, WrittenClaim
from runtime.codebase.citation import Citation
from runtime.codebase.files.words import looks_like_identifier

MAX_CLAIM_CHARS = 700
# A claim that names no lines may rest on all of a fact's code, if that is no longer than this.
WHOLE_LINES = 20

# Why a claim was dropped, as it is counted → as the model is told.
REASONS: dict[str, str] = {
    "no_such_goal": "its goal is not in the list",
    "no_such_fact": "it cites a fact that is not in the list",
    "no_text": "it has no text",
    "no_lines": "it cites code without saying which lines carry it",
    "lines_not_shown": "it cites lines that were not shown with that fact",
    "names_what_is_not_there": "it names code that occurs in nothing shown",
}

_ROLE_OF_FACT: dict[FactKind, ClaimRole] = {
    "definition": "lead",
    "code": "lead",
    "excerpt": "item",
    "caller": "caller",
    "reference": "caller",
    "mention": "mention",
    "passage": "said",
    "callee": "step",
    "importer": "importer",
    "namesake": "related",
    "test": "test",
    "module": "module",
    "trace": "step",
    "value": "value",
    "only_aside": "only_aside",
    "precedent": "precedent",
    "sibling": "sibling",
    "requirement": "importer",
    "choices": "choices",
    "choice": "choice",
    "purpose": "said",
    "language": "item",
    "part": "part",
    "part_name": "part",
    "part_alike": "part",
    "part_further": "part",
    "edge": "link",
    "hub": "link",
    "entry_call": "link",
    "entry": "entry",
    "dependency": "item",
    "reading": "start",
    "aside": "aside",
}

_NAMED = re.compile(r"`([^`]+)`|([A-Za-z_][\w.]*)")


class ShownFact(msgspec.Struct, frozen=True):
    """Pairs a fact with the last line of its code that the model was shown; 0 if it was shown no code."""

    fact: CodeFact
    last_line: int = 0

    @property
    def first_line(self) -> int:
        """The first line of its code that was shown, 0 without any."""
        return self.fact.citation.start_line if self.last_line else 0


class DroppedClaim(msgspec.Struct, frozen=True):
    """Records a claim that was dropped: its number from 1, the reason, and the names or lines at fault."""

    number: int
    reason: str
    text: str
    at_fault: str = ""

    @property
    def told(self) -> str:
        """The reason in words for the model."""
        return f"claim {self.number}: {REASONS[self.reason]}{f' ({self.at_fault})' if self.at_fault else ''}"


class ReadClaims(msgspec.Struct, frozen=True):
    """Holds the usable claims by goal, each with its place in the answer, and the dropped ones."""

    by_goal: dict[str, list[Claim]]
    dropped: list[DroppedClaim]

    @property
    def count(self) -> int:
        """The number of usable claims."""
        return sum(map(len, self.by_goal.values()))

    @property
    def reasons(self) -> dict[str, int]:
        """Counts of the dropped claims by reason."""
        return dict(Counter(claim.reason for claim in self.dropped))


def claims_of(
    written: Sequence[WrittenClaim], facts: Sequence[ShownFact], goals: Sequence[str], asked: str = ""
) -> ReadClaims:
    """Build claims by goal from what a model wrote; `asked` are the words of the question and its goals.

    Names may occur in any fact shown or in the question: a sentence often joins what several facts show.
    """
    claims: dict[str, list[Claim]] = {goal: [] for goal in goals}
    dropped: list[DroppedClaim] = []
    shown = frozenset(re.findall(r"\w+", "\n".join((asked, *map(_shown, facts)))))
    for number, claim in enumerate(written, 1):
        text = sanitised(claim.text, MAX_CLAIM_CHARS)
        made = _read(claim, text, facts, claims, shown)
        if isinstance(made, Claim):
            placed = msgspec.structs.replace(made, place=number)
            claims[claim.goal] += [placed] if _is_new(made, claims) else []
        else:
            reason, at_fault = made
            dropped.append(DroppedClaim(number, reason, text, at_fault))
    return ReadClaims(claims, dropped)


def _is_new(made: Claim, claims: dict[str, list[Claim]]) -> bool:
    return not any((made.text, made.citations) == (c.text, c.citations) for found in claims.values() for c in found)


def _read(
    claim: WrittenClaim, text: str, facts: Sequence[ShownFact], goals: dict[str, list[Claim]], shown: frozenset[str]
) -> Claim | tuple[str, str]:
    """Return the claim, or the reason why it cannot be used with what is at fault."""
    numbers = [cited.fact for cited in claim.facts]
    if claim.goal not in goals:
        return "no_such_goal", claim.goal
    if unknown := [str(number) for number in numbers if number > len(facts)]:
        return "no_such_fact", ", ".join(unknown)
    if not text:
        return "no_text", ""
    if unsupported := unsupported_names(text, shown):
        return "names_what_is_not_there", ", ".join(unsupported)
    citations: list[Citation] = []
    # What git says of a commit stands in no file, but for the lines that it added.
    of_files = [cited for cited in claim.facts if _stands_in_a_file(facts[cited.fact - 1].fact)]
    for cited in of_files:
        found = _citation(cited, facts[cited.fact - 1])
        if isinstance(found, str):
            return found, f"fact {cited.fact}, lines {cited.first_line} to {cited.last_line}"
        citations += [found] if found not in citations else []
    return _claim(text, [facts[number - 1].fact for number in numbers], tuple(citations))


def _stands_in_a_file(fact: CodeFact) -> bool:
    return fact.commit is None or fact.kind == "precedent"


def _claim(text: str, facts: Sequence[CodeFact], citations: tuple[Citation, ...]) -> Claim:
    """Build the claim on these facts in the model's words; what git says is worded here."""
    first = facts[0]
    if first.kind == "change":
        return change_claim(first)
    if first.kind == "together":
        return together_claim(first)
    return Claim(_ROLE_OF_FACT[first.kind], text, citations, subject=first.name)


def _citation(cited: CitedFact, shown: ShownFact) -> Citation | str:
    """Return the lines that a claim cites of a fact, or the reason why it may not cite them."""
    whole = shown.fact.citation
    if not shown.last_line:
        return "lines_not_shown" if shown.fact.kind == "code" else whole
    first, last = cited.first_line, cited.last_line or cited.first_line
    if not first:
        is_short = shown.last_line - shown.first_line < WHOLE_LINES
        return msgspec.structs.replace(whole, end_line=shown.last_line) if is_short else "no_lines"
    if last < first or first < shown.first_line or last > shown.last_line:
        return "lines_not_shown"
    quote = shown.fact.text.split("\n")[first - shown.first_line].strip()[:MAX_QUOTE_CHARS].rstrip()
    return msgspec.structs.replace(whole, start_line=first, end_line=last, quote=quote)


def unsupported_names(text: str, shown: Collection[str]) -> list[str]:
    """Return the names of code in a text with a word that was not shown, neither so nor without a plural's `s`."""
    words = [(quoted, word.rstrip(".")) for quoted, word in _NAMED.findall(text)]
    named = [quoted or word for quoted, word in words if quoted or looks_like_identifier(word)]
    return [
        name
        for name in named
        if not all(part in shown or part.removesuffix("s") in shown for part in re.findall(r"\w+", name))
    ]


def _shown(shown: ShownFact) -> str:
    fact = shown.fact
    return "\n".join(
        (
            *(fact.name, fact.signature, fact.docstring, fact.text, fact.about),
            *(fact.citation.quote, fact.citation.symbol or "", fact.citation.file),
        )
    )
