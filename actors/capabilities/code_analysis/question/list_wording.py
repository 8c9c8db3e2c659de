"""Recognises questions for all things of a kind of code, which a list answers: «List all errors», «Which routes exist?»

«Which characters are escaped?» begins alike, but a sentence answers it. Pure.
"""

from __future__ import annotations

import re

from actors.capabilities.code_analysis.question.kinds import THIS_PROJECT

# The last word of what is a kind of code, or of what a program has several of by their names.
_KIND_OF_CODE = (
    r"(?:(?:sub|super)?class(?:es)?|functions?|methods?|constructors?|interfaces?|protocols?|traits?|structs?|enums?"
    r"|types?|mixins?|constants?|macros?|modules?|packages?|crates?|namespaces?|files?|scripts?|tests?|fixtures?"
    r"|(?:sub)?commands?|routes?|endpoints?|settings?|options?|flags?|(?:environment|env|global) variables?"
    r"|exceptions?|errors?|decorators?|annotations?|handlers?|hooks?|callbacks?|plug-?ins?|extensions?|signals?|events?"
    r"|implementations?|backends?|adapters?|drivers?|models?|views?|controllers?|middlewares?|services?|components?"
    r"|migrations?|entry points?|converters?|validators?|serializers?|parsers?|factor(?:y|ies))"
)
# Other things than code are called so as well: a method of a request, a type of content.
_OTHER_SENSE = (
    r"(?:https?|request|signature|challenge|compression|calculation|payment|authentication|event|mime|media|content"
    r"|response|key|column|file|word)"
)
# What tells such things from others stands in front of the word for them.
_OWN_WORDS = r"(?:(?!(?:of|that|which|where|when|in|for|by|with|to|do|does|are|is) )[\w-]+ ){0,3}?"
_HEAD = rf"(?!{_OTHER_SENSE} (?:methods?|types?|options?|models?)\b){_OWN_WORDS}{_KIND_OF_CODE}"
_POLITE = r"^\W*(?:(?:please|then|and|now|can you|could you)\W+){0,3}"
# What may follow a list that is asked for: where it is to be looked for, or a further question.
_END = rf"(?=\W*$|\s*,|\s+and\b|\s+(?:here|there)\W*$|\s+(?:in|of|from|by|for) (?:{THIS_PROJECT}\W*|\S++\s*)$)"
_EXIST = (
    r"(?:are (?:there|available|defined|declared|implemented|provided|registered|exported|exposed|raised|thrown"
    r"|supported)|exist)"
)
_HAS = r"(?:have|has|offer|provide|support|define|declare|expose|export|contain|include|implement|raise|throw|register)"

_WORDINGS = (
    # Who says «list» wants one, of whatever it is.
    rf"{_POLITE}(?:(?:list|name|enumerate|show(?: me)?|give me) (?:all|every|each)\b|(?:list|enumerate) the\b)",
    rf"{_POLITE}(?:list|enumerate) (?:\w+ ){{0,3}}\w+s\W*$",
    rf"{_POLITE}(?:name|show(?: me)?|give me) the {_HEAD}{_END}",
    rf"{_POLITE}what are all\b",
    rf"{_POLITE}(?:which|what) {_OWN_WORDS}\w+s (?:are there|exist)\W*$",
    rf"{_POLITE}(?:which|what) {_HEAD} {_EXIST}{_END}",
    rf"{_POLITE}(?:which|what) {_HEAD} (?:does|do) (?:[\w./`-]+ ){{1,4}}?{_HAS}\W*$",
)
_ASKS_FOR_LIST = re.compile("|".join(f"(?:{wording})" for wording in _WORDINGS), re.IGNORECASE)
_OF_CODE = re.compile(rf"(?:[\w-]+ )*?{_KIND_OF_CODE}\b", re.IGNORECASE)


def asks_for_list(text: str) -> bool:
    """Return whether a question asks for all things of a kind rather than for what is so of some of them."""
    return _ASKS_FOR_LIST.search(text) is not None


def is_of_code(subject: str) -> bool:
    """Return whether what is to be listed is a kind of code, of which a list says how many there are."""
    return _OF_CODE.match(subject) is not None
