"""Orders the facts of all passes for a model that writes, since what comes last is cut first. Pure.

The code that the plan asked for leads, other code follows, and then the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from actors.capabilities.code_analysis.evidence.facts import CodeFact, distinct
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.ranking.delegation import ranked_places

MAX_NAMES = 4
# Kinds that only a question about uses wants to see.
KINDS_OF_USES = frozenset({"importer", "namesake"})
# Kinds that say nothing beyond their lines.
KINDS_IN_CODE = frozenset({"definition", "excerpt", "passage"})


def in_reading_order(
    question: Question, facts: Sequence[CodeFact], asked_for: Sequence[str], cited: Collection[str], wants_uses: bool
) -> list[CodeFact]:
    """Return the facts worth showing: explicit reads in the plan's order, other code, the rest, each by its rank.

    `asked_for`: ids of steps whose reads were planned explicitly; `cited`: files that the draft cites, whose code comes
    right after. A definition, excerpt or passage whose lines are in the code that was read is told with that code.
    """
    kept = distinct(fact for fact in facts if wants_uses or fact.kind not in KINDS_OF_USES)
    codes = [fact for fact in kept if fact.kind == "code"]
    definitions = [fact for fact in kept if fact.kind == "definition"]
    named = [_named(fact, definitions) if fact.kind == "code" else fact for fact in kept]
    shown = [fact for fact in named if fact.kind not in KINDS_IN_CODE or not _is_among(fact, codes)]
    shown = [fact for fact in shown if fact.kind != "code" or not _is_repeated(fact, codes)]
    ranked = ranked_places(question, kept)
    ranks = {(entity.citation.file, entity.citation.start_line): number for number, entity in enumerate(ranked)}
    steps = {step: number for number, step in enumerate(asked_for)}

    def place(fact: CodeFact) -> tuple[int, int]:
        rank = ranks.get((fact.citation.file, fact.citation.start_line), len(ranks))
        if fact.kind == "code" and fact.step in steps:
            return (0, steps[fact.step])
        if fact.kind == "code":
            return (1 if fact.citation.file in cited else 2, rank)
        return (3, rank)

    return sorted(shown, key=place)


def _named(code: CodeFact, definitions: Sequence[CodeFact]) -> CodeFact:
    """Name code that was read by its lines after the definitions that begin in it, and count their unproven calls."""
    inside = [fact for fact in definitions if _begins_in(fact, code)]
    names = list(dict.fromkeys(fact.name for fact in inside if fact.name))[:MAX_NAMES]
    unproven = max((fact.unproven for fact in inside), default=0)
    return msgspec.structs.replace(code, name=code.name or ", ".join(names), unproven=unproven)


def _begins_in(fact: CodeFact, code: CodeFact) -> bool:
    lines = code.citation
    return fact.citation.file == lines.file and lines.start_line <= fact.citation.start_line <= lines.end_line


def _is_among(fact: CodeFact, codes: Sequence[CodeFact]) -> bool:
    """Return whether all lines of a fact are in code that was read."""
    lines = fact.citation
    return any(
        code.citation.file == lines.file
        and code.citation.start_line <= lines.start_line
        and lines.end_line <= code.citation.end_line
        for code in codes
    )


def _is_repeated(code: CodeFact, codes: Sequence[CodeFact]) -> bool:
    """Return whether a longer text of code holds this one."""
    return _is_among(code, [other for other in codes if _length(other) > _length(code)])


def _length(code: CodeFact) -> int:
    return code.citation.end_line - code.citation.start_line
