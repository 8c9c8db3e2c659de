"""Which found places answer the question: facts merged into entities, and entities put in order.

A place gains from every search that found it, from names and words that it shares with the question, and from being
code that does something rather than a test of it, unless tests were asked for. Pure and deterministic. (Over 400
lines: all that one score is made of stands together.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import msgspec

from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.evidence.steps import Purpose
from actors.capabilities.code_analysis.question.action import (
    Deed,
    deed_of,
    does_all,
    gives_itself_back,
    is_called,
    is_of_something_else,
    merely_asks,
    sets_up,
)
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.kinds import kind_of
from actors.capabilities.code_analysis.question.listing_scope import kinds_listed
from runtime.codebase.citation import Citation
from runtime.codebase.files.words import index_terms, split_identifier, stem
from runtime.codebase.resolution.symbol_links import normal_name
from runtime.codebase.search.query_expansion import other_words

# The search weighs all words of a place against those of all others; the words of its name say less than that. A search
# for settings finds whatever speaks of settings: there names say as much.
LOCATED_WEIGHT = 2.0
NAMED_BONUS = 4.0
OWNER_BONUS = 0.4
OTHER_FINDS, MAX_OTHER_FINDS = 0.25, 3
SHARED_SCALE = 0.6
MIN_BEGINNING = 4
BEGINNING_WEIGHT = 0.7
# A word that no place that was found bears tells them apart by nothing.
UNMET_WEIGHT = 0.2
# «add» is done to many things.
DEED_WEIGHT = 0.3
NAME_WEIGHT, OWNER_WEIGHT, DOC_WEIGHT, PATH_WEIGHT = 1.0, 0.6, 0.6, 0.4
PRECISION_BONUS, HOME_BONUS, MEMBER_BONUS = 0.2, 0.4, 0.5
# How well the base of a class must fit, of what the class does, to lead in its place.
BASE_SHARE = 0.85
BRANCH_BONUS = 0.8
DEED_BONUS, VERB_BONUS, CALLED_BONUS = 0.5, 0.2, 0.4
# Where something is done may be where it is set up.
SETTING_UP_WHERE_FITNESS = 0.85
SETTING_UP_FITNESS, ASKING_FITNESS, DECLARED_FITNESS, OTHER_THING_FITNESS = 0.7, 0.85, 0.7, 0.85
TEST_FITNESS, SECTION_FITNESS, MODULE_FITNESS, HEAD_FITNESS, DOING_FITNESS = 0.35, 0.6, 0.8, 0.3, 1.15
NAMELESS_FITNESS, SPECIAL_FITNESS = 0.6, 0.85

# Stems that people and code use for the same thing.
_ALIKE = (
    ("fold", "dir", "directory"),
    ("auth", "authentic", "authoriz", "login"),
    ("bound", "bind"),
    ("param", "parameter", "argument", "arg"),
    ("config", "configur", "sett", "option"),
    ("error", "exception", "err"),
    ("env", "environ", "environment"),
    ("delet", "remov"),
    ("msg", "messag"),
    ("req", "request"),
    ("res", "respons"),
    ("db", "databas"),
    ("init", "initializ"),
    ("creat", "make", "mak", "build", "new"),
    ("resolv", "solv"),
    ("comput", "calculat", "calc"),
    ("max", "maximum"),
    ("min", "minimum"),
    ("opt", "option"),
)
_ALIKE_OF = {stem: frozenset(group) - {stem} for group in _ALIKE for stem in group}

_CONFIGURING = frozenset(index_terms("config configuration settings option options opts env environment").split())
VALUES = frozenset({"constant", "variable", "key", "field", "property", "attribute"})
DOING = frozenset({"function", "method", "constructor"})


class Entity(msgspec.Struct, frozen=True):
    """One place worth speaking of: what it is, how well it fits, and its code when it was read."""

    name: str
    kind: str
    citation: Citation
    signature: str
    docstring: str
    score: float
    purposes: tuple[Purpose, ...]
    is_test: bool
    code: CodeFact | None = None
    branch: tuple[int, ...] = ()

    def as_document(self) -> dict[str, object]:
        """What a later stage is shown of it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "file": self.citation.file,
            "start_line": self.citation.start_line,
            "end_line": self.citation.end_line,
            "score": round(self.score, 3),
        }


