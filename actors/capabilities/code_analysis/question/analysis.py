"""What kind of question it is, and what it speaks of: pure text analysis, no model.

Patterns run over a caller's text, so their time is linear in it: no match begins inside a token or a run of blanks, and
a quantifier that could give characters back to another one is possessive.
The kinds and what each one asks for are a table; docs/answers.md explains them to users.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from actors.capabilities.code_analysis.question.kinds import PATTERNS, THIS_PROJECT, QuestionKind
from actors.capabilities.code_analysis.question.parts import parts_of, points_back
from runtime.codebase.files.words import index_terms, query_terms

Aspect = Literal[
    "answer",
    "definition",
    "mechanism",
    "usage",
    "tests",
    "configuration",
    "listing",
    "structure",
    "history",
    "together",
]

ASPECTS: dict[QuestionKind, tuple[Aspect, ...]] = {
    "where": ("definition",),
    "what": ("definition", "mechanism", "usage"),
    "how": ("definition", "mechanism", "usage"),
    "who_calls": ("definition", "usage", "tests"),
    "what_happens": ("definition", "mechanism", "usage"),
    "why": ("definition", "mechanism", "history"),
    "changed": ("history", "definition"),
    "changes_with": ("together", "definition"),
    "tested": ("tests", "definition"),
    "configured": ("configuration", "definition"),
    "extend": ("definition", "mechanism", "usage", "tests"),
    "compare": ("definition", "mechanism"),
    "list_all": ("listing",),
    "overview": ("structure",),
}

# What a further part of a question adds to what the first one asks for.
_ADDED: dict[QuestionKind, tuple[Aspect, ...]] = {
    "where": ("definition",),
    "what": ("definition", "mechanism"),
    "how": ("mechanism",),
    "who_calls": ("usage",),
    "what_happens": ("mechanism",),
    "why": ("mechanism", "history"),
    "changed": ("history",),
    "changes_with": ("together",),
    "tested": ("tests",),
    "configured": ("configuration",),
    "extend": ("usage",),
}

# Kinds that ask for relations, which are looked up by name rather than searched for by meaning.
_OF_RELATIONS = frozenset({"who_calls", "tested", "changed", "changes_with", "compare", "list_all", "overview"})
# More words than this tell a story rather than name a relation: without a name in it, and with one.
MOST_WORDS_OF_RELATIONS = {False: 9, True: 24}
_BESIDES: dict[QuestionKind, tuple[Aspect, ...]] = {
    "who_calls": ("usage",),
    "tested": ("tests",),
    "changed": ("history",),
    "changes_with": ("together",),
}
_ABOUT_NAMES = frozenset(
    query_terms("defined declared added introduced created changed called class function method module").counts
)

_HOW_CONFIGURED = re.compile(
    r"\bhow (?:is|are|do|can|to|does) (?:(?!\b(?:and|where|works?)\b).){0,40}configur", re.IGNORECASE
)
# «Where is `depth` set?»: the lines that give it a value.
_ASSIGNED = re.compile(r"^\W*where\b.*\b(?:set|assigned|initiali[sz]ed)\b\s*+\??\s*+$", re.IGNORECASE)
_QUOTED = re.compile(r"`([^`\n]{1,120})`|\"([\w.:/-]{2,120})\"|'([\w.:/-]{2,120})'")
_PATH = re.compile(
    r"(?<![\w/.-])(?:[\w.-]++/)+[\w.-]++|(?<![\w/.-])[\w-]++\.(?:py|js|jsx|mjs|cjs|ts|tsx|go|rs|java|kts?|cs|rb|php|c|h|cc|cpp|cxx|hh|hpp|md|rst|toml|ya?ml|json|cfg|ini|sh)\b"
)
_CONFIGURED_CLAUSE = re.compile(
    r"(?:,|(?<!\s))\s*+(?:\band\s++)?\b(?:where|how) (?:is|are) (?:it|they|this|that)\s++configured\b(?:\s++and\b)?",
    re.IGNORECASE,
)
_FLOW = re.compile(r"\b(?:flows?|sequence|call (?:chain|graph)|step by step|diagram|trace|path of)\b", re.IGNORECASE)
_WHERE = re.compile(r"\bwhere (?:is|are|was|were|does|do|did)\b", re.IGNORECASE)
_DONE = re.compile(r" (?!defined\b|declared\b)\w{2,}(?:ed|en|ing)\b", re.IGNORECASE)
_CALL = re.compile(r"(?<![\w.])\.*+([A-Za-z_][\w.]*+)\(\)")
_NAME = re.compile(r"[A-Za-z_$][\w$]*+(?:(?:\.|::|#|->)[A-Za-z_$][\w$]*+)*+[!?=]?$")
_CAPITALISED = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+(?![\w.])")
_LEAD = re.compile(
    r"^[^\w`'\"]*(?:(?:please|can you|could you|tell me|"
    r"(?:list|name|show(?: me)?|enumerate) (?:all|every|each|the)|show me|explain|describe)\s+)*"
    r"(?:(?:how|what|where|who|why|which|when)\s+)?(?:exactly\s+)?"
    r"(?:(?:do|does|did|is|are|was|were|can|could|should|would|to|happens when)\s+)?",
    re.IGNORECASE,
)
# «who calls decide?», «what is Route?»: a bare word in the place of a name is meant as one.
_BARE_NAME = re.compile(
    r"\b(?:who (?:calls|uses|invokes|(?:last )?changed|wrote|added)|callers? of|usages? of|history of"
    r"|tests? (?:of|for|covers?)|what (?:calls|uses|is|does)|where is|how is|when was)\s+(?:the\s+)?"
    r"(?:(?:function|class|method|module)\s+)?([A-Za-z_][\w.]*!?)(?:\s+(?:function|class|method))?"
    r"(?:\s+(?:called|used|defined|implemented|declared|tested|added|changed|introduced|do|for|from|and|in)\b.*+)?\s*+\??\s*+$",
    re.IGNORECASE,
)
# «how does load validate its input?», «the unknown option»: a word in the place of a name, which may be one.
_DOER = r"^\W*how (?:does|do|did|can) (?!(?:i|you|we|one|it|they|this|that|the|an?)\b|\w+ing\b)([a-z_]\w*)\s+"
_PERHAPS_NAMES = (
    re.compile(_DOER + r"(?=works?\b)"),
    re.compile(_DOER + r"(?!\w+ing\b|works?\b)\w+\s+(?!(?:works?|handled|done)\b)\w"),
    re.compile(
        r"\bthe (?!(?:default|new|first|last|same|other|main|right|correct|optional|required|global|following)\b)"
        r"([a-z_]\w*) (?:option|setting|flag|parameter|argument|keyword|attribute|property)\b"
    ),
)
# «this» and «that» point back by themselves or with a word for code in general; «this library», «that parses» do not.
_FOLLOW_UP = re.compile(
    r"\b(?:it|its|they|them|(?:that|this|those|these)(?=\W*$|\s+(?:is|are|was|were|do|does|did|get|gets|has|have|can)\b"
    r"|\s+(?:functions?|class(?:es)?|methods?|modules?|files?|ones?|things?)\b))\b",
    re.IGNORECASE,
)
# «How do I add a new binding?»: what is done, ahead of what it is done to.
_EXTENDING = re.compile(
    r"^\W*(?:please\s+)?(?:how\s+(?:do|can|would|could|should|to|does)\s+)?(?:(?:i|you|we|one|someone|to)\s+)*"
    r"(?:(?:add|extend|register|write|create|plug in|plug|implement|define|make|introduce|build)\s+)+"
    r"(?:(?:a|an|the|my|our|own|new|another|custom|additional|further|support|for|different)\s+)*",
    re.IGNORECASE,
)
# Words that say what is asked about a thing rather than which thing.
_ABOUT = (
    "call caller invoke test depend import user usage example differ difference compare reason flow step part raise"
    " who when last change add write commit history extend configure cover else together usually often define declare"
)
_HOW_TO = re.compile(r"^\W*how (?:(?:do|can|could|should|would|must) (?:i|you|we|one|users?)|to)\b", re.IGNORECASE)
_NEW = re.compile(r"\b(?:add|introduc|creat|wr[io]t|implement|new|old|since|first)", re.IGNORECASE)
_WAS_NEW = re.compile(r"\b(?:added|introduced|created|invented|implemented|needed|exist|there)\b", re.IGNORECASE)
_WHOLE = re.compile(rf"\b{THIS_PROJECT}\b", re.IGNORECASE)
_ASKING = frozenset(query_terms(_ABOUT).counts)
_CONFIGURED = frozenset(query_terms("configure configuration setting settings value").counts)
# What is said of changes and tests in general, and of no thing that changed or is tested.
_OF_KIND: Mapping[str, frozenset[str]] = {
    "changed": frozenset(
        query_terms(
            "who whom when since last latest recent first recently lately change modify edit touch write wrote written"
            " add introduce create remove delete update fix commit author person history log blame git old evolve come"
            " implement rename done move made make"
        ).counts
    ),
    "changes_with": frozenset(query_terms("change usually often together along file else co-change cochange").counts),
    "list_all": frozenset(query_terms("list name enumerate show all every each exist are which what there").counts),
    "who_calls": frozenset(query_terms("who what where call caller invoke use user usage depend").counts),
    "compare": frozenset(query_terms("compare comparison differ difference versus vs between").counts),
    "flow": frozenset(
        query_terms("show draw trace follow flow call chain graph tree step diagram sequence path").counts
    ),
    "tested": frozenset(query_terms("test tested cover covered covering check exercise exist list show find").counts),
}
_ABBREVIATIONS = frozenset({"e.g", "i.e"})


class Question(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question taken apart. `identifiers` and `paths` as written, `terms` stemmed, `subject` without the lead-in.

    `further`: the kinds of its further parts; `core`: its text without parts that only point back («who calls it»).
    `deed_terms`: of how to extend a thing those terms that say what is done to it: «add», «register».
    `perhaps_names`: common words in the place of a name, which are names only where something is called exactly so.
    """

    text: str
    kind: QuestionKind
    subject: str
    identifiers: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    capitalised: tuple[str, ...] = ()
    aspects: tuple[Aspect, ...] = ()
    core: str = ""
    further: tuple[QuestionKind, ...] = ()
    deed_terms: tuple[str, ...] = ()
    perhaps_names: tuple[str, ...] = ()

    def asks(self, kind: QuestionKind) -> bool:
        """True when it, or a further part of it, is a question of that kind."""
        return kind == self.kind or kind in self.further

    @property
    def intelligible(self) -> bool:
        """True when there is something in it that can be looked for."""
        return bool(self.terms or self.identifiers or self.paths or self.kind == "overview")

    @property
    def shows_flow(self) -> bool:
        """True when it asks for what follows what: the answer draws the calls."""
        return self.kind == "what_happens" or _FLOW.search(self.text) is not None

    @property
    def topic(self) -> str:
        """What is to be looked for: the question without what it asks about it."""
        if _said_of(self.kind, self.text):
            wanted = {*self.terms, *(name.lower() for name in self.identifiers)}
            kept = [word for word in self.asked.split() if not wanted.isdisjoint(query_terms(word).counts)]
            return " ".join(kept) or self.asked
        return _CONFIGURED_CLAUSE.sub("", self.asked)

    @property
    def asked(self) -> str:
        """The text without parts that only point back."""
        return self.core or self.text

    @property
    def is_of_whole(self) -> bool:
        """True when it asks for changes of the whole repository."""
        if self.kind != "changed" or self.identifiers or self.paths:
            return False
        return _WHOLE.search(self.text) is not None or _OF_KIND["changed"].issuperset(self.terms)

    @property
    def is_of_names(self) -> bool:
        """True when it names things of the code, or files, and says nothing else of them."""
        own = {term for name in (*self.identifiers, *self.paths) for term in index_terms(name).split()}
        return bool(self.identifiers or self.paths) and own.union(_ABOUT_NAMES, self.deed_terms).issuperset(self.terms)

    @property
    def asks_for_origin(self) -> bool:
        """True when it asks since when, or why, there is something."""
        if self.kind == "why":
            return bool(self.identifiers) and _WAS_NEW.search(self.text) is not None
        return self.asks("changed") and _NEW.search(self.text) is not None

    @property
    def asks_for_guidance(self) -> bool:
        """True when it asks how somebody does a thing: «how do I …», «how to …»."""
        return self.kind == "extend" or (self.kind == "how" and _HOW_TO.match(self.text) is not None)

    @property
    def asks_for_doing(self) -> bool:
        """True when it asks where something is done, and not where something is: «where is it decided?»."""
        found = _WHERE.search(self.text)
        return found is not None and _DONE.search(self.text, found.end()) is not None

    @property
    def refers_back(self) -> bool:
        """True when it speaks of what an earlier question named, and names nothing itself before it does."""
        found = _FOLLOW_UP.search(self.text)
        if found is None or self.identifiers or len(self.terms) > 3 or self.kind == "overview":
            return False
        return query_terms(self.text[: found.start()]).counts.keys() <= _ASKING


