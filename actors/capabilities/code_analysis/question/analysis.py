"""What kind of question it is, and what it speaks of: pure text analysis, no model.

Patterns run over a caller's text, so their time is linear in it: no match begins inside a token or a run of blanks, and
a quantifier that could give characters back to another one is possessive.
What tells the kinds apart stands in their records (package `kinds`); docs/answers.md explains them to users.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from actors.capabilities.code_analysis.question.aspects import Aspect
from actors.capabilities.code_analysis.question.kinds import (
    THIS_PROJECT,
    QuestionKind,
    default_kind,
    kind_named,
    kind_of,
    kinds_worded,
    question_kinds,
)
from actors.capabilities.code_analysis.question.overview_wording import with_project_named
from actors.capabilities.code_analysis.question.parts import asked_parts, parts_of, points_back
from runtime.codebase.files.words import index_terms, query_terms
from runtime.codebase.search.question_frames import without_frame

_ABOUT_NAMES = frozenset(
    query_terms(
        "defined declared added introduced created changed called class function method module struct type trait"
        " interface need purpose point role job good meant"
    ).counts
)

_QUOTED = re.compile(r"`([^`\n]{1,120})`|\"([\w.:/-]{2,120})\"|'([\w.:/-]{2,120})'")
_PATH = re.compile(
    r"(?<![\w/.-])(?:[\w.-]++/)+[\w.-]++|(?<![\w/.-])[\w-]++\.(?:py|js|jsx|mjs|cjs|ts|tsx|go|rs|java|kts?|cs|rb|php|c|h|cc|cpp|cxx|hh|hpp|md|rst|toml|ya?ml|json|cfg|ini|sh)\b"
)
# What stands in an address is no name of the code: `http://*.shop.com`.
_URL = re.compile(r"(?<![\w.+-])[a-z][a-z0-9+.-]*+://\S++", re.IGNORECASE)
_CONFIGURED_CLAUSE = re.compile(
    r"(?:,|(?<!\s))\s*+(?:\band\s++)?\b(?:where|how) (?:is|are) (?:it|they|this|that)\s++configured\b(?:\s++and\b)?",
    re.IGNORECASE,
)
FLOW = re.compile(r"\b(?:flows?|sequence|call (?:chain|graph)|step by step|diagram|trace|path of)\b", re.IGNORECASE)
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
# «the setting for extra folders»: what follows an article and goes on like this is described, not named.
_DESCRIBED = re.compile(r"\bthe\s+[a-z]{2,}\s+(?:for|from|in)\s+(?!this\b|the (?:code|repo))[a-z]", re.ASCII)
# «this» and «that» point back by themselves or with a word for code in general; «this library», «that parses» do not.
_FOLLOW_UP = re.compile(
    r"\b(?:it|its|they|them|(?:that|this|those|these)(?=\W*$|\s+(?:is|are|was|were|do|does|did|get|gets|has|have|can)\b"
    r"|\s+(?:functions?|class(?:es)?|methods?|modules?|files?|ones?|things?)\b))\b",
    re.IGNORECASE,
)
# What is said of a place behind the subject of a question.
SAID_OF_PLACE = re.compile(r"\s+(?:is |was )?(?:defined|declared|added|introduced)\W*$")
# Words that say what is asked about a thing rather than which thing.
_ABOUT = (
    "call caller invoke test depend import user usage example differ difference compare reason flow step part raise"
    " who when last change add write commit history extend configure cover else together usually often define declare"
)
_WHOLE = re.compile(rf"\b{THIS_PROJECT}\b", re.IGNORECASE)
_ASKING = frozenset(query_terms(_ABOUT).counts)
_CONFIGURED = frozenset(query_terms("configure configuration setting settings value").counts)
_ABBREVIATIONS = frozenset({"e.g", "i.e"})


class Question(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question taken apart. `identifiers` and `paths` as written, `terms` stemmed, `subject` without the lead-in.

    `further`: the kinds of its further parts; `core`: its text without parts that only point back («who calls it»).
    `deed_terms`: of how to extend a thing those terms that say what is done to it: «add», «register».
    `whole`: of a question about the project by its name, the text with «this project» in its place.
    """

    text: str
    kind: str
    subject: str
    identifiers: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    capitalised: tuple[str, ...] = ()
    aspects: tuple[Aspect, ...] = ()
    core: str = ""
    further: tuple[str, ...] = ()
    deed_terms: tuple[str, ...] = ()
    whole: str = ""

    @property
    def asks_for_tests(self) -> bool:
        """True when it, or a further part of it, asks for all tests."""
        return any(kind_named(name).of_tests for name in (self.kind, *self.further))

    @property
    def intelligible(self) -> bool:
        """True when there is something in it that can be looked for."""
        return bool(self.terms or self.identifiers or self.paths or kind_of(self).needs_no_subject)

    @property
    def shows_flow(self) -> bool:
        """True when it asks for what follows what: the answer draws the calls."""
        return kind_of(self).shows_flow or FLOW.search(self.text) is not None

    @property
    def draws_parts(self) -> bool:
        """True when it asks for a picture of the parts."""
        drawn = kind_of(self).draws_parts
        return drawn is not None and drawn(self.text)

    @property
    def topic(self) -> str:
        """What is to be looked for: the question without what it asks about it."""
        if _said_of(kind_of(self), self.text):
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
        kind = kind_of(self)
        if not kind.may_be_of_whole or self.identifiers or self.paths:
            return False
        return _WHOLE.search(self.text) is not None or kind.said.issuperset(self.terms)

    @property
    def is_of_names(self) -> bool:
        """True when it names things of the code, or files, and says nothing else of them."""
        own = {term for name in (*self.identifiers, *self.paths) for term in index_terms(name).split()}
        return bool(self.identifiers or self.paths) and own.union(_ABOUT_NAMES, self.deed_terms).issuperset(self.terms)

    @property
    def asks_for_origin(self) -> bool:
        """True when it asks since when, or why, there is something."""
        own = kind_of(self).origin
        if own is not None:
            return bool(self.identifiers or not own.needs_name) and own.pattern.search(self.text) is not None
        further = [kind_named(name).origin for name in self.further]
        return any(
            origin is not None and not origin.needs_name and origin.pattern.search(self.text) is not None
            for origin in further
        )

    @property
    def asks_for_guidance(self) -> bool:
        """True when it asks how somebody does a thing: «how do I …», «how to …»."""
        guidance = kind_of(self).guidance
        return guidance is not None and guidance.match(self.text) is not None

    @property
    def asks_for_list(self) -> bool:
        """True when it asks for all things of a kind."""
        return "listing" in kind_of(self).aspects

    @property
    def asks_for_doing(self) -> bool:
        """True when it asks where something is done, and not where something is: «where is it decided?»."""
        found = _WHERE.search(self.text)
        return found is not None and _DONE.search(self.text, found.end()) is not None

    @property
    def refers_back(self) -> bool:
        """True when it speaks of what an earlier question named, and names nothing itself before it does."""
        found = _FOLLOW_UP.search(self.text)
        if found is None or self.identifiers or len(self.terms) > 3 or kind_of(self).needs_no_subject:
            return False
        return query_terms(self.text[: found.start()]).counts.keys() <= _ASKING


