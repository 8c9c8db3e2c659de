"""Finds the numbers behind the constants that stand in lines of code.

Lines that compare with `MAX_RETRIES` decide, and do not tell how many that is. A constant is told only if its name
leads to one literal, by the rules of `ValueScopes`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runtime.codebase.files.words import split_identifier
from runtime.codebase.resolution.default_values.secret_values import is_secret
from runtime.codebase.resolution.default_values.value_chains import ValueChain, ValueChains
from runtime.codebase.resolution.default_values.value_scopes import ValueScopes
from runtime.codebase.resolution.default_values.value_sites import CONSTANT, Site
from runtime.codebase.resolution.default_values.word_sets import words

MAX_TOLD = 2
MAX_VALUE_CHARS = 40

_CONSTANT_WORD = re.compile(rf"(?<!\w)(?:{CONSTANT.pattern})(?!\w)")
# A quantity: a number, arithmetic of numbers, or one in a unit. Flags and masks are none.
_QUANTITY = re.compile(r"(?!.*(?:0[xXbo]|<<|\||[\"'`\[{]))(?=.*\d).*")
# A name with one of these is that of a quantity; the number of another one, of a state say, tells a reader nothing.
MEASURES = words(
    """
    max maximum min minimum limit limits timeout timeouts interval intervals delay delays pause wait retry retries
    attempt attempts count counts size sizes capacity length len depth threshold ttl period rounds default defaults ms
    millis milliseconds seconds secs sec minutes hours days bytes kb mb factor multiplier backoff window batch chunk
    buffer between every after rate burst age expiry expire expiration lifetime width height tolerance ratio percent
    percentage steps iterations workers threads connections quota budget grace jitter cutoff bound margin
    """
)
# What says nothing to a reader who sees the name.
_PLAIN = frozenset({"0", "1", "-1", "0.0", "1.0"})

# The file of lines of code, their numbers, and they themselves.
ShownLines = tuple[str, Sequence[int], Sequence[str]]


def shown_values(scopes: ValueScopes, places: Sequence[ShownLines]) -> list[list[ValueChain]]:
    """Return for each place the proven quantities of the constants in its lines, at most two, in their order.

    A constant that gets its value in these lines is left out.
    """
    chains = ValueChains(scopes)
    return [list(_quantities(chains, place)) if _may_have(place) else [] for place in places]


def _may_have(place: ShownLines) -> bool:
    return any(_CONSTANT_WORD.search(line) for line in place[2])


def _quantities(chains: ValueChains, place: ShownLines) -> Iterator[ValueChain]:
    file, numbers, _ = place
    values = chains.scopes.values(file)
    told = 0
    for site in values.reads(min(numbers), max(numbers)) if values is not None else ():
        targets = chains.scopes.targets(".".join(site.path), site) if site.line in numbers else None
        if targets is None or len(targets) != 1 or _is_of_series(chains.scopes, targets[0]):
            continue
        found = chains.at(targets[0])
        if len(found) == 1 and _is_told(found[0], file, numbers):
            yield found[0]
            told += 1
            if told == MAX_TOLD:
                return


def _is_of_series(scopes: ValueScopes, site: Site) -> bool:
    """Return whether the next or the last line counts on: numbers that only tell states apart."""
    values = scopes.values(site.file)
    near = values.within(site.start_line - 1, site.end_line + 1) if values is not None else []
    own, others = _number(site), [_number(one) for one in near if one.start_line != site.start_line]
    return own is not None and any(other is not None and abs(own - other) == 1 for other in others)


def _number(site: Site) -> int | None:
    text = "" if site.value is None else site.value.text
    return int(text) if text.isdecimal() else None


def _is_told(chain: ValueChain, file: str, numbers: Sequence[int]) -> bool:
    value = chain.value
    if value is None or chain.role == "set" or chain.conditions or is_secret(chain.name, value):
        return False
    if MEASURES.isdisjoint(split_identifier(chain.name)):
        return False
    if value in _PLAIN or len(value) > MAX_VALUE_CHARS or _QUANTITY.fullmatch(value) is None:
        return False
    return not any(step.file == file and step.line in numbers for step in chain.steps)