def analyse(text: str) -> Question:
    """Take a question apart; total: any text gives a Question."""
    paths = tuple(dict.fromkeys(_PATH.findall(text)))
    named = [part for groups in _QUOTED.findall(text) for part in groups if part]
    named += _CALL.findall(text)
    parts = parts_of(text)
    core = _core(text, parts) if len(parts) > 1 else text
    terms = query_terms(core)
    spelt = [name for name in query_terms(text).identifiers if name.lower() not in _ABBREVIATIONS]
    named += [name for name in spelt if not any(name in path for path in paths)]
    bare = [name for part in parts for name in _BARE_NAME.findall(part) if query_terms(name).counts]
    named += [name for name in bare if name not in paths]
    identifiers = _whole_names(name.rstrip("()") for name in named if _NAME.match(name.rstrip("()")))
    kind, aspects, further = _kinds_and_aspects(text, parts)
    capitalised = tuple(dict.fromkeys(_CAPITALISED.findall(text)))
    if kind == "where" and identifiers and _ASSIGNED.search(text):
        kind, aspects = "configured", ASPECTS["configured"]
    if kind == "compare":
        identifiers = tuple(dict.fromkeys((*identifiers, *capitalised)))
    asked = Question(
        text=text,
        kind=kind,
        aspects=aspects,
        subject=_subject(core, kind),
        identifiers=identifiers,
        paths=paths,
        terms=_subject_terms(terms.counts, _said_of(kind, text), aspects),
        capitalised=capitalised,
        core=core if core != text else "",
        further=further,
        deed_terms=_deed_terms(core, kind),
        perhaps_names=_perhaps_names(text, identifiers),
    )
    if _said_of(kind, text):
        asked = msgspec.structs.replace(
            asked, subject="this repository" if asked.is_of_whole else asked.topic.strip(" ?.!")
        )
    if kind == "compare" and len(identifiers) > 1:
        asked = msgspec.structs.replace(asked, subject=" and ".join(identifiers))
    of_paths = kind in {"changed", "changes_with"} and bool(paths) and not identifiers
    if of_paths or asked.is_of_whole:
        return msgspec.structs.replace(asked, aspects=aspects[:1])
    return msgspec.structs.replace(asked, aspects=_open_aspects(asked)) if _is_open(asked) else asked