def rank_entities(question: Question, facts: Sequence[CodeFact]) -> list[Entity]:
    """The places that facts speak of, best first; each place once."""
    groups: dict[tuple[str, str], list[CodeFact]] = {}
    for fact in facts:
        if fact.kind in {"definition", "excerpt"}:
            groups.setdefault((fact.citation.file, fact.name or str(fact.citation.start_line)), []).append(fact)
    codes = [fact for fact in facts if fact.kind == "code"]
    all_members = [fact for members in groups.values() for fact in members]
    weights = _weights(question.terms, all_members, question.deed_terms)
    deed = _deed_of(question)
    entities = [_entity(question, members, codes, weights, deed) for members in groups.values()]
    ranked = sorted(entities, key=lambda entity: (-entity.score, *_place(entity.citation), entity.name))
    return _base_first(question, ranked) if kind_of(question).base_first and deed is None else ranked


def _deed_of(question: Question) -> Deed | None:
    """What is asked to be done, of a question that asks how or where it is and names nothing."""
    asks = kind_of(question).asks_for_deed(question) and not question.identifiers
    return deed_of(question.text) if asks else None


def _base_first(question: Question, ranked: list[Entity]) -> list[Entity]:
    """The places, with what the leading class derives from before it where that fits nearly as well.

    Who asks how a thing works in general is told of the root of its classes rather than of one kind of them.
    """
    lead = ranked[0] if ranked else None
    seen: list[Entity] = []
    while lead is not None and lead.kind == "class" and lead.name and not is_named(lead.name, question.identifiers):
        named = frozenset(re.findall(r"\w+", lead.signature.partition(lead.name)[2]))
        enough = BASE_SHARE * lead.score
        seen.append(lead)
        bases = (e for e in ranked if e.name in named and e.kind == "class" and e.score >= enough)
        lead = next((e for e in bases if not any(e is other for other in seen)), None)
        if lead is not None:
            base = msgspec.structs.replace(lead, score=ranked[0].score)
            ranked = [base, *(e for e in ranked if e is not lead)]
            lead = base
    return ranked


def coverage(question: Question, entities: Sequence[Entity], facts: Sequence[CodeFact]) -> float:
    """Share of the question's words and names that the best places mention, 0 to 1; 1 when there is none to mention."""
    kind = kind_of(question)
    if kind.needs_no_subject:
        return 1.0 if any(fact.kind in {"module", "code", "purpose", "part"} for fact in facts) else 0.0
    if kind.of_files and any(fact.commit is not None for fact in facts):
        return 1.0
    if kind.of_requirements or kinds_listed(question):
        return 1.0 if facts else 0.0
    wanted = set(question.terms) | {name.lower() for name in question.identifiers}
    if not wanted:
        return 1.0 if facts else 0.0
    if kind.names_each:
        # Of what is not there the answer says so; how well the rest is covered does not depend on it.
        missing = [name for name in question.identifiers if not any(is_named(e.name, (name,)) for e in entities)]
        if len(missing) < len(question.identifiers):
            wanted -= {name.lower() for name in missing}
            wanted -= {word for name in missing for word in index_terms(name).split()}
    text = " ".join(_text_of(entity) for entity in entities[:5])
    present = set(text.lower().split()) | set(index_terms(text).split())
    said = [term for term in wanted if not present.isdisjoint({term, *_ALIKE_OF.get(term, ())})]
    return len(said) / len(wanted)


def shares_name(entity: Entity, question: Question) -> bool:
    """True when the name or the path of a place has a word of the question."""
    known = _words(f"{entity.name} {entity.citation.file}")
    return any(_meets(term, known) for term in question.terms)


def shares_thing(entity: Entity, question: Question) -> bool:
    """True when the name of a place has a word of the question other than those of what is done: «add», «write»."""
    known = _words(entity.name)
    return any(_meets(term, known) for term in question.terms if term not in question.deed_terms)


def shared_words(entity: Entity, question: Question) -> float:
    """Share of the question's words that a place's name, path, signature and documentation have, 0 to 1."""
    known = _words(f"{entity.name} {entity.citation.file} {entity.signature} {entity.docstring}")
    return sum(_meets(term, known) for term in question.terms) / max(1, len(question.terms))


def path_shares(entity: Entity, question: Question) -> bool:
    """True when the path of a place has a word of the question."""
    known = _words(entity.citation.file)
    return any(_meets(term, known) for term in question.terms)


def is_setting(entity: Entity) -> bool:
    """True for a value that has a name, and for what speaks of settings in its name or path."""
    return entity.kind in VALUES or speaks_of_settings(entity.name, entity.citation.file)


