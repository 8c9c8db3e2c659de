"""Questions for all that is of one kind of code: «list all functions», «what modules are there?», of all or of a path.

No search by words finds these: a function is one whatever it is called. The index knows the kind of each symbol. Types
that are open are what is extended. Pure.
"""

from __future__ import annotations

import re

from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.kinds import THIS_PROJECT
from runtime.codebase.files.words import split_identifier, stem
from runtime.codebase.search.values.environment_reads import ENVIRONMENT_VARIABLE
from runtime.primitives.dotted_names import last_part

# The query that asks for all of a kind.
ALL = "*"

TYPE_KINDS = frozenset({"class", "struct", "interface", "trait", "enum", "type", "object", "protocol", "record"})
# Types that are open on purpose: who extends one writes its members.
OPEN_KINDS = ("interface", "trait", "protocol")
MAX_DOCSTRING_CHARS = 400
_ABSTRACT = re.compile(r"\babstract\b|\bABC\b|\bProtocol\b|\bopen class\b|\bsealed\b")
_SAYS_OPEN = re.compile(
    r"\b(?:(?:abstract )?base class|subclass(?:es|ed)?\b.{0,40}\b(?:must|should|can|may|to)"
    r"|should (?:extend|inherit|subclass)|to be (?:extended|subclassed|overridden))",
    re.IGNORECASE,
)
# What the name of one begins with, as terms.
BASE = frozenset({"base", "abstract"})

_KINDS_OF_WORD: dict[str, frozenset[str]] = {
    "functions": frozenset({"function"}),
    "methods": frozenset({"method", "constructor"}),
    "classes": frozenset({"class"}),
    "interfaces": frozenset({"interface", "protocol"}),
    "types": TYPE_KINDS,
    "constants": frozenset({"constant"}),
    "modules": frozenset({"module"}),
    **{f"{kind}s": frozenset({kind}) for kind in ("struct", "trait", "enum", "record")},
}
_ENVIRONMENT = re.compile(
    r"(?:all |the |any )*(?:environment|env)[ -]?(?:variables?|vars?)\b"
    r"(?!.*\b(?:set|written|passed|given) (?:for|to)\b)",
    re.IGNORECASE,
)
_BEGINNING = re.compile(r"(?<![\w*])([A-Za-z_]\w{2,})\*(?![\w*])")
_ALL_OF_IT = re.compile(rf"(\w+)(?:\s+(?:(?:in|of|from)\s+)?({THIS_PROJECT}|\S*[./]\S*))?", re.IGNORECASE)


def beginning_listed(question: Question) -> str:
    """Return what the names begin with of which all are asked for, `ERR_` of «all `ERR_*` codes»; empty without it."""
    found = _BEGINNING.search(question.text) if question.asks_for_list else None
    return found[1] if found is not None else ""


def is_open_type(name: str, kind: str, signature: str, docstring: str) -> bool:
    """Return whether a type is there to be extended, by its kind, name, declaration or documentation."""
    says_so = kind == "class" and _SAYS_OPEN.search(docstring[:MAX_DOCSTRING_CHARS]) is not None
    first = stem(next(iter(split_identifier(last_part(name))), ""))
    return kind in OPEN_KINDS or says_so or _ABSTRACT.search(signature) is not None or first in BASE


def kinds_listed(question: Question) -> frozenset[str]:
    """The kinds of symbols of which all are asked for; empty when the question says more of them than their kind."""
    if question.asks_for_list and _ENVIRONMENT.match(question.subject.strip()) is not None:
        return frozenset({ENVIRONMENT_VARIABLE})
    found = _ALL_OF_IT.fullmatch(question.subject.strip()) if question.asks_for_list else None
    if found is None or question.identifiers or (found[2] and "." in found[2] and found[2] not in question.paths):
        return frozenset()
    return _KINDS_OF_WORD.get(found[1].lower(), frozenset())