def _is_open(asked: Question) -> bool:
    """True for a question in words, which the places that speak of it answer, and not the relations of one name."""
    if asked.identifiers and asked.kind == "what_happens" and _FLOW.search(asked.text) is not None:
        return False
    if asked.kind in _OF_RELATIONS:
        has_subject = bool(asked.identifiers or asked.paths) or asked.kind in {"list_all", "overview"}
        return not has_subject or len(asked.text.split()) > MOST_WORDS_OF_RELATIONS[bool(asked.identifiers)]
    return not asked.is_of_names


def _open_aspects(asked: Question) -> tuple[Aspect, ...]:
    """The answer itself, then what the question asks for besides: uses, tests, history, the reason of a name."""
    wanted = [aspect for kind in (asked.kind, *asked.further) for aspect in _BESIDES.get(kind, ())]
    if asked.kind == "why" and asked.identifiers:
        wanted.append("history")
    return tuple(dict.fromkeys(("answer", *wanted)))


def _perhaps_names(text: str, known: Collection[str]) -> tuple[str, ...]:
    """Words in the place of a name that are not known as names anyhow, each once."""
    text = text[:1].lower() + text[1:]
    found = [name for pattern in _PERHAPS_NAMES for name in pattern.findall(text)]
    return tuple(dict.fromkeys(name for name in found if name not in known and query_terms(name).counts))