def capitalised_words(text: str) -> tuple[str, ...]:
    """Return the words that are capitalised within a sentence, each once: names of the code, or of something else."""
    return tuple(dict.fromkeys(_CAPITALISED.findall(text)))


def analyse(
    text: str,
    project: Mapping[str, bool] | None = None,
    names: Collection[str] = (),
    described: str | None = None,
    dependencies: Sequence[str] = (),
    used: str | None = None,
    *,
    names_folder: bool = True,
) -> Question:
    """Take a question apart; total: any text gives a Question.

    `project`: what the repository is called, as `with_project_named` takes it. `names`: those of its capitalised words
    that definitions bear; the others name nothing. `described`: the name of a definition that other words of it make.
    `dependencies`: the third-party ones that it is about. `used`: the definition whose uses it asks for, be it named or
    described. Unless it `names_folder`s that there are, it is about no folder as a whole.
    """
    if dependencies:
        return _of_dependencies(text, tuple(dependencies))
    if used is not None:
        return _of_uses(text, used)
    told = with_project_named(text, project or {})
    if told != text:
        asked = analyse(told)
        if kind_of(asked).needs_no_subject:
            return msgspec.structs.replace(asked, text=text, whole=told)
    paths = tuple(dict.fromkeys(_PATH.findall(text)))
    capitalised, parts = capitalised_words(text), parts_of(text)
    core = _core(text, parts) if len(parts) > 1 else text
    terms = query_terms(without_frame(core))
    identifiers = _identifiers(text, parts, paths, [name for name in capitalised if name in names], described)
    kind, aspects, further = _kinds_and_aspects(text, parts)
    if kind.needs_no_subject and not names_folder:
        kind = next((other for other in kinds_worded(text) if not other.needs_no_subject), default_kind())
        aspects = kind.aspects
    if identifiers and (other := _taken_over(kind, text)) is not None:
        kind, aspects = other, other.aspects
    if kind.names_each:
        identifiers = tuple(dict.fromkeys((*identifiers, *capitalised)))
    said = _said_of(kind, text)
    asked = Question(
        text=text,
        kind=kind.name,
        aspects=aspects,
        subject=_subject(core, kind),
        identifiers=identifiers,
        paths=paths,
        terms=_subject_terms(terms.counts, said, aspects),
        capitalised=capitalised,
        core=core if core != text else "",
        further=further,
        deed_terms=_deed_terms(core, kind),
    )
    if said:
        asked = msgspec.structs.replace(
            asked, subject="this repository" if asked.is_of_whole else asked.topic.strip(" ?.!")
        )
    if kind.names_each and len(identifiers) > 1:
        asked = msgspec.structs.replace(asked, subject=" and ".join(identifiers))
    of_paths = kind.of_files and bool(paths) and not identifiers
    if of_paths or asked.is_of_whole:
        return msgspec.structs.replace(asked, aspects=aspects[:1])
    return asked if kind.asks_relations(asked) else msgspec.structs.replace(asked, aspects=_open_aspects(asked))


