"""Proves the value of the one setting whose description answers a question.

Code proves it, or else a document states it.

Nothing is told where another setting that has a value fits about as well, or where a setting fits better whose value is
not known. A bound that the question asks for must be said of the setting: its default is no answer for «the lowest».
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.source_text import ReadSource
from runtime.codebase.files.words import index_terms, split_identifier
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.resolution.default_values.site_roles import NOTHING, SETTINGS, UNSET_NUMBERS
from runtime.codebase.resolution.default_values.value_chains import ChainStep, ValueChain, ValueChains
from runtime.codebase.resolution.default_values.value_scopes import ValueScopes
from runtime.codebase.resolution.default_values.value_sites import key_of
from runtime.codebase.search.prose.sentences import MAX_QUOTE_CHARS, split_sentences
from runtime.codebase.search.values.described_settings import LEAST_TERMS, Described, described_settings
from runtime.codebase.search.values.named_values import VALUES
from runtime.codebase.search.values.shipped_settings import ShippedSettings
from runtime.codebase.search.values.value_fit import is_other, likelihood, measures
from runtime.codebase.search.values.value_questions import Measure, ValuePart
from runtime.codebase.search.values.value_words import (
    ATTRIBUTES,
    forms_of,
    met_by,
    says_time,
    subject_of,
    words_of,
)

# How far behind the next setting with a value must be, and how many are looked at.
MARGIN, MAX_LOOKED_AT = 0.1, 6
MAX_VALUES, MAX_FILES = 3, 12
# The forms of values that a document states, and of sentences that tell of one.
DOCUMENTED, SENTENCE = "document", "sentence"

_LEAST = frozenset(index_terms("lowest least smallest shortest oldest min minimum minimal lower").split())
_MOST = frozenset(index_terms("highest greatest largest biggest longest max maximum maximal upper limit most").split())
_LEAST_SAID = re.compile(r"\b(?:must|at least|requires?|required)\b", re.IGNORECASE)
# What may be given is no default.
_GIVEN = re.compile(
    r"\b(?:accept(?:s|ed)?|allow(?:s|ed)?|permit(?:s|ted)?|valid|legal|can be (?:set|given))\b", re.IGNORECASE
)
_DEFAULT = re.compile(r"\bdefaults?\b", re.IGNORECASE)
_REPEATED = re.compile(r"\b(?:tr(?:y|ied|ies)|retr\w+|attempt\w*|again|repeat\w*|may|can|at most)\b", re.IGNORECASE)
_HOW_OFTEN = re.compile(r"\bhow often\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d")
_OF_DEFAULT = re.compile(r"\bby default\b|\bdefaults? (?:is|are|to|value)\b|\bdefault:", re.IGNORECASE)
_QUANTITY = re.compile(
    r"\d|`[^`]+`|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|unlimited|infinit\w+|no limit)\b",
    re.IGNORECASE,
)
_QUOTED_NUMBER = re.compile(r"[\"'`]-?\d+(?:\.\d+)? ?[A-Za-z%]{0,12}[\"'`]")
_BOUNDING = frozenset({"max", "maximum", "min", "minimum", "limit", "default"})
# What stands between a comment and what it documents.
_ATTRIBUTES = ("#[", "@")
_LIST = re.compile(r"[\[{,]")
_SWITCH = re.compile(r"true|false|on|off|enabled|disabled", re.IGNORECASE)


class DescribedValue(NamedTuple):
    """Describes a setting and its value: chains of code, or one of form `document` where only a document states it.

    `covered`, `of_name`: the shares of the question's weight that its description and its name have.
    """

    name: str
    covered: float
    of_name: float
    chains: tuple[ValueChain, ...]

    @property
    def is_proven(self) -> bool:
        """True if code proves the value."""
        return any(chain.form not in {DOCUMENTED, SENTENCE} for chain in self.chains)


class DescribedValues:
    """Finds the setting that a part of a question describes, with its value."""

    def __init__(
        self,
        index: IndexReader,
        scopes: ValueScopes,
        read: ReadSource,
        chains: ValueChains,
        shipped: ShippedSettings,
    ) -> None:
        self._index = index
        self._scopes = scopes
        self._read = read
        self._chains = chains
        self._shipped = shipped

    def best(self, part: ValuePart) -> DescribedValue | None:
        """Return the setting whose description clearly fits best, with its value; None if there is no such one.

        «How often is it tried again» asks for a number, «how often is it sent» for a time.
        """
        found = self._best(part)
        if found is None and part.measure == "time" and _HOW_OFTEN.search(part.text) and _REPEATED.search(part.text):
            found = self._best(msgspec.structs.replace(part, measure="count"))
        return found

    def _best(self, part: ValuePart) -> DescribedValue | None:
        found: DescribedValue | None = None
        unvalued: Described | None = None
        score = 0.0
        for same in _by_name(described_settings(self._index, self._read, part))[:MAX_LOOKED_AT]:
            if found is not None and same[0].score <= score - MARGIN:
                break
            value = self._value(same, part)
            if value is not None and found is not None:
                return None
            if value is not None:
                found, score = value, same[0].score
            elif unvalued is None and _may_say(same, part) and any(map(self._is_value, same)):
                unvalued = same[0]
        if unvalued is not None and (found is None or unvalued.score > score):
            return self._said(unvalued, part) if found is None else None
        return found

    def _value(self, same: Sequence[Described], part: ValuePart) -> DescribedValue | None:
        """Return the value of a setting by its descriptions, those of most weight first."""
        first = same[0]
        if not _is_bound_asked_for(first, part):
            return None
        stated = [one for one in same if one.setting is not None and one.setting.default]
        chains = self._proven(same, [one.setting.default for one in stated if one.setting is not None], part)
        if not chains:
            chains = [chain for one in stated[:1] if (chain := self._documented(one, part)) is not None]
        values = [chain.value or "" for chain in chains]
        if not chains or not self._is_of_measure(same, values, part):
            return None
        return (
            None
            if is_other(first.name, chains, part)
            else DescribedValue(first.name, first.covered, first.of_name, tuple(chains))
        )

    def _is_of_measure(self, same: Sequence[Described], values: Sequence[str], part: ValuePart) -> bool:
        """Return whether a setting and its values are of the kind asked for: of a time, one that is said to be."""
        if part.measure in {"time", "count"} and any(_LIST.search(value) for value in values):
            return False
        if part.measure == "count" and UNSET_NUMBERS.issuperset(values) and not _is_set_by_somebody(same):
            return False
        fit = likelihood(same[0].name, values, part)
        return fit == 1.0 or (fit > 0 and (part.measure != "time" or any(one.says_time for one in same)))

    def _proven(self, same: Sequence[Described], stated: Sequence[str], part: ValuePart) -> list[ValueChain]:
        """Return the chains of a setting: those of the type that is described, and of the value that is stated.

        Without any of the setting itself those of the constant that is named as its default: `DEFAULT_TIMEOUT`.
        """
        name, owners = same[0].name, [one.owner for one in same if one.owner]
        own = list(dict.fromkeys(one.file for one in same if kind_of_path(one.file) == "source"))
        # That a type is called like thousands of others says nothing of which one has the name.
        is_common = len(words_of(name)) == 1 and bool(owners)
        for wanted in (name, f"default_{name}"):
            for files in filter(None, (own, self._scopes.files_with(wanted)[:MAX_FILES])):
                found = [
                    chain
                    for chain in self._chains.of(wanted, files)
                    if chain.value is not None and chain.value not in NOTHING and _measures(chain.value, part.measure)
                ]
                akin = [chain for chain in found if any(_is_akin(chain, owner) for owner in owners)]
                found = akin if is_common and wanted == name else found
                kept = [chain for chain in found if chain.value in stated] or akin or found
                if kept:
                    return kept if len({chain.value for chain in kept}) <= MAX_VALUES else []
        found = [chain for chain in self._shipped.chains_of(name) if _measures(chain.value or "", part.measure)]
        return found if len({chain.value for chain in found}) == 1 else []

    def _documented(self, one: Described, part: ValuePart) -> ValueChain | None:
        """Return what a document states as the default of a setting, if it is of the kind that is asked for."""
        setting, source = one.setting, self._read(one.file)
        if setting is None or source is None or kind_of_path(one.file) not in {"docs", "source"}:
            return None
        value, line = setting.default, source.lines[setting.default_line - 1].strip()
        if part.measure in {"time", "count"} and not _NUMBER.search(value):
            return None
        if (part.measure == "flag" and not _SWITCH.fullmatch(value)) or value not in line or value in NOTHING:
            return None
        step = ChainStep(one.file, setting.default_line, line, one.name)
        return ValueChain(one.name, "", "default", DOCUMENTED, value, (step,))

    def _said(self, one: Described, part: ValuePart) -> DescribedValue | None:
        """Return a setting without a value of its own with the sentence that tells what holds by default."""
        source = self._read(one.file)
        if source is None or not _is_bound_asked_for(one, part):
            return None
        lines, is_document = source.lines[one.start_line - 1 : one.end_line], kind_of_path(one.file) == "docs"
        while lines and lines[-1].lstrip().startswith(_ATTRIBUTES):
            lines = lines[:-1]
        told = [
            said
            for said in split_sentences(lines, one.start_line, is_document=is_document)
            if _OF_DEFAULT.search(said.text)
            and _QUANTITY.search(said.text)
            and len(said.text) <= MAX_QUOTE_CHARS
            and _speaks_of(f"{one.name} {said.text}", part)
        ]
        if len(told) != 1:
            return None
        step = ChainStep(one.file, told[0].start_line, told[0].text, one.name, told[0].end_line)
        chain = ValueChain(one.name, one.owner, "default", SENTENCE, None, (step,))
        return DescribedValue(one.name, one.covered, one.of_name, (chain,))

    def _is_value(self, one: Described) -> bool:
        """Return whether a description is that of a setting, and not of a function or a class."""
        if one.setting is not None:
            return True
        named = self._index.symbols(
            "s.qualified_name = ? AND f.path = ?", (f"{one.owner}.{one.name}".strip("."), one.file), 5
        )
        return any(symbol.kind in VALUES for symbol in named)


def _may_say(same: Sequence[Described], part: ValuePart) -> bool:
    """Return whether a setting of unknown value may be what is asked for: a lock is no time, options are no number."""
    if part.measure in {"time", "count"} and not words_of(same[0].name).isdisjoint(ATTRIBUTES):
        return False
    return part.measure != "time" or says_time(same[0].name) or any(one.says_time for one in same)


def _by_name(found: Sequence[Described]) -> list[list[Described]]:
    """Return the descriptions of each name together, in order of the best of each."""
    same: dict[str, list[Described]] = {}
    for one in found:
        same.setdefault(key_of(one.name), []).append(one)
    return list(same.values())


def _is_bound_asked_for(one: Described, part: ValuePart) -> bool:
    """Return whether a setting is the bound that a question asks for, if it asks for one.

    The least that is accepted is no default, and the most is that of a setting only if its name or its text says so.
    """
    asked, name = frozenset(part.terms), words_of(one.name)
    is_of_least = not asked.isdisjoint(_LEAST) or _LEAST_SAID.search(part.text) is not None
    if is_of_least and name.isdisjoint(_LEAST):
        return False
    is_of_given = _GIVEN.search(part.text) is not None and _DEFAULT.search(part.text) is None
    return not is_of_given or not name.isdisjoint(_MOST)


def _is_set_by_somebody(same: Sequence[Described]) -> bool:
    """Return whether a name that begins at zero is one that users set, and no count of what has happened so far."""
    said = frozenset(part for one in same for part in split_identifier(f"{one.owner} {one.name}"))
    is_stated = any(one.setting is not None and one.setting.default for one in same)
    return is_stated or not said.isdisjoint(SETTINGS) or not said.isdisjoint(_BOUNDING)


def _speaks_of(text: str, part: ValuePart) -> bool:
    """Return whether a text has at least two words of the subject, and half of them."""
    own, terms = frozenset(index_terms(text).split()), subject_of(part)
    met = sum(met_by(forms_of(term), own) > 0 for term in terms)
    return met >= LEAST_TERMS and 2 * met >= len(terms)


def _measures(value: str, measure: Measure) -> bool:
    is_number = measure in {"time", "count"} and _QUOTED_NUMBER.fullmatch(value) is not None
    return is_number or measures(value, measure)


def _is_akin(chain: ValueChain, owner: str) -> bool:
    """Return whether a value belongs to the type or function that a description stands in, or to one named after it."""
    theirs = key_of(owner.rpartition(".")[2])
    for one in filter(None, (chain.owner, chain.function)):
        mine = key_of(one)
        if theirs and (theirs in mine or (mine in theirs and len(split_identifier(one)) > 1)):
            return True
    return False
