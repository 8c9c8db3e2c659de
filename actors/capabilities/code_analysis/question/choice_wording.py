"""Recognises questions for all values of a closed set, and says which set is meant, in the words of the question.

«Which compression modes are supported?» means `compression modes`, «What states can a job be in?» `job states`, «Which
values can --style take?» `--style`, and «What are the allowed values of `level`?» `values of level`. Whether there is
such a set is for the code to say (tool `find_choices`). Pure; each pattern begins at the start of a sentence, and each
of its repeats is bounded.
"""

from __future__ import annotations

import re

MAX_CHARS = 600
MAX_SENTENCES = 6
MAX_OWNER_WORDS = 3

_SENTENCE = re.compile(r"(?<=[.?!])\s++")
_OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]{0,60}")
_ABOUT_VALUES = re.compile(
    r"\b(?:values?|choices?|options?|settings?|modes?|take|takes|accepts?|set to|allowed|valid|possible|supports?"
    r"|arguments?)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\W*(?:(?:and|so|but|please|then|now|can you|could you|tell me|list|name|show|give|enumerate|me)\W+){0,4}"
    r"(?:what|which|all|every|each|the|list|name|show|enumerate)\b",
    re.IGNORECASE,
)
_POSSIBLE = (
    r"(?:(?:all|the|of|possible|allowed|valid|legal|accepted|acceptable|permitted|permissible|supported|available|different"
    r"|various|known|predefined|distinct|built-?in) ){0,4}"
)
_POLITE = r"\W*(?:(?:and|so|but|please|then|now|can you|could you|tell me) ){0,3}"
_VALUES = r"(?:values?|choices?|options?|settings|strings?)"
_OF = r"(?P<of>[^?.,;]{1,60}?)"
_SORT_OF = r"(?P<sort>(?:kind|type|sort|variet(?:y|ie)|flavou?r)s? of )?"
_HEAD = rf"{_POSSIBLE}{_SORT_OF}{_POSSIBLE}(?P<head>[\w+#/-]{{1,40}}(?: [\w+#/-]{{1,40}}){{0,3}}?)"
_WHICH = rf"{_POLITE}(?:what|which) "
_LISTED = (
    rf"{_POLITE}(?:(?:list|name|enumerate|show|show me|give me|give) (?:me )?(?:all|every|each|the)"
    r"|what are all|what all) "
)
_SUBJECT = (
    r"(?!(?:have|be|do|take|contain|hold|get|also|only|not|still|never)\b)"
    r"(?:(?:an?|the|this|these|each|any|one|your|my) )?[\w./`'-]{1,40}(?: [\w./`'-]{1,40}){0,2}?"
)
# What the values are of, and where the question, or this part of it, ends.
_TAIL = (
    r"(?: (?:for|of|in|on|from|by) (?P<tail>[\w./`'() -]{1,60}?))?"
    r"(?=\W*$|\s*,| (?:to|when|if|that|which|and|here|there|right now)\b)"
)
_THERE = (
    r"(?:are|is) (?:there|available|supported|allowed|accepted|possible|valid|permitted|understood|recogni[sz]ed"
    r"|defined|provided|known|offered|built[ -]?in|predefined|declared)"
)
# What uses or needs something has it from elsewhere.
_DOES = (
    r"(?!(?:use|need|require|call|depend|import|test|touch|change)\b)[a-z]{2,20}"
    r"(?: (?:from|between|to|in|for|at|by|as))?(?=\W*$|,| (?:in|for|by|to|when|if|from|of|and)\b)"
)
_CHOSEN = r"(?:can|may|could) be (?:used|configured|set|chosen|specified|given|passed|selected|picked|returned)"