def _identifiers(
    text: str, parts: Sequence[str], paths: Collection[str], borne: Sequence[str], described: str | None
) -> tuple[str, ...]:
    """Return the names in a text: quoted, called, borne by definitions, spelt like code, asked for, or described."""
    named = [part for groups in _QUOTED.findall(text) for part in groups if part]
    named += [*_CALL.findall(text), *borne]
    spelt = [name for name in query_terms(_URL.sub(" ", text)).identifiers if name.lower() not in _ABBREVIATIONS]
    named += [name for name in spelt if not any(name in path for path in paths)]
    naming = [part for part in parts if not _DESCRIBED.search(part)]
    bare = [name for part in naming for name in _BARE_NAME.findall(part) if query_terms(name).counts]
    named += [name for name in bare if name not in paths]
    named += [described] if described else []
    return _whole_names(name.rstrip("()") for name in named if _NAME.match(name.rstrip("()")))


def _of_dependencies(text: str, names: tuple[str, ...]) -> Question:
    """Return a question about dependencies, whatever else its words would ask for."""
    kind = next(kind for kind in question_kinds().values() if kind.of_requirements)
    terms = tuple(query_terms(text).counts)
    return Question(text, kind.name, " and ".join(names), identifiers=names, terms=terms, aspects=kind.aspects)


def _of_uses(text: str, used: str) -> Question:
    """Return a question about the uses of a definition, whatever else its words would ask for."""
    kind = next(kind for kind in question_kinds().values() if kind.of_uses and "usage" in (kind.added or ()))
    terms = _subject_terms(query_terms(without_frame(text)).counts, kind.said, kind.aspects)
    return Question(text, kind.name, used, identifiers=(used,), terms=terms, aspects=kind.aspects)


