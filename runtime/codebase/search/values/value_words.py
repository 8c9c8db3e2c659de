"""Tells which words of a question a name of code has, and which words say only how much or how long.

`plain_share` finds names that say nothing but what is asked: `lock_duration`, where it is asked how long a worker holds
a lock. Pure functions.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

from runtime.codebase.files.words import index_terms, split_identifier, stem
from runtime.codebase.search.query_expansion import other_words
from runtime.codebase.search.values.value_questions import Measure, ValuePart

# What is counted stands first: «how many header lines may a request have».
MAX_COUNTED = 2
# The least of the subject's words, and their share, that an owner has whose member is named by its measure alone.
LEAST_TERMS_OF_OWNER, LEAST_OF_OWNER = 2, 0.5
# What a word counts that code uses for one of the question.
CODE_FACTOR = 0.8

GENERAL = frozenset(index_terms("default defaults num number count value use option opt time k const").split())
# Words of questions, as terms of the index, with what code calls the same.
_CALLED_IN_CODE = {
    "wait": ("timeout", "delay", "interval", "sleep"),
    "paus": ("interval", "delay", "wait"),
    "maximum": ("max", "limit"),
    "limit": ("max", "maximum"),
    "most": ("max",),
    "bound": ("max", "limit"),
    "try": ("retry", "attempt"),
    "tri": ("retry", "attempt"),
    "again": ("retry",),
    "attempt": ("retry", "try"),
    "answ": ("response", "reply"),
    "siz": ("length", "bytes", "chunk"),
    "piec": ("chunk", "block"),
    "wid": ("width",),
    "process": ("worker", "workers", "job"),
    "thread": ("workers", "threads"),
    "address": ("addr",),
    "develop": ("dev",),
    "buff": ("buf",),
    "paramet": ("param", "params"),
    "messag": ("msg",),
    "shown": ("show", "display", "visible", "print"),
    "show": ("display", "visible"),
    "threshold": ("thresh", "cutoff"),
    "similar": ("similarity", "threshold"),
    "tall": ("height",),
    "deep": ("depth",),
    "high": ("height",),
    "folder": ("dir", "directory"),
    "fold": ("dir", "directory"),
    "kind": ("type",),
    "fact": ("multiplier",),
    "kept": ("keep", "retention", "expiration"),
    **dict.fromkeys(("lowest", "least", "smallest", "shortest", "oldest"), ("min", "minimum")),
    **dict.fromkeys(("highest", "greatest", "largest", "biggest", "longest"), ("max", "maximum", "limit")),
}
WORDS_OF_CODE = {term: tuple(dict.fromkeys(map(stem, others))) for term, others in _CALLED_IN_CODE.items()}
TIMES = frozenset(
    index_terms("timeout interval delay wait period ttl duration seconds expires age lifetime grace").split()
)
OF_MEASURE: dict[Measure, frozenset[str]] = {
    "time": TIMES,
    "count": frozenset(index_terms("max maximum limit").split()),
}
UNITS_OF_TIME = frozenset(index_terms("millisecond second minute hour day").split())
# What questions say of any time; it is no part of what the time is for.
_SAID_OF_TIMES = TIMES | UNITS_OF_TIME | frozenset(index_terms("long pause").split())
# What is counted or measured otherwise is no time.
COUNTS = frozenset(index_terms("count counter num number total size length bytes level").split())
SIZES = frozenset(index_terms("size length len bytes width capacity").split())
# What the name of any port may say.
_OF_PORTS = frozenset(index_terms("listen bind").split())
_THRESHOLDS = frozenset(index_terms("threshold cutoff").split())
_SIZED = re.compile(r"\bhow (?:tall|wide|high|large|big|deep) (?:is|are|does)\b", re.IGNORECASE)
_BOUNDED = re.compile(r"\b(?:may|can|could|must|at most|at least|up to|allowed|limit|max\w*)\b", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]+")
BIG = re.compile(r"\b(?:big|large|long|much|deep|wide|size)\b", re.IGNORECASE)


# What may be asked of a thing; the name of one says nothing of another: `queue_type` is not the name of a queue.
ATTRIBUTES = frozenset(
    index_terms("name type options option kwargs args arguments class prefix suffix running future fut").split()
)
# The words of a name that say how much is meant, and nothing of what.
BOUNDS = frozenset(index_terms("max maximum limit min minimum upper lower").split())


_MEASURED = BOUNDS | SIZES | TIMES


def free_words(part: ValuePart) -> frozenset[str]:
    """Return the words of a name that say no more than what kind of value it has, of the kind that is asked for."""
    is_of_size = part.measure == "count" or BIG.search(part.text) is not None
    # «How tall is the bar» asks for no bound of it.
    is_no_bound = part.measure == "count" and _SIZED.search(part.text) and not _BOUNDED.search(part.text)
    measured = frozenset[str]() if is_no_bound else OF_MEASURE.get(part.measure, frozenset())
    of_ports = _OF_PORTS if "port" in part.terms else frozenset[str]()
    return GENERAL | measured | of_ports | (SIZES if is_of_size else frozenset())


def forms_of(term: str) -> dict[str, float]:
    """Return the terms that stand for one of a question in names, each with the factor by which it counts."""
    return {term: 1.0, **other_words(term), **dict.fromkeys(WORDS_OF_CODE.get(term, ()), CODE_FACTOR)}


def forms_with_joined(terms: Sequence[str], text: str = "") -> dict[str, dict[str, float]]:
    """Return the forms of terms; two neighbours written as one word stand for both, `loglevel` for «log level».

    `text`: that of the terms, whose words are joined as they stand: «live reload» is `livereload`.
    """
    forms = {term: forms_of(term) for term in terms}
    written = [word.lower() for word in _WORD.findall(text)]
    joined = [(stem(one), stem(other), stem(one + other)) for one, other in itertools.pairwise(written)]
    joined += [(one, other, one + other) for one, other in itertools.pairwise(terms)]
    for one, other, both in joined:
        if one in forms and other in forms:
            forms[one] = {one: 1.0, both: 1.0, **forms[one]}
            forms[other] = {other: 1.0, both: 1.0, **forms[other]}
    return forms


def met_by(forms: Mapping[str, float], words: frozenset[str]) -> float:
    """Return the greatest factor of the forms that are among words; 0 if none is."""
    return max((factor for form, factor in forms.items() if form in words), default=0.0)


def words_of(text: str) -> frozenset[str]:
    """Return the terms of the parts of a name or of several."""
    return frozenset(term for part in split_identifier(text) for term in index_terms(part).split())


def words_of_path(path: str) -> frozenset[str]:
    """Return the terms of a path, names with a number such as `b2` and `http2` as one as well."""
    return words_of(path) | frozenset(index_terms(path).split())


def says_time(name: str) -> bool:
    """Return whether a name says that it is a time: `lock_timeout`, `busy_time`; `times_tried` does not."""
    parts = split_identifier(name)
    return not TIMES.isdisjoint(words_of(name)) or parts[-1:] == ["time"]


def subject_of(part: ValuePart) -> tuple[str, ...]:
    """Return the terms of a part of a question without what it says of any time, where others are left."""
    own = tuple(term for term in part.terms if part.measure != "time" or term not in _SAID_OF_TIMES)
    return own or part.terms


def plain_share(name: str, part: ValuePart, counts: Mapping[str, int]) -> float:
    """Return the share of the subject's words that a name has which says nothing else; 0 for any other name.

    Words of measure (`max`, `timeout`) say nothing of the subject, but the name of a time must have one. Two words of
    the subject may be written as one. Of what is counted the first words alone may be meant. `counts`: how many pieces
    have each term; the commonest term alone, such as `job` of a queue, is not enough unless it is what is counted.
    """
    terms, words = subject_of(part), words_of(name)
    measure = OF_MEASURE.get(part.measure, frozenset())
    forms = forms_with_joined(terms, part.text)
    own = words - GENERAL - measure - (SIZES if BIG.search(part.text) else frozenset())
    asked = {form for known in (*forms.values(), *map(forms_of, part.context)) for form in known}
    if part.measure == "count" and _BOUNDED.search(part.text) and words.isdisjoint(BOUNDS | SIZES | _THRESHOLDS):
        return 0.0
    if not terms or not own or not own <= asked or (part.measure == "time" and words.isdisjoint(TIMES)):
        return 0.0
    met = {term: factor for term, known in forms.items() if (factor := met_by(known, own))}
    counted = [term for term in terms if term not in measure | SIZES][:MAX_COUNTED] if part.measure == "count" else []
    commonest = max(terms, key=lambda term: counts.get(term, 0))
    if len(terms) > 1 and not (met.keys() - {commonest} or commonest in counted[:1]):
        return 0.0
    return max(sum(met.get(term, 0.0) for term in known) / len(known) for known in (terms, counted) if known)


def owner_share(name: str, owner: str, part: ValuePart) -> float:
    """Return the share of the subject's words that the owner of a name has which says nothing but how much.

    `DEFAULT_CAPACITY` of a `ContextCache` is how many contexts that holds; 0 for any other name.
    """
    terms, words = subject_of(part), words_of(name) - words_of("default")
    if not terms or not words or not words <= free_words(part) or words.isdisjoint(_MEASURED):
        return 0.0
    met = [factor for term in terms if (factor := met_by(forms_of(term), words_of(owner)))]
    share = sum(met) / len(terms)
    return share if len(met) >= LEAST_TERMS_OF_OWNER and share >= LEAST_OF_OWNER else 0.0


def is_of_subject(words: frozenset[str], part: ValuePart) -> bool:
    """Return whether the words of a name and its owner have one of the subject, words of measure aside.

    That a name is a `limit`, a `timeout` or a `max_size` as well says nothing of which. A question for nothing but a
    measure is about any.
    """
    measures = GENERAL | SIZES | frozenset().union(*OF_MEASURE.values())
    own = [term for term in part.terms if term not in measures]
    subject = own or [term for term in part.context if term not in measures]
    return not subject or any(met_by(forms_of(term), words) for term in subject)
