"""Judges whether a name and its values are of the kind that a question asks for: a time, a number.

A value of the wrong kind would be a false answer, however well the words of its name fit. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from runtime.codebase.files.words import split_identifier
from runtime.codebase.resolution.default_values.site_roles import NOTHING, SETTINGS, UNSET_NUMBERS
from runtime.codebase.resolution.default_values.value_chains import ValueChain
from runtime.codebase.resolution.default_values.value_sites import Site, key_of
from runtime.codebase.search.values.value_questions import Measure, ValuePart, asks_for_bound
from runtime.codebase.search.values.value_words import (
    ATTRIBUTES,
    BOUNDS,
    COUNTS,
    SIZES,
    TIMES,
    forms_of,
    met_by,
    says_time,
    words_of,
)

UNLIKELY = 0.7

_DURATION = re.compile(r"[Ss]econd|[Mm]inute|[Hh]our|Duration|timedelta|from_|\bms\b|Millis")
_NUMBER = re.compile(
    r"^([\"'])-?\d[\d_]*(?:\.\d+)? ?[A-Za-z%]{0,12}\1$"
    r"|(?:^|[\s(])-?(?:\d|\.\d|0x)|Infinity|MAX|inf\b|Duration|seconds|timedelta"
    r"|^time\.(?:Hour|Minute|Second|Millisecond)$"
)
_UNSET = frozenset({"-1"})
_EMPTY = frozenset({"{}", "[]"})
_HOW_OFTEN = re.compile(r"\bhow often\b", re.IGNORECASE)
_RATES = words_of("rate frequency every hertz refresh")
_INTERVALS = words_of("interval period seconds wait delay")
_TIMES_DONE = re.compile(r"\bhow many times\b", re.IGNORECASE)
_HOW_MANY = re.compile(r"\bhow many\b", re.IGNORECASE)
# Names of numbers that count nothing.
_NUMBERED = frozenset({"port", "version", "id", "code", "status", "year"})
_BOOLEAN = re.compile(r"true|false", re.IGNORECASE)


def fits(site: Site, measure: Measure) -> bool:
    """Return whether the value of a site can be of the kind that is asked for."""
    text = site.value.text if site.value is not None else ""
    if measure == "flag":
        return bool(_BOOLEAN.fullmatch(text)) or (site.value is not None and bool(site.value.names))
    if measure in {"time", "count"}:
        named = site.value is not None and bool(site.value.names)
        return named or bool(_NUMBER.search(text)) or site.value is None or text in NOTHING
    return True


def is_other(name: str, chains: Sequence[ValueChain], part: ValuePart) -> bool:
    """Return whether a name speaks of another thing than the question, though it has its words.

    It is of another kind, the type of what is asked for by its name, or no time where one is asked for; or it is the
    bound of what may be given, where it is asked what holds if nothing is.
    """
    own, asked = words_of(name), frozenset(form for term in (*part.terms, *part.context) for form in forms_of(term))
    is_time = says_time(name) or any(_DURATION.search(chain.value or "") for chain in chains)
    if not (own & ATTRIBUTES) <= asked or not (is_time or TIMES.isdisjoint(part.terms)):
        return True
    # A text that only repeats the name is a key, by which others look something up.
    if all(key_of(chain.value or "") == key_of(chain.name) for chain in chains):
        return True
    if all(_counts_what_happened(chain) for chain in chains) or _counts_other_deeds(own, chains, part):
        return True
    if asks_for_bound(part) and own.isdisjoint(BOUNDS) and any(chain.role == "default" for chain in chains):
        return True
    if part.says_default and all(chain.form == "member" for chain in chains):
        return True  # one of several values, of which nobody says that it is the default
    is_bound = all(chain.role == "constant" for chain in chains) and not own.isdisjoint(BOUNDS) and "default" not in own
    return is_bound and part.says_default and asked.isdisjoint(BOUNDS)


def _counts_other_deeds(own: frozenset[str], chains: Sequence[ValueChain], part: ValuePart) -> bool:
    """Return whether a name lacks what is done: «how many times is a request retried» asks for no bound of requests."""
    if part.measure != "count" or _TIMES_DONE.search(part.text) is None or not part.terms:
        return False
    owners = frozenset().union(*(words_of(chain.owner) for chain in chains))
    return not met_by(forms_of(part.terms[-1]), own | owners)


def _counts_what_happened(chain: ValueChain) -> bool:
    """Return whether a name is a count that begins at zero, outside of options: of retries made, of users served."""
    is_count = split_identifier(chain.name)[-1:] == ["count"] and chain.value in {"0", "0.0"}
    return is_count and SETTINGS.isdisjoint(split_identifier(chain.owner))


def likelihood(name: str, values: Sequence[str], part: ValuePart) -> float:
    """Return how well a name and its values fit to what is asked for: a time, or a number of things."""
    measure = part.measure
    if measure == "any" and _EMPTY.issuperset(values):
        return 0.0
    is_time = says_time(name) or any(map(_DURATION.search, values))
    if measure not in {"time", "count"}:
        return 1.0
    own = words_of(name)
    if measure == "count" and _HOW_MANY.search(part.text) and not _NUMBERED.isdisjoint(split_identifier(name)):
        return 0.0
    is_of_other = not is_time and not COUNTS.isdisjoint(own) if measure == "time" else says_time(name)
    if is_of_other and TIMES.isdisjoint(part.terms):
        return 0.0
    # That something is nothing says how long or how many only of what is a time or a bound.
    if all(value in NOTHING for value in values) and not is_time and own.isdisjoint(COUNTS | BOUNDS | SIZES):
        return 0.0
    # A number that stands for nothing says neither how many nor, of what is no time, how long.
    if _UNSET.issuperset(values) or (measure == "time" and not is_time and UNSET_NUMBERS.issuperset(values)):
        return 0.0
    # How often something is done says its interval, not how long it may take, nor a number that is no time.
    if measure == "time" and _HOW_OFTEN.search(part.text) and not is_time and own.isdisjoint(_RATES):
        return 0.0
    if measure == "time" and _HOW_OFTEN.search(part.text) and not own & TIMES <= _INTERVALS:
        return UNLIKELY
    is_number = any(map(_NUMBER.search, values))
    return 1.0 if is_number and is_time == (measure == "time") else UNLIKELY


def measures(value: str, measure: Measure) -> bool:
    """Return whether a proven value is of the kind that is asked for."""
    if measure == "flag":
        return _BOOLEAN.fullmatch(value) is not None
    return measure == "any" or _NUMBER.search(value) is not None or value in {"None", "null", "nil"}