def speaks_of_settings(name: str, file: str) -> bool:
    """True when a name or a path has a word like `config`, `settings`, `options` or `env`."""
    return not _CONFIGURING.isdisjoint(_words(f"{name} {file}"))


def is_named(name: str, identifiers: Iterable[str]) -> bool:
    """True when the question names it, whole (`Class.method`) or by its last part."""
    last = name.rsplit(".", 1)[-1]
    return any(
        wanted in (name, last) or name.endswith(f".{wanted}") for wanted in map(normal_name, identifiers) if wanted
    )


def _doing_fitness(deed: Deed, fact: CodeFact, *, may_be_set_up: bool) -> float:
    """Below 1 for what prepares, asks or declares, where the question asks how something is done."""
    is_declared = fact.symbol_kind == "method" and fact.citation.start_line == fact.citation.end_line
    fitness = SETTING_UP_FITNESS if gives_itself_back(fact.name, fact.signature) else 1.0
    if fitness == 1.0 and sets_up(deed, fact.docstring):
        fitness = SETTING_UP_WHERE_FITNESS if may_be_set_up else SETTING_UP_FITNESS
    if is_of_something_else(deed, fact.name, partial(_met_by, place=fact)):
        fitness *= OTHER_THING_FITNESS
    return (
        fitness * (ASKING_FITNESS if merely_asks(deed, fact.name) else 1.0) * (DECLARED_FITNESS if is_declared else 1.0)
    )


def _entity(
    question: Question, members: list[CodeFact], codes: list[CodeFact], weights: Mapping[str, float], deed: Deed | None
) -> Entity:
    best = min(
        members,
        key=lambda fact: (
            fact.kind != "definition",
            -fact.score,
            not fact.docstring,
            *_place(fact.citation),
            fact.symbol_kind,
            fact.signature,
            fact.docstring,
        ),
    )
    first, *others = sorted((fact.score for fact in members), reverse=True)
    located = 1.0 if "configuration" in question.aspects else LOCATED_WEIGHT
    score = located * first + OTHER_FINDS * sum(others[:MAX_OTHER_FINDS]) + _shared(best, weights, question)
    score += _named_bonus(best.name, question)
    code = _code_of(best.citation, codes)
    if deed is not None:
        done = does_all(deed, partial(_met_by, place=best))
        score += DEED_BONUS * done + CALLED_BONUS * (done > 0 and is_called(deed, best.name))
        score += VERB_BONUS * _meets(deed.verb, _words(best.name.rpartition(".")[2]))
    branch = next((fact.branch for fact in members if fact.branch), ())
    if branch:
        score += BRANCH_BONUS
    if (bonus := kind_of(question).bonus) is not None:
        score += bonus(question, best, members, weights)
    return Entity(
        name=best.name,
        kind=best.symbol_kind,
        citation=best.citation,
        signature=best.signature,
        docstring=best.docstring,
        score=score
        * _fitness(best, question)
        * (_doing_fitness(deed, best, may_be_set_up=kind_of(question).may_be_set_up) if deed else 1.0),
        purposes=tuple(dict.fromkeys(purpose for fact in members for purpose in fact.purposes)),
        is_test=best.is_test,
        code=code,
        branch=branch,
    )


def _named_bonus(name: str, question: Question) -> float:
    """What a place gains that the question names, or whose owner it names: more for a member that it speaks of, too."""
    owner, _, last = name.rpartition(".")
    if is_named(name, question.identifiers):
        return NAMED_BONUS
    is_owned = bool(owner) and is_named(owner, question.identifiers)
    if not is_owned and not _is_of(name, question.capitalised):
        return 0.0
    of_owner = _words(owner)
    others = [term for term in question.terms if term not in of_owner]
    met = max((_meets(term, _words(last)) for term in others), default=0.0) if owner else 0.0
    if is_owned and met == 1.0:
        return NAMED_BONUS + MEMBER_BONUS
    return OWNER_BONUS + MEMBER_BONUS * met


def _place(citation: Citation) -> tuple[str, int, int]:
    return (citation.file, citation.start_line, citation.end_line)


def _weights(terms: Sequence[str], facts: Sequence[CodeFact], deed: Sequence[str]) -> dict[str, float]:
    """How much each of the question's words counts: less when no place bears it in name, documentation or path, or
    when it says what is done to the thing that is asked about (`deed`)."""
    known = frozenset().union(*(_words(f"{fact.name} {fact.docstring} {fact.citation.file}") for fact in facts))
    return {term: DEED_WEIGHT if term in deed else 1.0 if _meets(term, known) else UNMET_WEIGHT for term in terms}


