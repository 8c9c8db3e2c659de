"""Recognises the parts of a question that ask for a value, and what kind of value each asks for.

`value_parts` returns a part for «what is the default …», «how many …», «how long …», «which port …», «is it on by
default», with the words that it speaks of. Pure text analysis.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from runtime.codebase.files.words import query_terms, stem

# `time`: how long; `count`: how many, how much; `flag`: whether it is on; `text`: a name, a path, a port; `any`.
Measure = Literal["time", "count", "flag", "any"]

MAX_PARTS = 4
# What is longer is a report, of which only the beginning may ask.
MAX_READ_CHARS = 4_000

_NONE_GIVEN = (
    r"\b(?:(?:if|when|unless|where|as long as) "
    r"(?:i|you|we|one|nobody|none|no|nothing|it|they|the (?:user|caller|option)s?)"
    r"(?: (?:is|are|do|does|did|have|has))?(?: not|n't| never)? ?"
    r"(?:say|said|set|sets|give|given|gives|configur\w*|specif\w*|restrict\w*|pass\w*|tell|told|choose|chosen|"
    r"chang\w*|provid\w*|ask\w*|touch\w*|limit\w*|mention\w*)"
    r"|when none is given|if none is given|without (?:any |a |further |special )*"
    r"(?:saying|setting|settings|configur\w*|"
    r"preparation|specif\w*|giving|options?|arguments?)|out of the box|standard settings?|(?:left|leave) (?:it )?alone|"
    r"configure nothing|say nothing|gave only|not (?:set|given|specified|configured|passed|provided)|"
    r"by itself|unless told|unless configured)\b"
)
_NOT_GIVEN = re.compile(_NONE_GIVEN, re.IGNORECASE)
_DENIED = re.compile(
    r"\b(?:no|none|nobody|nothing|not|never|without|alone|unless)\b|n't|\bout of the box\b", re.IGNORECASE
)
_WHAT_IF = re.compile(r"\W*what (?:if|about)\b", re.IGNORECASE)
_DEFAULT = re.compile(rf"\bdefaults?\b|\bdefault(?:s|ed)? to\b|{_NONE_GIVEN}", re.IGNORECASE)
_TIME = re.compile(
    r"\b(?:how (?:long|often|soon|late|old)|for how long|how (?:much time|many (?:milli)?seconds|many minutes)|"
    r"(?:which|what) (?:\w+ ){0,2}(?:timeout|interval|delay|period|wait|pause|lifetime|expir\w+|ttl|duration)|"
    r"how (?:quickly|fast))\b",
    re.IGNORECASE,
)
# «How long may a line be?»
_OF_LENGTH = re.compile(
    r"\bhow long (?:may|can|must|should|could) .{1,60}\b(?:be|get|become)\b"
    r"(?=\W*(?:$|by default|at most|at least|at minimum|if|when|unless))",
    re.IGNORECASE,
)
_COUNT = re.compile(
    r"\b(?:how (?:many|much|big|large|far|deep|high|small|wide|tall|similar)|at most how|"
    r"(?:what|which) (?:\w+ ){0,4}(?:limit|maximum|minimum|size|number|count|port|length|depth|bound)"
    r"|up to how)\b|\bis there (?:a|any) (?:\w+ )?(?:limit|bound|maximum)\b",
    re.IGNORECASE,
)
# «What is the lowest version that it accepts?»
_EXTREME = re.compile(
    r"\b(?:what|which)(?: is| are| was|'s)? (?:the )?(?:\w+ )?"
    r"(?:lowest|least|smallest|shortest|oldest|minimum|minimal|highest|greatest|largest|biggest|longest|maximum|maximal)\b",
    re.IGNORECASE,
)
_OF_TIME = re.compile(
    r"\b(?:time|timeouts?|intervals?|delays?|durations?|periods?|lifetimes?|seconds|pauses?)\b", re.IGNORECASE
)
_FLAG = re.compile(
    r"^\W*(?:(?:and|but) )?(?:is|are|was|were|does|do|will) .{1,160}\bby default\b"
    r"|\b(?:on|off|enabled|disabled) by default\b",
    re.IGNORECASE,
)
# «What is the default …», «to what does it default», «which … is used by default».
_ASKS_DEFAULT = re.compile(
    r"\b(?:what|which)\b.{0,60}\b(?:defaults?\b(?! (?:behaviou?r|constructor|export|implementation)))|"
    r"\bset to by default\b|"
    r"\b(?:what|which) .{1,80}\b(?:is|are|does) .{0,80}\bby default\b|^\W*what (?:is|are) .{1,80}\bby default\b|"
    r"\b(?:what|which) \w+ is used (?:when|if)\b|"
    r"\bdefaults? (?:value )?(?:of|for)\b",
    re.IGNORECASE,
)
# Asks for a bound, whose number a reader wants, in other words than «how many».
_BOUNDED = re.compile(
    r"\b(?:limits?|limited|maximum|minimum|thresholds?|(?:upper|lower) bounds?|bounded|capped?|at most|at least|"
    r"up to (?:which|what|how)|(?:before|until) (?:it |one |they )?(?:gives?|giving) up|"
    r"how (?:deeply|similar|few|short|close|near))\b",
    re.IGNORECASE,
)
# What may be given is no default.
_GIVEN = re.compile(
    r"\b(?:accept(?:s|ed)?|allow(?:s|ed)?|permit(?:s|ted)?|(?:valid|legal) (?:values?|range)|can be (?:set|given))\b",
    re.IGNORECASE,
)
_LEAST = re.compile(r"\b(?:at least|minimum|shortest|smallest|lowest|least)\b", re.IGNORECASE)
_OF_COUNT = re.compile(
    r"\bhow many (?!(?:milli)?seconds|minutes)|\b(?:sizes?|numbers?|lengths?|counts?|rates?)\b", re.IGNORECASE
)
# «After what time does a lock expire?»
_FOR_A_PLACE = re.compile(
    r"\W*(?:where|(?:in )?wh(?:at|ich) (?:file|module|class|function|place|line))\b", re.IGNORECASE
)
_AFTER = re.compile(r"\b(?:after|until|for) (?:what|which) time\b", re.IGNORECASE)
# «Which exit status is used for an error that I raise?»
_TAKEN = re.compile(
    r"\b(?:which|what)\b.{1,80}\b(?:is|are)\b.{0,60}\b(?:used|assumed|taken|applied|sent|chosen|filled in)\b",
    re.IGNORECASE,
)
# «Which style is used if none is given?»; a question for what happens, or whether it does, asks for no value.
_ASKS_WHICH = re.compile(
    r"\W*(?:(?:to|at|in|on|with|from|for|by|under) )?"
    r"(?:which|what (?!happens|is (?:sent|done))|how (?!is|are|was|do|does|did|can|to|exactly)[a-z]+)\b",
    re.IGNORECASE,
)
_ASKS_HOW = re.compile(r"\W*how (?:is|are|was|do|does|did|can|to|exactly)\b", re.IGNORECASE)
_SENTENCE = re.compile(
    r"(?<=[.?!;])\s+|,\s+(?:and|but|or)\s+"
    r"(?=(?:how|what|where|which|who|why|when|does|do|is|are|can|in which|by how|for how)\b)"
    r"|\s+(?:and|but)\s+(?=(?:how|what|where|which|why|is there|by how|for how)\b)|,\s+(?=(?:how|what|which|by how)\b)",
    re.IGNORECASE,
)
# «URLs» would be read as two words.
_ACRONYMS = re.compile(r"\b([A-Z]{2,})s\b")
_TIME_OUT = re.compile(r"\btime-out", re.IGNORECASE)
# A participle: «are opened by default»; «in a worker by default» says where.
_DONE = re.compile(
    r"(?<!\ba )(?<!\ban )(?<!\bthe )\b(\w+ed|kept|open|sent|made|held|run|runs) by default\b", re.IGNORECASE
)
# What is said of any port: it is used, listened on, connected to. «What is the folder called?» asks for no call.
_PORT = re.compile(r"\bport\b", re.IGNORECASE)
_OF_PORTS = frozenset(query_terms("listen listens listening bind binds use uses used connect run runs start").counts)
_CALLED = re.compile(r"^\W*what (?:is|are) (?:the )?.{1,60}\bcalled\b", re.IGNORECASE)
_OF_NAMES = frozenset(query_terms("called named").counts)
_FILES = re.compile(r"\bfiles?\b", re.IGNORECASE)
_ASKING_WORDS = frozenset(
    query_terms(
        """default defaults defaulted value values long many much often set sets setting settings configure configured
        configuration nothing say saying said anything given give gives none unless without option options standard
        there take takes taken allow allowed happen time times number change changed raise raised keep kept knob knobs
        after specify specified pass passed provide tell told want know far big large until own made make makes else
        """
    ).counts
)
_SWITCHED = frozenset(query_terms("enabled disabled active activated switched turned allowed").counts)


class ValuePart(msgspec.Struct, frozen=True):
    """Represents a part of a question that asks for a value: its terms, and what kind of value it is.

    `context`: terms of the other parts, which help to tell the subject. `says_default`: it asks for what holds when
    nothing is given.
    """

    text: str
    measure: Measure
    terms: tuple[str, ...]
    context: tuple[str, ...]
    says_default: bool


def value_parts(question: str) -> list[ValuePart]:
    """Return the parts of a question that ask for a value, in order; empty for any other question."""
    read = question[:MAX_READ_CHARS]
    says_default = _DEFAULT.search(read) is not None
    pieces = [piece.strip() for piece in _SENTENCE.split(read) if piece and piece.strip()]
    found: list[ValuePart] = []
    for place, piece in enumerate(pieces):
        measure = _measure(piece)
        if measure is None:
            continue
        own = _without_deed(piece, tuple(t for t in _subject_terms(piece) if measure != "flag" or t not in _SWITCHED))
        others = [term for at, other in enumerate(pieces) if at != place for term in _subject_terms(other)]
        context = tuple(term for term in dict.fromkeys(others) if term not in own)
        found.append(ValuePart(piece, measure, own, context, says_default))
    return found[:MAX_PARTS]


def asks_for_a_place(question: str) -> bool:
    """Return whether a question asks where a value is, of which the value itself is no answer."""
    return _FOR_A_PLACE.match(question) is not None


def asks_for_bound(part: ValuePart) -> bool:
    """Return whether a part of a question asks what is accepted, of which a default says nothing."""
    is_of_given = _GIVEN.search(part.text) is not None or _LEAST.search(part.text) is not None
    return is_of_given and not part.says_default


def literal_parts(question: str) -> list[ValuePart]:
    """Return the parts that ask for a value, or the whole where it asks for a default or a bound in other words."""
    read = _TIME_OUT.sub("timeout", question[:MAX_READ_CHARS])
    found = value_parts(read)
    # «How does it choose a method if I give none?» asks for what is done.
    says_default = any(asking.search(read) for asking in (_DEFAULT, _TAKEN)) and not _ASKS_HOW.match(read)
    is_of_time = _AFTER.search(read) is not None
    if found or not (says_default or is_of_time or _BOUNDED.search(read)):
        return [measured for part in found for measured in _with_both_measures(part)]
    return [ValuePart(read, "time" if is_of_time else "any", _subject_terms(read), (), says_default)]


def described_parts(question: str) -> list[ValuePart]:
    """Return the parts of a question for a default that is worded in no usual way, where it asks which or how much."""
    if value_parts(question):
        return []
    return [part for part in literal_parts(question) if part.says_default and _ASKS_WHICH.match(part.text)]


def _with_both_measures(part: ValuePart) -> Iterator[ValuePart]:
    """Yield a part once for each kind of value: «how many retries and what time limit» asks for both."""
    yield part
    if part.measure == "count" and _OF_TIME.search(part.text):
        yield msgspec.structs.replace(part, measure="time")
    elif part.measure == "time" and _OF_COUNT.search(part.text):
        yield msgspec.structs.replace(part, measure="count")


def _without_deed(piece: str, terms: tuple[str, ...]) -> tuple[str, ...]:
    """Return the terms without what is done by default, where others are left.

    It says less than what it is done to: «how many connections of a client are opened by default».
    """
    done = {term for word in _DONE.findall(piece) for term in query_terms(word).counts}
    rest = tuple(term for term in terms if term not in done)
    return rest if len(rest) > 1 else terms


def _measure(piece: str) -> Measure | None:
    if _OF_LENGTH.search(piece):
        return "count"
    if _TIME.search(piece):
        return "time"
    counted = _COUNT.search(piece)
    if counted:
        is_of_time = "many" not in counted.group().lower() and _OF_TIME.search(piece) is not None
        return "time" if is_of_time else "count"
    if _FLAG.search(piece):
        return "flag"
    if _EXTREME.search(piece):
        return "time" if _OF_TIME.search(piece) else "any"
    is_of_none = _ASKS_WHICH.match(piece) is not None and _WHAT_IF.match(piece) is None
    given = _NOT_GIVEN.search(piece) if is_of_none else None
    is_of_none = given is not None and _DENIED.search(piece[given.start() :]) is not None
    return "any" if _ASKS_DEFAULT.search(piece) or is_of_none else None


def _subject_terms(text: str) -> tuple[str, ...]:
    spelt = _ACRONYMS.sub(lambda found: found.group(1).lower(), text)
    free = _OF_PORTS if _PORT.search(text) else _OF_NAMES if _CALLED.search(text) else frozenset()
    terms = [term for term in query_terms(spelt).counts if term not in _ASKING_WORDS]
    terms = [term for term in terms if term not in free] or terms
    # In most questions a file is any place of the code, here it is what is counted.
    return (*terms, *(stem("file") for _ in _FILES.findall(text)[:1]))
