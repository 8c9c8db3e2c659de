"""Finds what a type has: its methods and fields, in the order of its source."""

from __future__ import annotations

import re
from collections.abc import Sequence

from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.ranking.relevance import Entity
from runtime.primitives.dotted_names import last_part

TYPE_KINDS = frozenset({"class", "struct", "interface", "trait", "enum", "object", "record"})
VALUES = frozenset({"constant", "field", "variable", "property", "attribute"})
# What an object does when it is called itself.
CALLED_ITSELF = frozenset({"__call__", "__invoke", "__call"})
_CONSTRUCTORS = frozenset({"constructor", "initialize", "__construct"})
# What is left of the signature of a private member where those of others are left out.
PRIVATE = "private "
# Where a member without such a word is private, by ending; not in what declares members for others to have.
_SHOWN_BY = {
    "cs": re.compile(r"\b(?:public|protected|internal)\b"),
    "rs": re.compile(r"\bpub\b"),
}
_OPEN_KINDS = frozenset({"interface", "trait", "enum"})


def members_of(entity: Entity, facts: Sequence[CodeFact], with_private: bool = False) -> list[CodeFact]:
    """Return the members of a type in order, each name once, if those of its file were asked for.

    Left out are special ones, members of members, and private ones unless they are wanted.
    """
    if not any("members" in fact.purposes and fact.citation.file == entity.citation.file for fact in facts):
        return []
    prefix = f"{entity.name}."
    in_file = [fact for fact in facts if fact.kind == "definition" and fact.citation.file == entity.citation.file]
    own: dict[str, CodeFact] = {}
    for fact in sorted(in_file, key=lambda fact: fact.citation.start_line):
        if not fact.name.startswith(prefix) or "." in fact.name.removeprefix(prefix) or _is_special(fact):
            continue
        if with_private or not _is_private(fact, entity.kind):
            first = own.setdefault(fact.name, fact)
            # Of several ways to call it, the one that says what it does.
            own[fact.name] = first if first.docstring or not fact.docstring else fact
    return list(own.values())


def is_hidden(fact: CodeFact, owner_kind: str) -> bool:
    """Return whether a member is private by its declaration, or by the rule of its language without a word for it."""
    ending = fact.citation.file.rpartition(".")[2]
    shown = _SHOWN_BY.get(ending)
    if shown is None or owner_kind in _OPEN_KINDS:
        return fact.signature.startswith(PRIVATE)
    return shown.search(fact.signature) is None


def _is_special(fact: CodeFact) -> bool:
    """True for a constructor, and for what Python calls by itself, but for the call of an object."""
    last = last_part(fact.name)
    is_called_by_python = re.fullmatch(r"__\w+__", last) is not None and last not in CALLED_ITSELF
    return fact.symbol_kind == "constructor" or last in _CONSTRUCTORS or is_called_by_python


def _is_private(fact: CodeFact, owner_kind: str) -> bool:
    last = last_part(fact.name)
    if fact.citation.file.endswith(".go"):
        return not last[:1].isupper()
    is_marked = fact.signature.startswith(PRIVATE) or (bool(fact.signature) and is_hidden(fact, owner_kind))
    return is_marked or (last.startswith(("_", "#")) and last not in CALLED_ITSELF)
