"""Finds the values that a question asks for: the names it means, and the proof of what each is.

Names come from the question itself, from constants, fields and options whose names share its words, from the places and
the passages that rank best for it. A name is asserted only if what is said of it - its words, its owner, its comment or
help text - covers the subject of the question, if its value is of the kind that is asked for, and if no other name fits
about as well. All others are left out: a value of the wrong name would be a false answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence, Set

import msgspec

from runtime.codebase.files.source_text import ReadSource
from runtime.codebase.files.words import index_terms, query_terms
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.resolution.default_values.counted_names import counted_names
from runtime.codebase.resolution.default_values.site_roles import NOTHING
from runtime.codebase.resolution.default_values.value_chains import ValueChain, ValueChains
from runtime.codebase.resolution.default_values.value_scopes import ValueScopes
from runtime.codebase.resolution.default_values.value_sites import Site, key_of
from runtime.codebase.search.values.candidate_sites import CandidateSites
from runtime.codebase.search.values.described_values import DescribedValue, DescribedValues
from runtime.codebase.search.values.shipped_settings import ShippedSettings
from runtime.codebase.search.values.stated_values import stated_value
from runtime.codebase.search.values.value_candidates import WHOLE_NAME, Candidate, clear_best
from runtime.codebase.search.values.value_fit import fits, is_other, likelihood, measures
from runtime.codebase.search.values.value_questions import ValuePart, described_parts, value_parts
from runtime.codebase.search.values.value_words import (
    forms_of,
    forms_with_joined,
    free_words,
    is_of_subject,
    met_by,
    owner_share,
    plain_share,
    subject_of,
    words_of,
    words_of_path,
)

MAX_NAMES = 12
MAX_PLACES = 12
MAX_SITES = 600
MAX_ASKED = 3
MAX_PASSAGES = 6
OWNER_WEIGHT, SAID_WEIGHT, TOLD_WEIGHT, CONTEXT_WEIGHT = 0.7, 0.55, 0.45, 0.2
# What each word of a name costs that the question does not have.
FURTHER_WORD_COST = 0.12
# What a constant that is not called a default counts where a default is asked for.
OF_CONSTANT = 0.85
NEAR_SHARE = 0.85

# A name behind the first word of a sentence.
_PROPER = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b")
_QUOTED = re.compile(r"`([A-Za-z_][\w.:\-]{1,100})`")

_ASKS_HOW = re.compile(r"\W*(?:how|which)\b", re.IGNORECASE)

Place = tuple[str, int, int]


class AskedValue(msgspec.Struct, frozen=True):
    """Represents a value that a question asks for: the name as asked, and all places that say what it is.

    `share`: the part of the question's weight that what is said of the name covers; `part`: the part of the question.
    """

    part: str
    name: str
    share: float
    chains: tuple[ValueChain, ...]


def asked_values(
    index: IndexReader,
    scopes: ValueScopes,
    read: ReadSource,
    question: str,
    ranked: Callable[[str], Sequence[Place]],
    named: Iterable[str] = (),
) -> list[AskedValue]:
    """Return the values that a question asks for, in the order of its parts; empty if it asks for none.

    `ranked` gives the best places for a text; `named`: names that passages about the question write as code.
    """
    parts, search = value_parts(question), ValueSearch(index, scopes, read)
    if not parts:
        return search.in_other_words(question)
    written = tuple(dict.fromkeys((*_QUOTED.findall(question), *query_terms(question).identifiers)))
    places = list(ranked(question)[:MAX_PLACES])
    found: list[AskedValue] = []
    for part in parts:
        near = places + ([] if part.text == question else list(ranked(part.text)[:MAX_PLACES]))
        best = search.of_names(written) or search.best(part, near, tuple(named))
        found += [
            AskedValue(part.text, one.name, one.share, one.chains)
            for one in best or search.stated(part)
            if all(one.name != other.name for other in found)
        ]
    return found[:MAX_ASKED]


def _described(told: DescribedValue) -> Candidate:
    return Candidate(told.name, told.covered, told.of_name, told.chains)


class ValueSearch:
    """Finds the names that the parts of a question mean."""

    def __init__(self, index: IndexReader, scopes: ValueScopes, read: ReadSource) -> None:
        self._index = index
        self._read = read
        self._scopes = scopes
        self._chains = ValueChains(self._scopes)
        self._shipped = ShippedSettings(index, read)
        self._described = DescribedValues(index, scopes, read, self._chains, self._shipped)
        self._sites = CandidateSites(index, scopes, read, self._shipped)
        self._pieces = max(2, index.chunk_count())
        self._rarities: dict[str, float] = {}
        self._states: dict[str, frozenset[str]] = {}

    def of_names(self, names: Sequence[str]) -> list[Candidate]:
        """Return the first of the names that a question writes as code which gets a value, proven or not."""
        for name in names:
            owner, _, last = name.replace("::", ".").rpartition(".")
            chains = self._chains.of(last, self._scopes.files_with(last))
            if owner:
                chains = [chain for chain in chains if key_of(chain.owner).endswith(key_of(owner))]
            if chains:
                return [Candidate(chains[0].name, 1.0, 1.0, tuple(chains))]
        return []

    def in_other_words(self, question: str) -> list[AskedValue]:
        """Return the value of the setting that a question for a default describes, which is worded in no usual way."""
        parts = described_parts(question)
        described = [(part, self._described.best(part)) for part in parts]
        told = [AskedValue(part.text, one.name, one.covered, one.chains) for part, one in described if one is not None]
        return told or [
            AskedValue(part.text, one.name, one.share, one.chains) for part in parts for one in self.stated(part)
        ]

    def best(self, part: ValuePart, places: Sequence[Place], named: tuple[str, ...]) -> list[Candidate]:
        """Return the names that a part of a question means: by what is said of one, or by the words of names.

        A name that has the whole subject goes before one whose description has it, and what code proves before what a
        document states.
        """
        told = self._described.best(part)
        if told is not None and told.is_proven and told.of_name >= WHOLE_NAME:
            return [_described(told)]
        by_name = clear_best(self.candidates(part, places, named))
        if told is None:
            return by_name
        same = [one for one in by_name if key_of(one.name) == key_of(told.name)]
        if same or not by_name:
            return [_described(told)] if told.is_proven or not same else same
        return by_name if by_name[0].of_name >= WHOLE_NAME or not told.is_proven else [_described(told)]

    def stated(self, part: ValuePart) -> list[Candidate]:
        """Return the sentence that states the value of a part of a question, where no name is proven to have it."""
        found = stated_value(self._index, self._read, part)
        return [] if found is None else [Candidate(found.value, found.covered, 0.0, (found.chain,))]

    def candidates(self, part: ValuePart, places: Sequence[Place], named: tuple[str, ...]) -> list[Candidate]:
        """Return the names with a proven value of the kind asked for, those first of which most is said."""
        sites: dict[tuple[str, int, str], Site] = {}
        for site in self._sites.of(part, places, named):
            if len(sites) < MAX_SITES and fits(site, part.measure) and not self._is_state(site):
                sites.setdefault((site.file, site.line, site.name), site)
        by_name: dict[str, list[tuple[float, float, Site]]] = {}
        for site in sites.values():
            share, of_name = self.share(site, part, "")
            by_name.setdefault(key_of(site.name), []).append((share, of_name, site))
        rough = sorted(by_name.values(), key=lambda known: -max(share for share, _, _ in known))
        found = [self._proven(part, known) for known in rough[:MAX_NAMES]]
        return sorted((one for one in found if one is not None), key=lambda one: -one.share)

    def _proven(self, part: ValuePart, known: list[tuple[float, float, Site]]) -> Candidate | None:
        """Return a name with its proofs and with what documents say of it; None without a proof.

        Of several things of that name those count of which about as much of the question is said.
        """
        documents = self._documents_on(known[0][2].name)
        rated = [(*self.share(site, part, documents), site) for _, _, site in known]
        best_share, of_name, best = max(rated, key=lambda one: one[0])
        near = {(site.file, site.line) for share, _, site in rated if share >= NEAR_SHARE * best_share}
        chains = self._chains.of(best.name, list(dict.fromkeys(site.file for _, _, site in known)))
        # What code gives goes before what it reads from a file of settings.
        if all(chain.value is None for chain in chains):
            chains = [chain for chain in self._shipped.chains_of(best.name) if _ends_in(chain, near)]
            near |= {chain.place for chain in chains}
        kept = [
            chain
            for chain in chains
            if chain.place in near and chain.value is not None and measures(chain.value, part.measure)
        ]
        if not kept:
            return None
        # What a thing is as long as nobody has set it says less than what it is set to elsewhere.
        kept = [chain for chain in kept if chain.value not in NOTHING] or kept
        if part.says_default and "default" not in words_of(best.name):
            kept = [chain for chain in kept if chain.role == "default"] or kept
        factor = likelihood(best.name, [chain.value or "" for chain in kept], part)
        if not factor or is_other(best.name, kept, part):
            return None
        # A switch answers what is done only where its name says all of it.
        is_switch = part.measure == "any" and all(measures(chain.value or "", "flag") for chain in kept)
        is_nothing = part.measure == "any" and of_name < WHOLE_NAME and all(chain.value in NOTHING for chain in kept)
        if (is_switch or is_nothing) and _ASKS_HOW.match(part.text):
            return None
        is_mere_constant = part.says_default and all(chain.role == "constant" for chain in kept)
        is_mere_constant = is_mere_constant and "default" not in words_of(best.name)
        factor *= OF_CONSTANT if is_mere_constant else 1.0
        owners = {chain.owner for chain in kept} - {""}
        unproven = [
            chain for chain in chains if chain.value is None and chain.role == "default" and chain.owner in owners
        ]
        return Candidate(
            best.name,
            factor * best_share,
            of_name,
            (*kept, *unproven),
            0.0 if is_mere_constant or self._is_of_other(best, part) or is_switch else self._plain_share(best, part),
        )

    def _is_state(self, site: Site) -> bool:
        """Return whether a name is counted up in its file: nobody sets what it begins with."""
        if site.file not in self._states:
            self._states[site.file] = counted_names(self._text(site.file) or "")
        return site.name in self._states[site.file]

    def share(self, site: Site, part: ValuePart, documents: str) -> tuple[float, float]:
        """Return the share of the subject that a name and what is said of it cover, and that of the name alone.

        The words of other parts of the question stand in for the subject where the part has hardly any of its own. A
        name that says more than the question loses for each further word.
        """
        name = words_of(site.name)
        # What most names of a file begin with is that of the program.
        name = name - self._sites.prefixes(site.file) or name
        owner = words_of(" ".join((site.around.owner, site.around.function, *site.around.holders)))
        owner |= words_of_path(_file_words(site.file))
        said, told = frozenset(index_terms(self._sites.said(site)).split()), frozenset(documents.split())
        # Where an option is declared, its help text says what it is for.
        if not is_of_subject(name | owner | (said if site.declares else frozenset()), part):
            return 0.0, 0.0
        # A port is asked for by that word alone.
        is_whole = len(part.terms) > 1 or part.terms == ("port",)
        own = part.terms if is_whole else (*part.terms, *part.context)
        met = of_name = total = 0.0
        asked: set[str] = set()
        for term, forms in forms_with_joined(own, part.text).items():
            weight = self._rarity(term)
            in_name = met_by(forms, name)
            asked |= forms.keys()
            of_name += weight * in_name
            others = (
                OWNER_WEIGHT * met_by(forms, owner),
                SAID_WEIGHT * met_by(forms, said),
                TOLD_WEIGHT * met_by(forms, told),
            )
            met += weight * max(in_name, *others)
            total += weight
        if not total:
            return 0.0, 0.0
        around = [max(met_by(forms_of(term), name | owner), met_by(forms_of(term), said)) for term in part.context]
        more = CONTEXT_WEIGHT * sum(around) / len(around) if around and len(part.terms) > 1 else 0.0
        further = len(name - asked - free_words(part) - frozenset(part.context))
        if len(own) == 1 and further:
            return 0.0, 0.0
        return max(0.0, met / total + more - FURTHER_WORD_COST * further), of_name / total

    def _plain_share(self, site: Site, part: ValuePart) -> float:
        plain = plain_share(site.name, part, self._index.document_counts(list(subject_of(part))))
        is_nothing = site.value is None or site.value.text in NOTHING
        return plain or (0.0 if is_nothing else owner_share(site.name, site.around.owner, part))

    def _is_of_other(self, site: Site, part: ValuePart) -> bool:
        """Return whether a question names a thing, such as «the Kubernetes operator», of which nothing is said here."""
        said = index_terms(
            " ".join((site.name, *site.around.holders, site.around.owner, site.file, self._sites.said(site)))
        )
        return not frozenset(index_terms(" ".join(_PROPER.findall(part.text))).split()) <= frozenset(said.split())

    def _rarity(self, term: str) -> float:
        if term not in self._rarities:
            count = self._index.document_counts([term]).get(term, 0)
            self._rarities[term] = math.log(1 + self._pieces / (1 + count)) if count else 1.0
        return self._rarities[term]

    def _documents_on(self, name: str) -> str:
        """Return the terms of what documents and declarations of a name of two words or more say of it."""
        terms = index_terms(name).split()
        if len(terms) < 3:
            return ""
        declared = self._index.symbols("s.name = ? AND s.docstring <> ''", (name,), MAX_PASSAGES)
        sql = """SELECT body || ' ' || heading FROM passage_text WHERE passage_text MATCH ?
            ORDER BY bm25(passage_text) LIMIT ?"""
        passages = [text for (text,) in self._index.rows(sql, (f'"{terms[0]}"', MAX_PASSAGES))]
        return " ".join((*passages, *(index_terms(symbol.docstring) for symbol in declared)))

    def _text(self, file: str) -> str | None:
        source = self._read(file)
        return None if source is None else source.text


def _ends_in(chain: ValueChain, places: Set[tuple[str, int]]) -> bool:
    return (chain.steps[-1].file, chain.steps[-1].line) in places


def _file_words(file: str) -> str:
    parts = file.rsplit("/", 2)[-2:]
    return " ".join(part.partition(".")[0] for part in parts)