def _core(text: str, parts: Sequence[str]) -> str:
    """The parts that name something, the first one whatever it says, put together again."""
    own = [part for part in parts[1:] if not (points_back(part) and query_terms(part).counts.keys() <= _ASKING)]
    return " and ".join((parts[0], *own)) if len(own) < len(parts) - 1 else text


def _whole_names(names: Iterable[str]) -> tuple[str, ...]:
    """Each name once, without those that are another one without its last mark: `halt` of `halt!`."""
    distinct = dict.fromkeys(names)
    return tuple(name for name in distinct if not any(f"{name}{mark}" in distinct for mark in "!?="))


def _subject(core: str, kind: QuestionKind) -> str:
    """What the question is about, without its lead-in."""
    found = _EXTENDING.match(core) if kind == "extend" else None
    rest = core[found.end() :] if found else _LEAD.sub("", _CONFIGURED_CLAUSE.sub("", core))
    if kind in {"where", "why"}:
        rest = re.sub(r"\s+(?:is |was )?(?:defined|declared|added|introduced)\W*$", "", rest)
    return rest.strip(" ?.!") or core.strip()


def _deed_terms(core: str, kind: QuestionKind) -> tuple[str, ...]:
    """The terms of what is done: those ahead of the thing that is added, registered or written."""
    found = _EXTENDING.match(core) if kind == "extend" else None
    return tuple(query_terms(found.group()).counts) if found else ()


