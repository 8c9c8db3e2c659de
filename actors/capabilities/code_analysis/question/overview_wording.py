"""Recognises questions about a repository, or a folder of it, as a whole, in their many wordings.

A question is one when each of its clauses is: what the whole is for, how it is built, its main parts, where to begin
reading, its entry points, its language. Clauses are matched from the first to the last word, so that a question about
one part of the code is none. What means the whole is replaced by a mark first, which keeps the expressions short. They
are written with single blanks, which stand for any white space, and take linear time.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

Focus = Literal["all", "entries", "start", "languages"]

MAX_CLAUSES = 8
MAX_FOLDERS = 2

# Marks for the whole by a word or path for it, for «this», and for «it» and «they».
_WHOLE, _THIS, _IT = "\x01", "\x02", "\x03"
_S = f"[{_WHOLE}{_THIS}{_IT}]"

_KIND = (
    "repo(?:sitory)?|project|code ?base|package|library|lib|program|app|application|framework|crate|gem|software"
    "|workspace|monorepo|tool|product"
)
_NAMED_WHOLE = (
    rf"\b(?:(?:this|the|your|our) (?:whole |entire |overall )?(?:{_KIND})(?:'s)?"
    r"|this (?:code|source code|source|system|service|module|folder|directory|thing)|the (?:code|source code)(?:'s)?"
    r"|all (?:of )?this|everything here)\b"
)
_FOLDER_WORD = "(?:folder|directory|sub-?folder|sub-?directory|package|sub-?package|crate)"
_PATH = (
    rf"(?:\b(?:the|this) )?(?:\b{_FOLDER_WORD} )?(?<![\w./@-])`?(?:[\w.@-]++/)++[\w@-]*+(?![\w.]*\w)`?"
    rf"(?: {_FOLDER_WORD}\b)?"
)
_FOLDER = rf"\bthe (?!whole|entire|main|first|other|same)`?[\w.@-]++`? {_FOLDER_WORD}\b"

_ADJECTIVE = (
    "(?:main|major|key|core|most important|important|central|primary|top-level|top level|essential|principal|biggest"
    "|largest|basic|different|individual|various)"
)
_PARTS = (
    "(?:parts?|components?|modules?|packages?|pieces?|building blocks?|sub-?systems?|layers?|folders?|director(?:y|ies)"
    "|crates?|areas?|units?|sub-?packages?|sub-?projects?|classes)"
)
_STRUCTURE = (
    "(?:(?:overall|general|high-level|high level|internal|basic|broad|rough|project|code|folder|directory|package"
    "|module|source|software|system) ){0,3}(?:structure|architecture|layout|organi[sz]ation|design|set-?up)"
)
_BUILT = (
    "(?:built|organi[sz]ed|structured|laid out|put together|designed|architected|arranged|divided(?: up)?|split(?: up)?"
    "|set up|composed|constructed|assembled|modulari[sz]ed|implemented|made)"
)
_ROUGHLY = "(?: (?:internally|overall|in general|generally|roughly|at a high level|under the hood|inside|basically))?"
_READING = "(?: (?:to )?(?:read|look|explor|understand|study)(?:e|ing)?)?"
_PICTURE = "(?:diagram|picture|graph|map|chart|drawing|visuali[sz]ation|flowchart|flow chart|figure|mermaid)"
_DRAW = "(?:draw|sketch|paint|render|visuali[sz]e|plot|show|make|create|generate|give|produce)(?: me| us)?"
_OF = f"(?: (?:of|in|inside|for|to|into|behind|within) {_S})?"
_TOGETHER = "(?:(?:all )?(?:fit|hang|work|play|come|go|belong) together|interact|relate|connect"
_TOGETHER += "|(?:relate to|depend on) (?:each other|one another))"
_DRAWN = f"(?:{_STRUCTURE}|(?:{_ADJECTIVE} ){{0,2}}{_PARTS}|dependencies|imports)"
_DRAWN += f"(?: (?:between|among|of) (?:the |its )?(?:{_ADJECTIVE} ){{0,2}}{_PARTS})?"

_DESCRIBED = f"(?:the {_STRUCTURE} of {_S}|(?:the|its) {_STRUCTURE}{_OF}|how {_S} (?:works|is {_BUILT}){_ROUGHLY}|{_S})"
_EACH = f"(?:each|every)(?: one)?(?: of (?:{_IT}|these|the (?:{_ADJECTIVE} )?{_PARTS}))?"
_EACH_PART = f"(?:each|every) (?:{_ADJECTIVE} )?{_PARTS}{_OF}"
_SERVES = "(?:is|are)(?: (?:there|meant|used))?(?: for)?|does|do|contains?|holds?|has|is responsible for"

# What code of any size may be asked as well.
_PURPOSE = (
    f"what (?:does|can) {_S} (?:actually |really |basically )?(?:do|provide|offer|solve)(?: for (?:me|us|users))?",
    f"what {_S} (?:actually |really )?(?:does|is(?: for| about| good for| used for)?|provides|offers|contains)",
    f"what(?:'s| is| are) {_S}(?: (?:for|about|all about|good for|used for|meant for|supposed to (?:do|be)|exactly))?",
    f"why does {_S} exist|who is {_S} for",
    f"(?:explain|describe|summari[sz]e|introduce|present|outline|walk me through|tell me about) {_S}(?: to me)?",
    f"(?:summari[sz]e|outline|sum up) (?:what {_S} (?:contains|does|is)|how {_S} (?:works|is {_BUILT}))",
    f"how does {_S} work{_ROUGHLY}|how {_S} works{_ROUGHLY}",
)
_STRUCTURAL = (
    f"what(?:'s| is) (?:there )?(?:in|inside) {_S}",
    f"what(?:'s| is) the (?:main |overall )?(?:purpose|goal|aim|point|idea|scope|intent|gist) (?:of|behind) {_S}",
    f"what kind of (?:project|software|program|library|tool|thing|application) is {_S}",
    f"what problems? does {_S} (?:solve|address)",
    r"(?:give|show|write|provide)(?: me| us)? (?:an? |the )?(?:[\w-]++ ){0,2}(?:overview|summary|introduction|tour"
    rf"|outline|description|walkthrough)(?: (?:of|about|to|through) {_DESCRIBED})?",
    r"(?:an? |the )?(?:(?:quick|short|brief|general|high-level|high level|rough) )?(?:overview|summary|tour)"
    rf"(?: (?:of|through) {_DESCRIBED})?",
    f"what are (?:(?:the|its|their) (?:{_ADJECTIVE} ){{1,2}}{_PARTS}{_OF}|the {_PARTS} (?:of|in) {_S}|its {_PARTS})",
    f"(?:what|which) (?:{_ADJECTIVE} ){{0,2}}{_PARTS} (?:does {_S} (?:have|consist of|contain|include)"
    f"|is {_S} (?:made(?: up)? of|built from|composed of|split into|divided into)|make up {_S})",
    f"(?:what|which) {_ADJECTIVE} {_PARTS} (?:are there|exist|are in {_S})",
    f"(?:list|name|show|tell)(?: me)? (?:the|its) {_ADJECTIVE} {_PARTS}{_OF}",
    f"what (?:does {_S} consist of|is {_S} (?:made(?: up)? of|composed of)|makes up {_S})",
    f"how (?:is|was|are) {_S}{_ROUGHLY} {_BUILT}(?: into {_PARTS})?{_ROUGHLY}",
    f"how {_S} (?:is|was|are) {_BUILT}(?: into {_PARTS})?{_ROUGHLY}",
    f"how are (?:the|its) (?:{_ADJECTIVE} )?{_PARTS}{_OF} (?:{_BUILT}|connected|related|linked|wired(?: together)?)",
    f"what (?:does|do|is|are) {_EACH_PART} (?:do|contain|hold|have|for|about|responsible for)",
    f"what {_EACH_PART} (?:{_SERVES})",
    f"what(?:'s| is) the (?:purpose|job|role|responsibility|point) of {_EACH_PART}",
    f"what (?:would|should|does|must) (?:a |an )?(?:new (?:contributor|developer|colleague)|newcomer|beginner)"
    f" (?:need to )?know about (?:{_S}(?: {_STRUCTURE})?|the {_STRUCTURE}{_OF})",
    f"how does {_S} (?:hang|fit|come) together",
    f"how do (?:the|its) (?:{_ADJECTIVE} )?{_PARTS}{_OF} {_TOGETHER}|how (?:do )?{_IT} {_TOGETHER}",
    f"what(?:'s| is| does)? (?:the|its|{_WHOLE}) {_STRUCTURE}{_OF}(?: looks? like| is)?",
    f"(?:explain|describe|show|outline|summari[sz]e)(?: me| to me)? (?:the|its|{_WHOLE}) {_STRUCTURE}{_OF}",
    f"(?:project |code |repo(?:sitory)? |the |{_WHOLE} )?(?:architecture|structure|layout){_OF}",
)
_START = (
    "where (?:do|should|can|could|would|must) (?:i|we|one|you|someone new|a newcomer) (?:best |first )?(?:start|begin)"
    f"{_READING}(?: (?:with |in |at )?{_S})?(?: first)?",
    f"where (?:to|i should|i can|we should) (?:best )?(?:start|begin){_READING}(?: (?:with |in |at )?{_S})?",
    "(?:what|which)(?: (?:files?|code|modules?|parts?|documents?|classes))? (?:should|do|must|can) (?:i|we|one)"
    f" (?:read|look at|open|study) first(?: to understand {_S})?",
    f"what(?:'s| is) (?:the|a) (?:best|good) (?:place|file|point|way) to (?:start|begin){_READING}(?: {_S})?",
    f"how (?:do|should|can) (?:i|we|one) (?:start|begin|get started) (?:reading|understanding|exploring) {_S}",
)
_ENTRIES = (
    f"what (?:is|are) (?:the|its) (?:main |public )?(?:entry ?points?|public (?:api|interface)){_OF}",
    f"where (?:is|are) (?:the|its) (?:main |public )?(?:entry ?points?|main function){_OF}",
    f"where does (?:{_S}|execution) (?:start|begin)(?: running| executing)?",
)
_LANGUAGES = (
    "(?:in )?(?:what|which) (?:programming )?(?:languages?|frameworks?|technolog(?:y|ies)|tech(?:nology)? stack|stack)"
    f"(?: (?:and|or) (?:languages?|frameworks?|libraries))? (?:is|are|does|was) {_S} (?:written|built|implemented|made"
    "|based|developed|coded|use|using|rely)(?: (?:in|with|on|upon))?",
    f"what(?:'s| is) (?:the|its) (?:tech(?:nology)? stack|programming language){_OF}",
    f"what (?:is|was) {_S} (?:written|built|implemented|coded|made) (?:in|with)",
)
_DRAWN_WHOLE = (
    rf"{_DRAW} (?:an? |the )?(?:[\w-]++ ){{0,2}}?{_PICTURE} (?:of|for|showing|with)"
    f" (?:(?:(?:the|its|all) )?{_DRAWN}{_OF}|{_S})",
    f"(?:draw|sketch|visuali[sz]e)(?: me)? (?:(?:the|its|all) {_DRAWN}{_OF}|{_WHOLE} {_STRUCTURE}|{_S})",
)
# What means the whole only behind another clause.
_OF_EACH = (
    f"what (?:does|do|is|are) {_EACH} (?:do|contain|hold|have|for|about|responsible for)",
    f"what {_EACH} (?:{_SERVES})",
)
_MERE_PICTURE = (rf"{_DRAW} (?:an? |the )(?:[\w-]++ ){{0,2}}?{_PICTURE}",)

_LEAD = (
    r"(?:(?:hi|hello|hey|ok|okay|so|well|now|please|briefly|in short|in brief|overall|roughly|at a high level"
    r"|in general|in (?:a few|one|two|three|simple|plain) (?:words?|sentences?|english))[,.!:]? "
    rf"|(?:i am|i'm) new (?:here|to {_WHOLE})[,.;:!]? (?:and )?"
    rf"|i(?:'ve| have)? (?:just |recently )?(?:cloned|downloaded|checked out|found|discovered|inherited|opened) {_S}"
    "[,.;:!]? (?:and )?"
    r"|(?:can|could|would|will) you (?:please )?|(?:tell|explain to|show|help) (?:me|us)(?: to)?(?: understand)?[,:]? "
    r"|explain |describe |i(?:'d| would) like to (?:know|understand) |i want to (?:know|understand) |do you know )*"
)
_TAIL = (
    r"(?: (?:please|briefly|in short|in brief|overall|at a high level|in a nutshell|in general|to me|here|exactly"
    r"|in (?:a few|one|two|three|\d|simple|plain) (?:words?|sentences?|english)"
    r"|for (?:a |an )?(?:newcomer|beginner|outsider|new (?:developer|contributor|colleague|reader)))|,? (?:with|as|in"
    rf"|including) (?:an? |the )?(?:[\w-]++ )?{_PICTURE}(?: of (?:the |its )?(?:{_ADJECTIVE} )?{_PARTS})?)*"
)
# A clause ends where another one may begin, or at the end.
_END = r"(?=\s*+(?:[,;.?!:)\"'»]|and\b|but\b|plus\b|&|$))"
_JOIN = r"(?: ?[,;.?!:]++ ?(?:and |but |also |then )*| (?:and|but|plus|&) (?:also |then )?)"

# The clauses by what they ask for, the narrower ones first.
_CLAUSES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("languages", _LANGUAGES),
    ("start", _START),
    ("entries", _ENTRIES),
    ("drawn", _DRAWN_WHOLE),
    ("structural", _STRUCTURAL),
    ("purpose", _PURPOSE),
    ("of_each", _OF_EACH),
    ("mere_picture", _MERE_PICTURE),
)
_FOCI: dict[str, Focus] = {"languages": "languages", "start": "start", "entries": "entries"}
_CONTROLS = dict.fromkeys(range(32), " ")


class _Expressions(NamedTuple):
    whole: re.Pattern[str]
    clause: re.Pattern[str]
    join: re.Pattern[str]
    draws: re.Pattern[str]


class _Clause(NamedTuple):
    kind: str
    text: str


def is_overview(text: str) -> bool:
    """Return whether a question is about a repository or folder as a whole."""
    return bool(_clauses(text))


def with_project_named(text: str, names: Mapping[str, bool]) -> str:
    """Return a question in which the project is called «this project» instead of by its name.

    `names`: in lower case, or as a definition spells them, and whether a definition bears it: then it is called «this»,
    which means the whole only where the rest of the question says so. A name in backticks is a definition's.
    """
    if not names:
        return text
    called = "|".join(re.escape(name) for name in sorted({name.lower() for name in names}, key=len, reverse=True))

    def replaced(found: re.Match[str]) -> str:
        return "this" if names.get(found["name"], False) else "this project"

    return re.sub(rf"(?<![\w./@`'\"-])(?P<name>{called})(?:'s)?(?!\w|[-./@]\w)", replaced, text, flags=re.IGNORECASE)


def draws(text: str) -> bool:
    """Return whether a question wants a picture."""
    return _expressions().draws.search(text) is not None


def focus_of(text: str) -> Focus:
    """Return what all clauses of a question ask for alike; `all` for those of the whole, and for different ones."""
    foci = {_FOCI.get(clause.kind, "all") for clause in _clauses(text)}
    return foci.pop() if len(foci) == 1 else "all"


def folders_named(text: str) -> tuple[str, ...]:
    """Return the folders that a question about a whole names; none where it means the whole repository."""
    found = [path.rstrip("/") for path in _NAMED_PATH.findall(text)] or _NAMED_FOLDER.findall(text)
    return tuple(dict.fromkeys(found))[:MAX_FOLDERS]


def _clauses(text: str) -> list[_Clause]:
    """Return the clauses of a question about a whole; none for any other question."""
    known = _expressions()
    marked = known.whole.sub(_mark, " ".join(text.translate(_CONTROLS).split()))
    found: list[_Clause] = []
    at = len(marked) - len(marked.lstrip(" ¿¡\"'«("))
    while len(found) < MAX_CLAUSES:
        clause = known.clause.match(marked, at)
        if clause is None or clause.lastgroup is None:
            return []
        found.append(_Clause(clause.lastgroup, clause.group()))
        if not marked[clause.end() :].strip(" .?!:;,)\"'»"):
            return found if _means_a_whole(found) else []
        join = known.join.match(marked, clause.end())
        if join is None:
            return []
        at = join.end()
    return []


def _means_a_whole(clauses: list[_Clause]) -> bool:
    """Return whether the first clause can stand alone: «it» points back, and «this» may be any piece of code."""
    first = clauses[0]
    if first.kind in ("of_each", "mere_picture") or (_IT in first.text and {_WHOLE, _THIS}.isdisjoint(first.text)):
        return False
    return first.kind != "purpose" or _WHOLE in first.text or len(clauses) > 1


def _mark(found: re.Match[str]) -> str:
    if found.lastgroup == "whole":
        return _WHOLE
    return _THIS if found.lastgroup == "this" else _IT


@functools.cache
def _expressions() -> _Expressions:
    clauses = "|".join(f"(?P<{kind}>{'|'.join(patterns)})" for kind, patterns in _CLAUSES)
    return _Expressions(
        _compiled(
            rf"(?P<whole>{_PATH}|{_FOLDER}|{_NAMED_WHOLE})|(?P<this>\b(?:this|that)\b)|(?P<it>\b(?:it|they|them)\b)"
        ),
        _compiled(f"{_LEAD}(?:{clauses}){_TAIL}{_END}"),
        _compiled(_JOIN),
        _compiled(rf"\b(?:draw|sketch|visuali[sz]e)\b|\b{_PICTURE}\b"),
    )


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(" ?", r"\s*+").replace(" ", r"\s++"), re.IGNORECASE)


_NAMED_PATH = re.compile(r"(?<![\w./@-])((?:[\w.@-]++/)++[\w@-]*+)(?![\w.]*\w)")
_NAMED_FOLDER = re.compile(rf"\bthe\s++`?([\w.@-]++)`?\s++{_FOLDER_WORD}\b", re.IGNORECASE)
