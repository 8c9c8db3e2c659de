"""Defines the record of a question kind, and the registry of all kinds.

Each module of the package `kinds` declares one kind as `KIND`. Kinds build on ranking and answers, which look kinds up
here, so their package is imported by its name when the first question is read.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from actors.capabilities.code_analysis.evidence.claims import Claim, ClaimRole
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.evidence.steps import Step
from actors.capabilities.code_analysis.question.aspects import Aspect
from actors.capabilities.code_analysis.question.kind_likeness import (
    ENOUGH_OF_WHOLE,
    likely_kind,
    shares_of_kinds,
    weights_of_kinds,
)
from runtime.errors import SettingsError

if TYPE_CHECKING:
    from actors.capabilities.code_analysis.question.analysis import Question

THIS_PROJECT = r"(?:this|the) (?:repo(?:sitory)?|project|code ?base|package|library|program|folder|code)"

_PACKAGE = "actors.capabilities.code_analysis.kinds"

# More words than this tell a story rather than name a relation: without a name in it, and with one.
MOST_WORDS_OF_RELATIONS = {False: 9, True: 24}


# Behind the wordings of all kinds but those that begin with «where», «how» and «what».
PLACE_OF_WORDS = 1250


class Wording(msgspec.Struct, frozen=True):
    """Recognises questions of a kind. `place`: its turn among the wordings of all kinds, of which the first decides.

    Narrow wordings have smaller places than wide ones. `matches`: true of a question that is worded so.
    """

    place: int
    matches: Callable[[str], object]


class TakesOver(msgspec.Struct, frozen=True):
    """Makes questions of the kind `of` that name something and match `pattern` questions of this kind."""

    of: str
    pattern: re.Pattern[str]


class GivesWay(msgspec.Struct, frozen=True):
    """Makes a question that is worded like the kind `to` as well one of that kind, which asks for `adds` besides.

    A question that matches `unless` is left as it is.
    """

    to: str
    unless: re.Pattern[str]
    adds: tuple[Aspect, ...]


class Origin(msgspec.Struct, frozen=True):
    """Recognises questions for the commit that brought a thing in; `needs_name`: only those that name the thing."""

    pattern: re.Pattern[str]
    needs_name: bool = False


class PlanRequest(msgspec.Struct, frozen=True):
    """Holds what a kind plans steps for. `goals` maps each aspect to the id of its goal.

    `is_wider` also searches for the parts of names.
    """

    question: Question
    goals: Mapping[str, str]
    pass_number: int = 1
    is_wider: bool = False


Planner = Callable[[PlanRequest], list[Step]]
# The question, the fact that tells most of a place, all facts about the place, and how much each term counts.
Bonus = Callable[["Question", CodeFact, Sequence[CodeFact], Mapping[str, float]], float]
# Takes the Evidence of `answers`, which stand above this module.
Writer = Callable[[Any], list[Claim]]


def never(question: Question) -> bool:
    """Return False."""
    return False


def of_names_alone(question: Question) -> bool:
    """Return whether a question speaks of nothing but what it names."""
    return question.is_of_names


def of_named_relations(question: Question) -> bool:
    """Return whether a question asks in few words for a relation of what it names."""
    return bool(question.identifiers or question.paths) and _is_short(question)


def of_relations(question: Question) -> bool:
    """Return whether a question asks in few words for a relation; it need not name anything."""
    return _is_short(question)


def _is_short(question: Question) -> bool:
    return len(question.text.split()) <= MOST_WORDS_OF_RELATIONS[bool(question.identifiers)]


class QuestionKind(msgspec.Struct, frozen=True, kw_only=True):
    """Declares a kind of question: how it is recognised, what it asks for, and how that is found and told.

    `imperative` words the user's intent; it may hold `{subject}`. `meaning` is what models are told of the kind.
    """

    name: str
    meaning: str = ""
    imperative: str

    # Recognition; `is_default`: the kind of a question that is worded like none.
    wordings: tuple[Wording, ...]
    takes_over: TakesOver | None = None
    gives_way: GivesWay | None = None
    is_default: bool = False

    # What it asks for; as a further part of a question (None: it is none); besides the answer of a question in words,
    # and where that question names something; whether the relations of what it names answer it, rather than words.
    aspects: tuple[Aspect, ...]
    added: tuple[Aspect, ...] | None = None
    besides: tuple[Aspect, ...] = ()
    besides_of_names: tuple[Aspect, ...] = ()
    asks_relations: Callable[[Question], bool] = of_names_alone

    # Its subject: the terms that its wording has whatever it is about, where `said_in` matches if that is set; what
    # stands ahead of it, which tells what is done to it; what follows it.
    said: frozenset[str] = frozenset()
    said_in: re.Pattern[str] | None = None
    lead_in: re.Pattern[str] | None = None
    tail: re.Pattern[str] | None = None

    # What it speaks of: several things; and each by its name, capitalised at least; by words that make the name of a
    # definition, if they are all, or of a type that is there to be extended, as if it named that; one relation of the
    # first thing that it names; files, of which alone it asks for its first aspect alone; what the repository depends
    # on; the repository, where it names nothing, or always. `asks_for_related`: «its tests» are what it asks for and
    # not what it asks about.
    of_several: bool = False
    names_each: bool = False
    named_by_words: Literal["never", "definitions", "definitions alone", "open types"] = "never"
    of_relation: bool = False
    of_files: bool = False
    of_requirements: bool = False
    may_be_of_whole: bool = False
    needs_no_subject: bool = False
    asks_for_related: bool = False

    # When it asks for the first commit of a thing, for how somebody does a thing, for calls in order, for all tests.
    origin: Origin | None = None
    guidance: re.Pattern[str] | None = None
    shows_flow: bool = False
    # True of a question that wants a picture of the parts.
    draws_parts: Callable[[str], bool] | None = None
    of_tests: bool = False

    # Of how many of the places that it names the commits are asked for; whether it asks for a reason, which commits of
    # any place may give.
    histories: int = 1
    asks_for_reason: bool = False

    # Of how many places the code is shown, at least; whether what the best one passes its work on to is read as well.
    max_excerpts: int = 2
    follows_delegate: bool = False

    # How places rank: whether it asks for what does something, and of that for code that runs anyhow; whether where it
    # is set up will do; whether the root of classes stands first; what a place gains beside what any question gives.
    asks_for_deed: Callable[[Question], bool] = never
    prefers_running_code: bool = False
    may_be_set_up: bool = False
    base_first: bool = False
    bonus: Bonus | None = None

    # Which places lead: none of tests; which uses are told: only those of a name that the question has. Whether only
    # what bears its names is related: never, where it has nothing else, or always.
    leads_outside_tests: bool = False
    of_uses: bool = False
    names_decide: Literal["never", "alone", "always"] = "never"

    # How often its answers from proven relations are good, 0 to 1; those of questions in words have their own estimate.
    usual_confidence: float = 0.5

    # Its steps; what writes its claims, by aspect, where that differs from other kinds; the sections behind the
    # lead, and those ahead of it.
    plan: Planner
    writers: Mapping[str, Writer] = {}
    first_roles: tuple[ClaimRole, ...] = ()
    leading_roles: tuple[ClaimRole, ...] = ()


def wordings(place: int, *patterns: str) -> tuple[Wording, ...]:
    """Return wordings of one place, upper and lower case alike."""
    return tuple(Wording(place, re.compile(pattern, re.IGNORECASE).search) for pattern in patterns)


@functools.cache
def question_kinds() -> Mapping[str, QuestionKind]:
    """Return every kind by its name, in the order in which their first wordings are tried.

    SettingsError for a module of the package that declares none.
    """
    package = importlib.import_module(_PACKAGE)
    modules = (importlib.import_module(f"{_PACKAGE}.{found.name}") for found in pkgutil.iter_modules(package.__path__))
    declared = [_declared_in(module) for module in modules]
    ordered = sorted(declared, key=lambda kind: (min(wording.place for wording in kind.wordings), kind.name))
    return {kind.name: kind for kind in ordered}


def _declared_in(module: object) -> QuestionKind:
    kind = getattr(module, "KIND", None)
    if not isinstance(kind, QuestionKind):
        name = getattr(module, "__name__", module)
        raise SettingsError(f"the module {name} declares no kind of question; give it KIND, a QuestionKind")
    return kind


@functools.cache
def _recognisers() -> tuple[tuple[Wording, QuestionKind], ...]:
    """Return the wordings of all kinds with their kinds, in the order in which they are tried."""
    found = [(wording, kind) for kind in question_kinds().values() for wording in kind.wordings]
    learnt = [(learnt_wording(kind), kind) for kind in question_kinds().values() if kind.name in weights_of_kinds()]
    return tuple(sorted([*found, *learnt], key=lambda pair: pair[0].place))


def learnt_wording(kind: QuestionKind) -> Wording:
    """Return what recognises a kind by its words, where no wording does but those of the widest kinds."""
    least = ENOUGH_OF_WHOLE if kind.needs_no_subject else 0.0
    return Wording(
        PLACE_OF_WORDS, lambda text: likely_kind(text) == kind.name and shares_of_kinds(text)[kind.name] >= least
    )


def kinds_worded(text: str) -> list[QuestionKind]:
    """Return the kinds with a wording that a text matches, each once, the one that decides first."""
    found = {kind.name: kind for wording, kind in _recognisers() if wording.matches(text)}
    return list(found.values())


def default_kind() -> QuestionKind:
    """Return the kind of a question that is worded like none."""
    return next(kind for kind in question_kinds().values() if kind.is_default)


def kind_of(question: Question) -> QuestionKind:
    """Return the record of a question's kind; the default one for a kind of another version's log."""
    return kind_named(question.kind)


def kind_named(name: str) -> QuestionKind:
    """Return the record of that name, the default one for an unknown name."""
    return question_kinds().get(name) or default_kind()
