"""What a list holds: the things that are of the kind asked for, rather than all that has to do with it.

A thing is of a kind when its name ends in the word for it (`PathPrinter`), when it says so of itself («The standard
printer …»), or when it is declared on top of what bears that name. Where too few are, the words of names decide.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence

import msgspec

from actors.capabilities.code_analysis.answers.extension import derived
from actors.capabilities.code_analysis.answers.wording import item_claim
from actors.capabilities.code_analysis.evidence.claims import Claim, code_span, cut_to
from actors.capabilities.code_analysis.evidence.doc_text import readable
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.listing_scope import TYPE_KINDS, beginning_listed, kinds_listed
from actors.capabilities.code_analysis.ranking.relevance import Entity, is_named, path_shares, shared_words, shares_name
from runtime.codebase.files.words import index_terms, split_identifier
from runtime.primitives.dotted_names import last_part

MAX_ITEMS = 30
ENOUGH = 3
LISTED_SHARE = 0.5
# One word in a signature or a documentation says little; most of several words say what a thing is.
MOST_WORDS = 0.5
MAX_BULLETS = 16
MAX_WORDS_TO_HEAD = 4

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_HEAD_ENDS = frozenset(
    [
        "of",
        "in",
        "for",
        "that",
        "which",
        "with",
        "from",
        "by",
        "at",
        "on",
        "are",
        "is",
        "exist",
        "there",
        "supported",
        "defined",
        "available",
        "used",
        "to",
        "and",
    ]
)
_SAID = frozenset(
    [
        "list",
        "name",
        "show",
        "all",
        "every",
        "each",
        "the",
        "enumerate",
        "which",
        "what",
        "are",
        "exist",
        "there",
        "me",
        "please",
        "of",
        "do",
        "does",
    ]
)
_BULLET = re.compile(r"\s*(?:[-*+]|\d+\.)\s+\S|\s*\|.*\|")


def head_words(question: Question) -> tuple[str, ...]:
    """The words of what is to be listed, in the order of the question, up to what is said of it: `type`, `adapters`."""
    words: list[str] = []
    for word in _WORD.findall(question.text):
        if word.lower() in _HEAD_ENDS and words:
            break
        if word.lower() not in _SAID:
            words.append(word)
    return tuple(words)


def type_name(question: Question) -> str:
    """The name that a type of that kind would have: `TypeAdapter` for «type adapters»; empty without a word."""
    words = [part for word in head_words(question) for part in split_identifier(word)]
    if not words:
        return ""
    *first, last = words
    return "".join(word.capitalize() for word in (*first, _singular(last)))


def listing_claims(question: Question, entities: Sequence[Entity], facts: Sequence[CodeFact]) -> list[Claim]:
    """One claim for each entry; where documents list them, their words first."""
    listed = _entries(question, entities)
    claims = [item_claim(entity) for entity in listed]
    claims += _heirs(question, facts, claims)
    said = _documented(question, facts)
    return [*said, *cut_to(claims, MAX_ITEMS - len(said))]


def _entries(question: Question, entities: Sequence[Entity]) -> list[Entity]:
    words = head_words(question)
    own = [entity for entity in entities if not entity.is_test or "test" in question.terms]
    if kinds := kinds_listed(question):
        return _by_place(
            entity for entity in own or entities if "all_of_kind" in entity.purposes and entity.kind in kinds
        )
    if begins := beginning_listed(question):
        named = [entity for entity in own or entities if "all_of_kind" in entity.purposes]
        return _by_place(entity for entity in named if last_part(entity.name).startswith(begins))
    head = index_terms(words[-1]).split()[-1:] if words else []
    noun = _singular(split_identifier(words[-1])[-1]) if words and split_identifier(words[-1]) else ""
    of_kind = [entity for entity in own if noun and _is_a(entity, noun)]
    types = _with_heirs([entity for entity in of_kind if entity.kind in TYPE_KINDS], own)
    holding = [entity.citation.file for entity in types]
    homes = {file for file in holding if holding.count(file) >= ENOUGH}
    at_home = [entity for entity in own if entity.citation.file in homes and _is_at_home(entity, noun)]
    types += [entity for entity in at_home if entity not in types]
    if len(types) >= ENOUGH:
        return _by_place(types)
    if len(of_kind) >= ENOUGH:
        return _by_place(of_kind)
    if head and (files := _files(own, head[0])):
        return files
    return _by_words(question, own)


def _is_a(entity: Entity, noun: str) -> bool:
    """True for a thing that is called so by its last word, or says so of itself at the beginning."""
    if not entity.name or entity.kind in {"constructor", "module", "section", "key"}:
        return False
    parts = split_identifier(last_part(entity.name))
    if parts and _singular(parts[-1]) == noun and entity.kind not in {"variable", "field", "property"}:
        return entity.kind in TYPE_KINDS or not parts[0].startswith(("get", "set", "is", "new"))
    if entity.kind not in TYPE_KINDS:
        return False
    first = _WORD.findall(readable(entity.docstring))[: MAX_WORDS_TO_HEAD + 1]
    end = next((n for n, word in enumerate(first) if word.lower() in _HEAD_ENDS), len(first))
    return any(_singular(part) == noun for word in first[:end] for part in split_identifier(word)[-1:])


def _with_heirs(types: list[Entity], entities: Sequence[Entity]) -> list[Entity]:
    """The types, and those whose declaration names one of them as what it is built on."""
    known = {last_part(entity.name) for entity in types}
    left = [entity for entity in entities if entity.kind in TYPE_KINDS and entity.name and entity not in types]
    while fresh := [entity for entity in left if known & _bases(entity)]:
        types = [*types, *fresh]
        known |= {last_part(entity.name) for entity in fresh}
        left = [entity for entity in left if entity not in fresh]
    return types


def _is_at_home(entity: Entity, noun: str) -> bool:
    """True for a type of a file that is called after all of them: `exceptions.kt`."""
    home = posixpath.basename(entity.citation.file).partition(".")[0].lower()
    return entity.kind in TYPE_KINDS and "." not in entity.name and home != noun and _singular(home) == noun


def _bases(entity: Entity) -> set[str]:
    """What the declaration of a type names behind its own name, parameters and type arguments left out."""
    rest = entity.signature.partition(last_part(entity.name))[2]
    inside = re.compile(r"<[^<>]*>" if not entity.citation.file.endswith(".py") else r"\[[^\[\]]*\]")
    shown = inside.sub("", inside.sub("", rest))
    behind = re.split(r"\b(?:extends|implements)\b|\)?\s*:|^\s*\(|\s<\s", shown, maxsplit=1)
    return set(_WORD.findall(behind[1])) if len(behind) > 1 else set()


def _by_place(entities: Iterable[Entity]) -> list[Entity]:
    """Neighbours in a file together, the file with most of them first."""
    kept = {(entity.citation.file, entity.name): entity for entity in entities}
    files = [file for file, _ in kept]
    return sorted(kept.values(), key=lambda e: (-files.count(e.citation.file), e.citation.file, e.citation.start_line))


def _files(entities: Sequence[Entity], head: str) -> list[Entity]:
    """One entry for each file that is called so, where several of one folder are and nothing else is."""
    by_file: dict[str, Entity] = {}
    for entity in sorted(entities, key=lambda entity: entity.citation.start_line):
        by_file.setdefault(entity.citation.file, entity)
    named = [file for file in by_file if head in index_terms(posixpath.basename(file).replace(".", " ")).split()]
    folders = [posixpath.dirname(file) for file in named]
    fitting = sorted(file for file in named if folders.count(posixpath.dirname(file)) >= ENOUGH)
    return [
        msgspec.structs.replace(by_file[file], name="", kind="file", docstring="", signature="") for file in fitting
    ]


def _by_words(question: Question, entities: Sequence[Entity]) -> list[Entity]:
    """Places that share a word with what is to be listed, those that share most first; the best when none does."""
    shares = {id(entity): shared_words(entity, question) for entity in entities}
    ordered = sorted(entities, key=lambda entity: (-shares[id(entity)], entity.kind not in TYPE_KINDS))
    most = MOST_WORDS if len(question.terms) > 1 else 1.1
    fitting = [e for e in ordered if shares_name(e, question) or shares[id(e)] >= most]
    plainly = [entity for entity in fitting if set(question.terms) & set(index_terms(entity.name).split())]
    if len(plainly) >= ENOUGH:
        fitting = plainly
    in_file = [entity for entity in fitting if path_shares(entity, question)]
    listed = [*in_file, *(entity for entity in fitting if entity not in in_file)] or list(entities)
    return _of_one_sort(listed)


def _of_one_sort(entities: Sequence[Entity]) -> list[Entity]:
    """The entries of a list without members of its types, where most of it are types; special methods never."""
    named = [entity for entity in entities if entity.name and not last_part(entity.name).startswith("__")]
    types = [entity for entity in named if entity.kind in TYPE_KINDS]
    members = {entity.name for entity in named if entity.name.rpartition(".")[0] in {kind.name for kind in types}}
    if len(types) >= ENOUGH and len(types) >= LISTED_SHARE * len([e for e in named if e.name not in members]):
        return types
    return [entity for entity in named if entity.kind != "module"] or list(entities)


def _heirs(question: Question, facts: Sequence[CodeFact], listed: Sequence[Claim]) -> list[Claim]:
    """What is declared on top of the type that bears the name, where it is not among the entries."""
    base = type_name(question)
    uses = [fact for fact in facts if "heirs" in fact.purposes and fact.kind != "definition"]
    defined = [f for f in facts if f.kind == "definition" and base and is_named(f.name, (base,))]
    if not defined or not uses:
        return []
    known = [citation for claim in listed for citation in claim.citations]
    found = derived(base, [use for use in uses if not use.is_test], MAX_ITEMS)
    fresh = [
        claim
        for claim in found
        if not any(
            c.file == claim.citations[0].file and c.start_line <= claim.citations[0].start_line <= c.end_line
            for c in known
        )
    ]
    return [msgspec.structs.replace(claim, role="item") for claim in fresh]


def _documented(question: Question, facts: Sequence[CodeFact]) -> list[Claim]:
    """The list that a document gives of them: items below a line or a heading that has the word."""
    words = head_words(question)
    head = index_terms(words[-1]).split()[-1:] if words else []
    for fact in facts:
        if not head or fact.kind != "code" or fact.purpose != "listed":
            continue
        lines = fact.text.split("\n")
        start = next((n for n, line in enumerate(lines) if _BULLET.match(line)), None)
        if start is None or head[0] not in index_terms(" ".join(lines[max(0, start - 3) : start])).split():
            continue
        end = start
        while end < len(lines) and end - start < MAX_BULLETS and (_BULLET.match(lines[end]) or not lines[end].strip()):
            end += 1
        shown = [line for line in lines[start:end] if line.strip()]
        if len(shown) < ENOUGH:
            continue
        first = fact.citation.start_line
        while not lines[end - 1].strip():
            end -= 1
        place = {"start_line": first + start, "end_line": first + end - 1, "quote": shown[0].strip()[:160]}
        citation = msgspec.structs.replace(fact.citation, **place)
        text = f"{code_span(fact.citation.file)} lists:"
        return [Claim("module", text, (citation,), code="\n".join(lines[start:end]))]
    return []


def _singular(word: str) -> str:
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("s", "")):
        if word.endswith(ending) and not word.endswith(("ss", "us")):
            return word[: -len(ending)] + instead
    return word
