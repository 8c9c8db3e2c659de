"""Reads the value that a sentence states: a default, a bound, a time or a number of things.

Pure functions over text.
"""

from __future__ import annotations

import re

from runtime.codebase.files.words import index_terms
from runtime.codebase.search.values.documented_settings import stated_defaults
from runtime.codebase.search.values.value_questions import ValuePart, asks_for_bound
from runtime.codebase.search.values.value_words import TIMES, UNITS_OF_TIME, forms_of, subject_of

# So many terms of what is counted, and so many words from a number to one of them.
MAX_COUNTED, MAX_WORDS_BETWEEN = 3, 3

_NUMBER_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty hundred "
    "thousand million unlimited infinite"
)
_NUMBER = (
    rf"(?:(?<![\w.\-])-?\d[\d_,.]*(?<![,.])\s?(?:[kKMGT]i?B?\b|%|bytes\b)?|\b(?:{'|'.join(_NUMBER_WORDS.split())})\b)"
)
_TIME_UNIT = r"(?:ms|s|secs?|seconds?|milliseconds?|minutes?|mins?|hours?|h|days?|d|weeks?|months?|years?)"
_TIME = re.compile(rf"(?:(?:{_NUMBER})\s?-?{_TIME_UNIT}\b|\b(?:every|each|once an?) (?:second|minute|hour|day|week)\b)")
_QUANTITY = re.compile(_NUMBER, re.IGNORECASE)
# «at `localhost:3000` by default».
_AHEAD = re.compile(rf"(?:`(?P<code>[^`]{{1,60}})`|(?P<plain>{_NUMBER}(?: \w+)?)),? by default\b", re.IGNORECASE)
# «@param {Number} [options.threshold=1024] …».
_OF_PARAMETER = re.compile(r"@param\s+(?:\{[^}]{1,60}\}\s+)?\[[\w.]{1,60}=([^\]\s]{1,40})\]")
_SWITCH = re.compile(r"(?:true|false|on|off|enabled|disabled|yes|no)", re.IGNORECASE)
_SWITCHED = re.compile(
    r"`(true|false|on|off|yes|no)`|\b(true|false|enabled|disabled|not)\b"
    r"|\b(?:is|are|turned|switched|defaults? to) (on|off)\b",
    re.IGNORECASE,
)
_BY_DEFAULT = re.compile(
    r"\bby default\b|\bdefaults? (?:is|are|to|value)\b|\bdefault[:=]|\bunless\b|\(default\b", re.IGNORECASE
)
_LEAST = r"(?:at least|minimum(?: \w+){0,3}|no (?:shorter|less|fewer|smaller) than|not (?:shorter|less) than)"
_MOST = (
    r"(?:at most|maximum(?: \w+){0,4}|max\b|up to|no (?:longer|more|larger|greater|bigger) than"
    r"|limit(?:ed)?(?: \w+){0,4}|not exceed|exceeds?|within|longer than|larger than|more than|capped at|first)"
)
_LEAST_STATED = re.compile(
    rf"\b{_LEAST}\W{{1,4}}(?P<value>{_NUMBER})|(?P<behind>{_NUMBER})(?: \w+){{0,2}} or (?:more|longer)", re.IGNORECASE
)
_MOST_STATED = re.compile(
    rf"\b{_MOST}\W{{1,4}}(?P<value>{_NUMBER})|(?P<behind>{_NUMBER})(?: \w+){{0,3}} (?:at most|maximum|limit)",
    re.IGNORECASE,
)
_LEAST_SAID = re.compile(r"\bat least\b|\bminimum\b|\bshortest\b|\bsmallest\b|\blowest\b|\bleast\b", re.IGNORECASE)
_MOST_SAID = re.compile(
    r"\bat most\b|\bmaximum\b|\blongest\b|\blargest\b|\bbiggest\b|\blimit(?:s|ed)?\b|\bmax\b|\bup to\b|\bmay\b|\bcan\b",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(r"\bhow many\b", re.IGNORECASE)
_UNIT_OF_SIZE = re.compile(r"\s?-?(?:characters?|chars?|letters?|digits?|bytes?|bits?|lines?|words?|[kKMGT]i?B)\b")
_HOW_OFTEN = re.compile(r"\bhow often\b", re.IGNORECASE)
_OFTEN = re.compile(r"\b(?:every|each|once|per|interval|times|after)\b", re.IGNORECASE)


def states(text: str, part: ValuePart) -> str:
    """Return the value of the kind that a part of a question asks for, as a sentence states it; «» if it states none.

    A sentence with several values of that kind states none.
    """
    if part.measure == "flag":
        return _switch(text)
    told = [value for value in _defaults(text) if is_of_kind(value, text, part)]
    if told and not asks_for_bound(part):
        return told[0] if len(told) == 1 else ""
    if part.says_default and (part.measure == "any" or _BY_DEFAULT.search(text) is None):
        return ""
    if _LEAST_SAID.search(part.text):
        return _bound(_LEAST_STATED, text, part)
    if part.measure == "time":
        return _time(text, part)
    if part.measure == "count":
        bound = _bound(_MOST_STATED, text, part) if _MOST_SAID.search(part.text) else ""
        return bound or _counted(text, part)
    return ""


def _defaults(text: str) -> list[str]:
    """Return the defaults that a sentence states, those ahead of «by default» as well."""
    ahead = [(one["code"] or one["plain"]).strip() for one in _AHEAD.finditer(text)]
    return list(dict.fromkeys((*stated_defaults(text), *ahead, *_OF_PARAMETER.findall(text))))


def is_of_kind(value: str, text: str, part: ValuePart) -> bool:
    """Return whether a value that a text states as the default is of the kind that a part of a question asks for."""
    if part.measure == "flag":
        return _SWITCH.fullmatch(value) is not None
    is_number = part.measure in {"time", "count"} or "port" in part.terms
    if is_number and _QUANTITY.search(value) is None:
        return False
    if part.measure != "time":
        return True
    said = frozenset(index_terms(text).split())
    return not said.isdisjoint(TIMES | UNITS_OF_TIME) or _TIME.search(value) is not None


def _switch(text: str) -> str:
    """Return the one switch of a sentence that says what holds by default; a denial is none that can be read."""
    if _BY_DEFAULT.search(text) is None:
        return ""
    found = {"".join(filter(None, one.groups())).lower() for one in _SWITCHED.finditer(text)}
    return found.pop() if len(found) == 1 and "not" not in found else ""


def _bound(pattern: re.Pattern[str], text: str, part: ValuePart) -> str:
    found = {one["value"] or one["behind"] for one in pattern.finditer(text)}
    if len(found) != 1:
        return ""
    value = found.pop().strip()
    return _time(text, part) if part.measure == "time" else value


def _time(text: str, part: ValuePart) -> str:
    if _HOW_OFTEN.search(part.text) and _OFTEN.search(text) is None:
        return ""
    found = {one.group() for one in _TIME.finditer(text)}
    return found.pop() if len(found) == 1 else ""


def _counted(text: str, part: ValuePart) -> str:
    """Return the one number of a sentence, if it stands right ahead of what is counted."""
    found = list(_QUANTITY.finditer(text))
    if len(found) != 1:
        return ""
    said = text[found[0].end() :]
    if _HOW_MANY.search(part.text) is None:
        return found[0].group().strip() if _UNIT_OF_SIZE.match(said) else ""
    behind = frozenset(index_terms(" ".join(said.split()[:MAX_WORDS_BETWEEN])).split())
    counted = [form for term in subject_of(part)[:MAX_COUNTED] for form in forms_of(term)]
    return found[0].group().strip() if not behind.isdisjoint(counted) else ""