def _taken_over(kind: QuestionKind, text: str) -> QuestionKind | None:
    """Return the kind that takes over a question of another kind which names something; None for most."""
    takers = (other for other in question_kinds().values() if other.takes_over is not None)
    return next(
        (t for t in takers if t.takes_over and t.takes_over.of == kind.name and t.takes_over.pattern.search(text)), None
    )


def _open_aspects(asked: Question) -> tuple[Aspect, ...]:
    """The answer itself, then what the question asks for besides: uses, tests, history, the reason of a name."""
    kinds = [kind_named(name) for name in (asked.kind, *asked.further)]
    wanted = [aspect for kind in kinds for aspect in kind.besides]
    if asked.identifiers:
        wanted += kinds[0].besides_of_names
    return tuple(dict.fromkeys(("answer", *wanted)))


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
    found = kind.lead_in.match(core) if kind.lead_in is not None else None
    rest = core[found.end() :] if found else _LEAD.sub("", _CONFIGURED_CLAUSE.sub("", core))
    if kind.tail is not None:
        rest = kind.tail.sub("", rest)
    return rest.strip(" ?.!") or core.strip()


def _deed_terms(core: str, kind: QuestionKind) -> tuple[str, ...]:
    """The terms of what is done: those ahead of the thing that is added, registered or written, or said of it."""
    if kind.lead_in is None:
        return ()
    found = kind.lead_in.match(core)
    if found is not None:
        return tuple(query_terms(found.group()).counts)
    said = _said_of(kind, core)
    return tuple(term for term in query_terms(core).counts if term in said)


def _said_of(kind: QuestionKind, text: str) -> frozenset[str]:
    """Terms that a question of that kind has whatever it is about; empty where every word may tell."""
    return kind.said if kind.said_in is None or kind.said_in.search(text) is not None else frozenset()


def _subject_terms(counts: Mapping[str, int], said: Collection[str], aspects: Sequence[Aspect]) -> tuple[str, ...]:
    """The question's words, without those that say what is asked about something else: «configured», «last changed»."""
    if said:
        return tuple(term for term in counts if term not in said) or tuple(counts)
    if "configuration" not in aspects:
        return tuple(counts)
    return tuple(term for term in counts if term not in _CONFIGURED) or tuple(counts)


def _kinds_and_aspects(text: str, parts: Sequence[str]) -> tuple[QuestionKind, tuple[Aspect, ...], tuple[str, ...]]:
    """The kind of a question, what it asks for, and the kinds of its further parts, which ask for more."""
    whole = next(iter(kinds_worded(text)), None)
    # A kind that is added to no other is recognised by the whole: «What does this do and how is it built?».
    if len(parts) > 1 and (whole is None or whole.added is not None):
        kinds = [next(iter(kinds_worded(part)), None) for part in parts]
        known = [kind for kind in kinds if kind is not None and kind.added is not None]
        if len(known) == len(parts):
            first, *further = known
            added = [aspect for kind in further for aspect in kind.added or ()]
            return first, tuple(dict.fromkeys((*first.aspects, *added))), tuple(kind.name for kind in further)
    kind, aspects = _kind_and_aspects(text)
    back = _pointing_back(text, kind)
    added = [aspect for name in back for aspect in kind_named(name).added or ()]
    return kind, tuple(dict.fromkeys((*aspects, *added))), back


def _pointing_back(text: str, kind: QuestionKind) -> tuple[str, ...]:
    """Return the other kinds of parts that ask for a relation of what stands ahead of them: «Does anything use it?»."""
    worded = [next(iter(kinds_worded(part.text)), None) for part in asked_parts(text)[1:] if points_back(part.text)]
    return tuple(dict.fromkeys(one.name for one in worded if one is not None and one.besides and one is not kind))


def _kind_and_aspects(text: str) -> tuple[QuestionKind, tuple[Aspect, ...]]:
    """The kind of a question, and what it asks for, of another kind as well where that one gives way."""
    first, *others = kinds_worded(text) or [default_kind()]
    way = first.gives_way
    if way is not None and way.to in {kind.name for kind in others} and not way.unless.search(text):
        other = kind_named(way.to)
        return other, (*other.aspects, *way.adds)
    return first, first.aspects