def _shared(fact: CodeFact, weights: Mapping[str, float], question: Question) -> float:
    """Share of the question's words that a place's name, owner, docstring and path have; a name says most.

    A name of which each word is asked for, and a file that is named after the subject, count for more.
    """
    owner, _, last = fact.name.rpartition(".")
    parts = (
        (last, NAME_WEIGHT),
        (owner, OWNER_WEIGHT),
        (fact.docstring, DOC_WEIGHT),
        (fact.citation.file, PATH_WEIGHT),
    )
    words = [(_words(text), weight) for text, weight in parts]
    met = sum(
        importance * max(weight * _meets(term, known) for known, weight in words)
        for term, importance in weights.items()
    )
    share = SHARED_SCALE * met / max(1.0, sum(weights.values()))
    home = fact.citation.file.rsplit("/", 1)[-1].partition(".")[0]
    # Who asks how to do a thing to a subject looks for the verb, not for where the subject is at home.
    at_home = kind_of(question).lead_in is None and precision(home, weights) == 1.0
    return share + PRECISION_BONUS * precision(last, weights) + HOME_BONUS * at_home


def _met_by(term: str, place: CodeFact | Entity) -> float:
    """How well a place meets one word: by its name best, then by owner, signature and documentation, then by path."""
    owner, _, last = place.name.rpartition(".")
    parts = (
        (last, 1.0),
        (f"{owner} {place.signature} {place.docstring}", DOC_WEIGHT),
        (place.citation.file, PATH_WEIGHT),
    )
    return max(weight * _meets(term, _words(text)) for text, weight in parts)


def precision(name: str, terms: Iterable[str]) -> float:
    """Share of the words of a name that are asked for, 0 to 1."""
    joined = "".join(split_identifier(name))
    words = [word for word in index_terms(name).split() if word != joined or word == stem(joined)]
    wanted = frozenset(terms)
    return sum(_meets(word, wanted) > 0 for word in words) / len(words) if words else 0.0


def _words(text: str) -> frozenset[str]:
    return frozenset(index_terms(text).split())


def _meets(term: str, known: frozenset[str]) -> float:
    """1 when the word is there, less when only a beginning of it is, or another word for it: `auth`, `folder`."""
    if term in known:
        return 1.0
    if not known.isdisjoint(_ALIKE_OF.get(term, ())):
        return BEGINNING_WEIGHT
    begun = any(len(word) >= MIN_BEGINNING and (term.startswith(word) or word.startswith(term)) for word in known)
    if begun and len(term) >= MIN_BEGINNING:
        return BEGINNING_WEIGHT
    return max((factor for word, factor in other_words(term).items() if word in known), default=0.0)


def _fitness(fact: CodeFact, question: Question) -> float:
    """Below 1 for what seldom is the answer: a test nobody asked for, a heading, the imports at the head of a file."""
    if fact.is_test and "test" not in question.terms:
        return TEST_FITNESS
    if fact.symbol_kind == "section":
        return SECTION_FITNESS
    if fact.symbol_kind in {"module", "prototype"}:
        return MODULE_FITNESS
    if not fact.name and fact.citation.start_line == 1 and not fact.docstring:
        return HEAD_FITNESS
    if not fact.name:
        return NAMELESS_FITNESS
    last = fact.name.rsplit(".", 1)[-1]
    if last.startswith("__") and last != "__call__" and not is_named(fact.name, question.identifiers):
        return SPECIAL_FITNESS
    if fact.symbol_kind == "constructor" and "constructor" not in question.text.lower():
        return SPECIAL_FITNESS
    kind = kind_of(question)
    is_preferred = fact.symbol_kind in DOING and (kind.prefers_running_code or kind.asks_for_deed(question))
    return DOING_FITNESS if is_preferred else 1.0


def _is_of(name: str, capitalised: Iterable[str]) -> bool:
    """True for a class that is spoken of by its capitalised name, and for its members."""
    return name.partition(".")[0] in capitalised


def _code_of(citation: Citation, codes: list[CodeFact]) -> CodeFact | None:
    """The code that was read of a place: the longest read that begins within its lines."""
    inside = [
        code
        for code in codes
        if code.citation.file == citation.file and citation.start_line <= code.citation.start_line <= citation.end_line
    ]
    return max(inside, key=lambda code: len(code.text), default=None)


def _text_of(entity: Entity) -> str:
    code = entity.code.text if entity.code else ""
    return f"{entity.name} {entity.signature} {entity.docstring} {entity.citation.quote} {entity.citation.file} {code}"
