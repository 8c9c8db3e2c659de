"""Applies context bounds to the traverser's tool calls and to the results it keeps. Pure.

A bound of N permits N results, levels, files or tokens; with 0 no call is made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from actors.capabilities.code_analysis.evidence.facts import CodeFact
from runtime.codebase.tool_registry import code_tool

CHARS_PER_TOKEN = 4
# Of the code that a pass may pass on, what it keeps back from reads that nobody asked for.
SHARE_OF_LATER_PASSES = 1 / 6
# As much text counts as one find: what is longer waits for shorter ones of the next ranks.
CHARS_OF_A_FIND = 4_000


def capped(tool: str, arguments: Mapping[str, Any], bounds: Mapping[str, int]) -> dict[str, Any] | None:
    """Return a call's arguments within the bounds; None when a bound of 0 forbids the call.

    A parameter that a step omits has the tool's default, so it is set only where the bound is lower.
    """
    within = dict(arguments)
    declared = code_tool(tool)
    if declared is None:
        return within
    for parameter, bound in declared.capped_by.items():
        if bound not in bounds:
            continue
        if bounds[bound] < 1:
            return None
        asked = within.get(parameter, declared.default_of(parameter))
        if isinstance(asked, int) and asked > bounds[bound]:
            within[parameter] = bounds[bound]
    return within


def forbids(tool: str, bounds: Mapping[str, int]) -> str:
    """Return the bound that forbade a call of a tool: one of 0, otherwise the limit of files per query."""
    declared = code_tool(tool)
    of_tool = () if declared is None else declared.capped_by.values()
    return next((bound for bound in of_tool if bounds.get(bound, 1) < 1), "max_files_per_query")


def may_read(file: object, read: Iterable[str], bounds: Mapping[str, int]) -> bool:
    """Return whether a file was already read in this query, or one more file may be."""
    known = set(read)
    return file in known or len(known) < bounds.get("max_files_per_query", 50)


def slices_cut(facts: Sequence[CodeFact], bounds: Mapping[str, int]) -> list[CodeFact]:
    """Cut each text of code in the facts to the limit of one slice."""
    limit = bounds.get("max_file_slice_tokens", 4_000) * CHARS_PER_TOKEN
    return [msgspec.structs.replace(fact, text=fact.text[:limit]) if len(fact.text) > limit else fact for fact in facts]


def texts_cut(
    facts: Sequence[CodeFact], left_chars: int, known: Mapping[tuple[str, int], int], unasked: Collection[str]
) -> list[CodeFact]:
    """Cut the texts of code to `left_chars` in all; a fact is never dropped for its text.

    `known`: (file, first line) → characters that count no more. `unasked`: ids of steps that read what a search found.
    Their texts come last, the best of each search before the second best of any, long ones later, and leave a share to
    later passes, which would otherwise see nothing of what they ask for by name.
    """
    turns: Counter[str] = Counter()
    order: list[tuple[bool, int, int]] = []
    for number, fact in enumerate(facts):
        is_unasked = fact.step in unasked and fact.kind == "code"
        turns[fact.step] += is_unasked
        turn = turns[fact.step] + len(fact.text) // CHARS_OF_A_FIND
        order.append((is_unasked, turn if is_unasked else 0, number))
    kept_back = int(max(0, left_chars) * SHARE_OF_LATER_PASSES)
    texts: dict[int, str] = {}
    for is_unasked, _, number in sorted(order):
        fact = facts[number]
        paid_chars = known.get((fact.citation.file, fact.citation.start_line), 0)
        texts[number] = fact.text[: paid_chars + max(0, left_chars - (kept_back if is_unasked else 0))]
        left_chars -= max(0, len(texts[number]) - paid_chars)
    return [
        fact if texts[number] == fact.text else msgspec.structs.replace(fact, text=texts[number])
        for number, fact in enumerate(facts)
    ]


def tree_cut(facts: Sequence[CodeFact], bounds: Mapping[str, int]) -> list[CodeFact]:
    """Return the facts of a map that fit the tree's token limit, in order; modules go before their contents."""
    left = bounds.get("max_tree_tokens", 2_000) * CHARS_PER_TOKEN
    kept: list[int] = []
    for number, fact in sorted(enumerate(facts), key=lambda pair: pair[1].kind != "module"):
        left -= len(fact.name) + len(fact.signature) + len(fact.docstring) + len(fact.text)
        if left < 0:
            break
        kept.append(number)
    return [facts[number] for number in sorted(kept)]
