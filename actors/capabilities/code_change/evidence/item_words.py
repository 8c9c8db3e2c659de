"""Knows what an item of a task speaks of, which decides what may prove it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from runtime.codebase.parsing.bodies.meant_bodies import Meant

_PROSE = re.compile(r"\b(?:doc(?:s|strings?|ument\w*)?|comments?|typos?|spelling|wording)\b", re.IGNORECASE)
_REMOVAL = re.compile(
    r"\b(?:remov|delet|drop|strip|clean|tid(?:y|ied)|trim|prun|eliminat|rid\b|unused|obsolete|dead\b|blank|white\s?space)",
    re.IGNORECASE,
)
_QUIET = re.compile(r"\b(?:ignor|suppress|swallow|tolerat|silenc|unused)", re.IGNORECASE)
_TYPE = re.compile(
    r"\b(?:markers?|sentinels?|tags?|exceptions?|errors?|warnings?|sub-?(?:class|typ)\w*|deriv\w+|inherit\w*|extend\w*"
    r"|(?:empty|bare)\s+(?:class|type|struct|interface))\b",
    re.IGNORECASE,
)
_PACKAGE = re.compile(r"\bpackages?\b|__init__|\bpy\.typed\b|\btyped\b|\.(?:git)?keep\b", re.IGNORECASE)
# Of what kind a body may be though it has no effect, where the item says that it shall be so.
_MEANT: Mapping[Meant, re.Pattern[str]] = {
    "logs": re.compile(
        r"\b(?:log(?:s|ged|ging)?(?![\s-]+(?:in|out|on|off|into)\b)|warn(?:s|ed)?|deprecat\w+|print(?:s|ed|ing)?"
        r"|trac(?:es?|ed|ing)|audit\w*)\b",
        re.IGNORECASE,
    ),
    "fails": re.compile(
        r"\b(?:rais(?:es?|ed|ing)|throw(?:s|n|ing)?|reject\w*|refus\w+|forbid\w*|disallow\w*|den(?:y|ies|ied)"
        r"|unsupported|not\s+supported|immutable|read-?only|panics?|aborts?|fails?\s+(?:with|by|at\s+once|loudly))\b",
        re.IGNORECASE,
    ),
    "nothing": re.compile(
        r"\b(?:do(?:es|ing)?|renders?|rendering|shows?|writes?|prints?|keeps?)\s+nothing\b|\bnothing\s+to\s+(?:do|close|release)\b"
        r"|\bno-?\s?ops?\b|\bnull[\s-]objects?\b|\bmarker\s+(?:method|function)",
        re.IGNORECASE,
    ),
    # Not under a condition, which the body would have to ask for.
    "constant": re.compile(
        r"(?!.*\b(?:when|if|on|unless|where|after|while|until|for|without|case)\b)"
        r".*\breturn(?:s|ing)?\b.*(?:\b(?:false|none|null|nil|empty|zero|0)\b|[\"'`])",
        re.IGNORECASE | re.DOTALL,
    ),
}


# Where an item goes on to something else, and how one begins that asks for work.
_PARTS = re.compile(r"\s*[,;:]\s*|\s+(?:and|then|but|while|plus)\s+", re.IGNORECASE)
_WORK = re.compile(
    r"(?:also|then|to|it|they|shall|should|must|first|finally|always|\W)*"
    r"(?:add|apply|build|cache|calculat|call|check|collect|compar|comput|connect|convert|copy|count|creat|decod|detect|download"
    r"|encod|escap|expand|extract|fetch|filter|find|format|generat|handl|implement|index|insert|iterat|join|keep|load|lock"
    r"|look|merg|mov|normaliz|open|pars|pass|process|read|record|refresh|regist|releas|renam|replac|resolv|retr|save|schedul"
    r"|search|select|send|sort|split|start|stor|strip|track|trim|turn|updat|upload|us|validat|verif|wait|wrap|writ)"
    r"(?:e|es|ed|s|ies|y|ting|ing|ning|er|t|te)?\b",
    re.IGNORECASE,
)


class Asks(NamedTuple):
    """Says what an item speaks of: comments, a removal, a package, an ignored failure, a type, a body of one kind."""

    prose: bool
    removal: bool
    package: bool = False
    quiet: bool = False
    type: bool = False
    meant: frozenset[Meant] = frozenset()


def asks_of(item: str) -> Asks:
    """Return what an item of a task speaks of."""
    return Asks(
        prose=_PROSE.search(item) is not None,
        removal=_REMOVAL.search(item) is not None,
        # A package of Python.
        package=_PACKAGE.search(item) is not None,
        quiet=_QUIET.search(item) is not None,
        # A type that may hold nothing: an error, a marker.
        type=_TYPE.search(item) is not None,
        meant=_meant_by(item),
    )


def _meant_by(item: str) -> frozenset[Meant]:
    """Return the kinds of bodies without effect that an item asks for; none where it asks for work beside them."""
    for part in _PARTS.split(item):
        if _WORK.match(part) and not any(words.search(part) for words in _MEANT.values()):
            return frozenset()
    return frozenset(kind for kind, words in _MEANT.items() if words.search(item))