# What the values are of, by its name.
_VALUES_OF = (
    rf"{_WHICH}{_POSSIBLE}{_VALUES} (?:can|may|could|does|do|is|are|will) {_OF} (?:take|have|accept|be|allow|support"
    r"|hold|get|know|understand|given|set)\b",
    rf"{_WHICH}(?:are|is) {_POSSIBLE}{_VALUES} (?:of|for|to|that) {_OF}(?: (?:can|may) (?:take|have|accept|be))?\W*$",
    rf"{_LISTED}{_POSSIBLE}{_VALUES} (?:of|for|to) {_OF}\W*$",
    rf"{_WHICH}can {_OF} be set to\b",
)
# What the values are called.
_NAMED = (
    rf"{_WHICH}{_HEAD} can (?P<owner>{_SUBJECT}) (?:be in|be|have|take|go through|end in|reach)\W*$",
    rf"{_WHICH}{_HEAD} {_THERE}{_TAIL}",
    rf"{_WHICH}{_HEAD} (?:exist|{_CHOSEN})\b{_TAIL}",
    rf"{_WHICH}{_HEAD} (?:does|do|can|could|may) {_SUBJECT} {_DOES}",
    rf"{_WHICH}are {_HEAD}{_TAIL}",
    rf"{_LISTED}{_HEAD}(?: (?:there are|that exist|supported|available|defined))?{_TAIL}",
)
_VALUES_OF_RES = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _VALUES_OF)
_NAMED_RES = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _NAMED)
_THING = (
    r"(?:enum|class|type|constant|option|setting|parameter|param|flag|argument|field|attribute|variable|property"
    r"|keyword|key|header)"
)
_AHEAD = re.compile(
    rf"(?:(?:an?|the|this|its?|their|my|your|{_THING}|config(?:uration)?|command[- ]line|cli) ){{1,5}}", re.I
)
_BEHIND = re.compile(rf"(?: {_THING})(?: (?:of|in|for) [\w./`'() -]{{1,60}})?$", re.IGNORECASE)
_QUOTES = " `'\""
_POINTS_WORDS = "it its this that they them these those i you we one here there"
_POINTS = frozenset(_POINTS_WORDS.split())
# No closed set holds these, whatever code there is of them.
_NO_SET_WORDS = (
    "classes functions modules packages files tests people authors differences directories folders variables"
)
_NO_SET = frozenset(_NO_SET_WORDS.split())
# Nor do these, unless a word ahead of them says of which sort they are: «HTTP methods», «style components».
_NO_SET_ALONE_WORDS = """
    methods lines values options parts pieces steps components dependencies libraries tools things reasons ways places
    commits changes contributors maintainers requirements advantages benefits limitations implications assumptions
    responsibilities consequences"""
_NO_SET_ALONE = frozenset(_NO_SET_ALONE_WORDS.split())
# Who asks for the main ones does not ask for all; and what has one of the others is no name of values.
_NO_HEAD_WORDS = """
    main major important biggest largest best most common other same big central principal its their your my these those
    it they we i you is are was be been do does did can could may if that to when how what which who with without by and
    or not no from for in as at decide decides new latest good"""
_NO_HEAD = frozenset(_NO_HEAD_WORDS.split())
_SAYS_NOTHING = _POINTS | {"a", "an", "the", "each", "any", "every", "all", "your", "my", "our", ""}
_IN_PROJECT = re.compile(
    r" (?:in|of|by|for|from) (?:(?:this|the|your|my|our) )?(?:whole |entire )?(?:command[- ]line )?"
    r"(?:project|repo|repository|library|program|code|code ?base|tool|application|app|system|package|software)$",
    re.IGNORECASE,
)


def choices_asked(text: str) -> str:
    """Return what all values are asked of, as `find_choices` takes it; empty for any other question."""
    sentences = _SENTENCE.split(" ".join(text[:MAX_CHARS].split()))[:MAX_SENTENCES]
    return next((asked for sentence in sentences if (asked := _asked_in(sentence))), "")


def _asked_in(sentence: str) -> str:
    if _ASKS.match(sentence) is None:
        return ""
    option = _OPTION.search(sentence)
    if option is not None:
        return option.group() if _ABOUT_VALUES.search(sentence) is not None else ""
    for pattern in _VALUES_OF_RES:
        found = pattern.match(sentence)
        if found is not None:
            of = _AHEAD.sub("", _BEHIND.sub("", found["of"].replace("`", "").strip(_QUOTES))).strip(_QUOTES)
            return f"values of {of}" if of and of.lower() not in _POINTS else ""
    for pattern in _NAMED_RES:
        found = pattern.match(sentence)
        if found is not None:
            groups = found.groupdict()
            return _named(groups["head"].split(), groups.get("owner") or groups.get("tail") or "", bool(groups["sort"]))
    return ""


def _named(words: list[str], owner: str, is_sort: bool) -> str:
    """Return the words for the values, those of what has them ahead: `job states` of «states» and «a job»."""
    lowered = [word.lower() for word in words]
    if "of" in lowered[1:-1]:
        at = lowered.index("of")
        return _named(words[:at], " ".join((*words[at + 1 :], owner)), is_sort)
    last = lowered[-1]
    is_plural = is_sort or (last.endswith("s") and not last.endswith("ss"))
    if not is_plural or last in _NO_SET or _NO_HEAD.intersection(lowered):
        return ""
    if len(words) == 1 and last in _NO_SET_ALONE:
        return ""
    told = _IN_PROJECT.sub("", f" in {owner}").removeprefix(" in ")
    of = [word.strip("`'()") for word in told.split() if word.lower().strip("`'()") not in _SAYS_NOTHING]
    return " ".join((*of, *words)) if len(of) <= MAX_OWNER_WORDS else ""