def _said_of(kind: QuestionKind, text: str) -> frozenset[str]:
    """Terms that a question of that kind has whatever it is about; empty where every word may tell."""
    if kind == "what_happens":
        return _OF_KIND["flow"] if _FLOW.search(text) is not None else frozenset()
    return _OF_KIND.get(kind, frozenset())


def _subject_terms(counts: Mapping[str, int], said: Collection[str], aspects: Sequence[Aspect]) -> tuple[str, ...]:
    """The question's words, without those that say what is asked about something else: «configured», «last changed»."""
    if said:
        return tuple(term for term in counts if term not in said) or tuple(counts)
    if "configuration" not in aspects:
        return tuple(counts)
    return tuple(term for term in counts if term not in _CONFIGURED) or tuple(counts)


def _kinds_and_aspects(
    text: str, parts: Sequence[str]
) -> tuple[QuestionKind, tuple[Aspect, ...], tuple[QuestionKind, ...]]:
    """The kind of a question, what it asks for, and the kinds of its further parts, which ask for more."""
    if len(parts) > 1:
        kinds = [next((kind for kind, pattern in PATTERNS if pattern.search(part)), None) for part in parts]
        known: list[QuestionKind] = [kind for kind in kinds if kind is not None and kind in _ADDED]
        if len(known) == len(parts):
            first, *further = known
            added = [aspect for kind in further for aspect in _ADDED[kind]]
            return first, tuple(dict.fromkeys((*ASPECTS[first], *added))), tuple(further)
    return *_kind_and_aspects(text), ()


def _kind_and_aspects(text: str) -> tuple[QuestionKind, tuple[Aspect, ...]]:
    """The kind of a question; one that asks how a thing works and where it is configured is asked both."""
    kinds = list(dict.fromkeys(kind for kind, pattern in PATTERNS if pattern.search(text))) or ["how"]
    if kinds[0] == "configured" and "how" in kinds and not _HOW_CONFIGURED.search(text):
        return "how", (*ASPECTS["how"], "configuration")
    return kinds[0], ASPECTS[kinds[0]]
