"""What two things have in common and what only one of them has: their members where they are types, else their calls.

Read off facts alone: each list is cited at the lines of what it names. A function that does nothing but call another
one is compared by what that one does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from actors.capabilities.code_analysis.answers.named_types.members import TYPE_KINDS, VALUES, members_of
from actors.capabilities.code_analysis.answers.wording import docstring_lines
from actors.capabilities.code_analysis.evidence.call_flow import COMMON_METHODS
from actors.capabilities.code_analysis.evidence.claims import Claim, code_span
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.ranking.relevance import Entity, is_named
from runtime.codebase.citation import Citation
from runtime.primitives.dotted_names import last_part

MAX_NAMED = 8
MAX_CITED = 2
MAX_LINES_APART = 3
MIN_LINE_CHARS = 4
MAX_HANDED_ON = 3
MAX_THIN_LINES = 4
_COMMENTS = ("#", "//", "/*", "*", '"""', "'''")
_CALL = re.compile(r"(?<![\w.$])([A-Za-z_$][\w$]*(?:(?:\.|::|->)[A-Za-z_$][\w$]*)*[!?]?)\s*\(")
_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_NO_CALLS = frozenset(
    {"if", "for", "while", "switch", "catch", "return", "function", "func", "fn", "fun", "sizeof", "match", "elif"}
    | {"not", "and", "or", "in", "await", "new", "case", "defer", "go", "def", "typeof", "print", "assert", "when"}
)
_OWN = re.compile(r"^(?:self|this|\$this|cls|super)(?:\.|::|->)")
_BASES = re.compile(r"\b(?:extends|implements|with|for)\b|[(:<,]")


def differences(one: Entity, other: Entity, facts: Sequence[CodeFact]) -> list[Claim]:
    """How the two are related, what both have, and what only one has; empty when too little is known of them."""
    left, right = members_of_both(one, other, facts)
    related = [*_built_on(one, other), *_built_on(other, one), *_calls_other(one, other), *_calls_other(other, one)]
    if left and right:
        return [*related, *_of_members(one, other, left, right)]
    if one.kind in TYPE_KINDS or other.kind in TYPE_KINDS:
        return related or _own_lines_of_both(one, other)
    passed_on = {
        entity.name: [] if others else _handed_on(entity, facts)
        for entity, others in ((one, _calls_other(one, other)), (other, _calls_other(other, one)))
    }
    related += [claim for entity in (one, other) for claim in _hand_on_claims(entity, passed_on[entity.name])]
    ends = {name: chain[-1].place if chain else None for name, chain in passed_on.items()}
    if not all(ends.values()) or len(set(ends.values())) == 1:
        # What one does itself is no match for what the other hands on, and what both hand on differs in how alone.
        passed_on = {one.name: [], other.name: []}
    calls = {entity.name: _calls_of(entity, passed_on[entity.name], facts) for entity in (one, other)}
    if any(passed_on.values()) or calls[one.name].keys() != calls[other.name].keys():
        ways = {name: f", by way of {code_span(chain[-1].name)}," for name, chain in passed_on.items() if chain}
        return [*related, *_of_calls(one, other, calls, ways)]
    return [*related, *_of_calls(one, other, calls, {}), *_own_lines_of_both(one, other)]


def compared(names: Sequence[str], entities: Sequence[Entity]) -> list[Entity]:
    """The best place for each name; where both stand in one class, else in one file, those rather than any others."""
    named = [[entity for entity in entities if is_named(entity.name, (name,))] for name in names]
    best = list(dict.fromkeys(found[0] for found in named if found))
    if len(named) != 2 or len(best) != 2 or best[0].citation.file == best[1].citation.file:
        return best
    pairs = [
        (one, two) for one in named[0] for two in named[1] if one.citation.file == two.citation.file and one != two
    ]
    in_class = [pair for pair in pairs if _owner(pair[0]) == _owner(pair[1])]
    return list(max(in_class or pairs, key=lambda pair: pair[0].score + pair[1].score, default=best))


def members_of_both(
    one: Entity, other: Entity, facts: Sequence[CodeFact]
) -> tuple[dict[str, Citation], dict[str, Citation]]:
    """The members of two types; the private ones as well where either has no others: what it overrides tells then."""
    left, right = members(one, facts), members(other, facts)
    if left and right:
        return left, right
    return members(one, facts, with_private=True), members(other, facts, with_private=True)


def members(entity: Entity, facts: Sequence[CodeFact], with_private: bool = False) -> dict[str, Citation]:
    """Member → its lines, as `members_of` has them; where there are many, what it does before the values it holds."""
    own = members_of(entity, facts, with_private)
    if len(own) > MAX_NAMED:
        own.sort(key=lambda fact: fact.symbol_kind in VALUES)
    return {fact.name.removeprefix(f"{entity.name}."): fact.citation for fact in own}


def _owner(entity: Entity) -> str:
    return entity.name.rpartition(".")[0]


def _built_on(entity: Entity, base: Entity) -> list[Claim]:
    """That one is declared as a kind of the other: its base class, its interface."""
    rest = entity.signature.partition(last_part(entity.name))[2]
    named = re.search(rf"(?<![\w.]){re.escape(last_part(base.name))}\b", rest)
    is_type = entity.kind not in {"function", "method", "constructor"}
    if not is_type or named is None or _BASES.search(rest[: named.start()]) is None:
        return []
    text = f"{code_span(entity.name)} builds on {code_span(base.name)}: {code_span(' '.join(entity.signature.split()))}"
    return [Claim("difference", text, (entity.citation,), subject=entity.name)]


def _calls_other(entity: Entity, other: Entity) -> list[Claim]:
    """The first line on which one calls the other."""
    if entity.code is None:
        return []
    wanted = re.compile(rf"(?<!\w){re.escape(last_part(other.name))}\s*\(")
    lines = entity.code.text.split("\n")
    for number, line in _code_lines(entity):
        if wanted.search(line) and (number or len(lines) == 1):
            citation = _line(entity, number)
            text = f"{code_span(entity.name)} calls {code_span(other.name)}: {code_span(citation.quote)}"
            return [Claim("difference", text, (citation,), subject=entity.name)]
    return []


def _handed_on(entity: Entity, facts: Sequence[CodeFact]) -> list[CodeFact]:
    """What it hands on to, one after the other: the only call of each, as long as there is one alone."""
    chain: list[CodeFact] = []
    at = entity.name
    while len(chain) < MAX_HANDED_ON:
        calls = [fact for fact in facts if fact.kind == "trace" and fact.about == at]
        if len(calls) != 1 or calls[0].name in {entity.name, *(fact.name for fact in chain)}:
            break
        if not chain and not _is_thin(entity):
            break
        chain.append(calls[0])
        at = calls[0].name
    return chain


def _is_thin(entity: Entity) -> bool:
    """True for code of a single call in a few lines."""
    lines = [line for _, line in _code_lines(entity) if line.strip(" \t{}();")]
    return len(lines) <= MAX_THIN_LINES and len(_own_calls(entity)) <= 1


def _hand_on_claims(entity: Entity, chain: Sequence[CodeFact]) -> list[Claim]:
    if not chain:
        return []
    names = ", which calls ".join(code_span(fact.name) for fact in chain)
    text = f"{code_span(entity.name)} hands on to {names}"
    return [Claim("difference", text, tuple(fact.citation for fact in chain), subject=entity.name)]


def _calls_of(entity: Entity, chain: Sequence[CodeFact], facts: Sequence[CodeFact]) -> dict[str, Citation]:
    """Called name → where: of the last that it hands on to, else its own lines."""
    if chain:
        last = chain[-1]
        return {
            last_part(fact.name): fact.citation for fact in facts if fact.kind == "trace" and fact.about == last.name
        }
    return {name: _line(entity, number) for name, number in _own_calls(entity)}


def _own_calls(entity: Entity) -> list[tuple[str, int]]:
    """(name, line of its code) of each call in its code, the first of each name."""
    found: dict[str, int] = {}
    own = last_part(entity.name)
    for number, line in _code_lines(entity):
        for name in _CALL.findall(_STRING.sub("''", line)):
            plain = _OWN.sub("", name)
            known = last_part(plain.replace("::", ".").replace("->", "."))
            if known not in _NO_CALLS | COMMON_METHODS and known != own:
                found.setdefault(plain, number)
    return list(found.items())


def _code_lines(entity: Entity) -> list[tuple[int, str]]:
    if entity.code is None:
        return []
    lines = entity.code.text.split("\n")
    in_doc = docstring_lines(lines)
    spoken = (number for number, line in enumerate(lines) if line.lstrip().startswith(_COMMENTS))
    left_out = in_doc.union(spoken)
    return [(number, line) for number, line in enumerate(lines) if number not in left_out]


def _line(entity: Entity, number: int) -> Citation:
    assert entity.code is not None
    at = entity.code.citation.start_line + number
    quote = entity.code.text.split("\n")[number].strip()[:160]
    return msgspec.structs.replace(entity.code.citation, start_line=at, end_line=at, quote=quote, symbol=entity.name)


def _of_calls(
    one: Entity, other: Entity, calls: Mapping[str, Mapping[str, Citation]], ways: Mapping[str, str]
) -> list[Claim]:
    left, right = calls[one.name], calls[other.name]
    both = [name for name in left if name in right]
    claims = []
    if both:
        cited = [place for name in both[:1] for place in (left[name], right[name])]
        claims.append(_list(f"Both {code_span(one.name)} and {code_span(other.name)} call", both, cited))
    for entity, own, others in ((one, left, right), (other, right, left)):
        only = [name for name in own if name not in others]
        if only and _is_whole(other if entity is one else one):
            cited = [own[name] for name in only[:MAX_CITED]]
            claims.append(_list(f"Only {code_span(entity.name)}{ways.get(entity.name, '')} calls", only, cited))
    return claims


def _is_whole(entity: Entity) -> bool:
    """Return whether all of its code was read: else nobody knows what it does not do."""
    return entity.code is not None and entity.code.citation.end_line >= entity.citation.end_line


def _of_members(one: Entity, other: Entity, left: Mapping[str, Citation], right: Mapping[str, Citation]) -> list[Claim]:
    both = [name for name in left if name in right]
    claims = []
    if both:
        cited = [place for name in both[:1] for place in (left[name], right[name])]
        claims.append(_list(f"Both {code_span(one.name)} and {code_span(other.name)} define", both, cited))
    for entity, own, others in ((one, left, right), (other, right, left)):
        only = [name for name in own if name not in others]
        if only:
            claims.append(
                _list(f"Only {code_span(entity.name)} itself defines", only, [own[name] for name in only[:MAX_CITED]])
            )
    return claims


def _list(head: str, names: Sequence[str], cited: Sequence[Citation]) -> Claim:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return Claim("difference", f"{head} {', '.join(map(code_span, names[:MAX_NAMED]))}{more}", tuple(cited))


def _own_lines_of_both(one: Entity, other: Entity) -> list[Claim]:
    if one.code is None or other.code is None:
        return []
    return [
        *(_own_lines(one, other) if _is_whole(other) else ()),
        *(_own_lines(other, one) if _is_whole(one) else ()),
    ]


def _own_lines(entity: Entity, other: Entity) -> list[Claim]:
    """The first lines of code that the other one does not have, each at its place."""
    assert entity.code is not None
    assert other.code is not None
    known = {" ".join(line.split()) for line in other.code.text.split("\n")}
    own = []
    for number, line in _code_lines(entity):
        words = " ".join(line.split())
        if len(words) < MIN_LINE_CHARS or words in known or last_part(entity.name) in words:
            continue
        citation = _line(entity, number)
        text = f"Only in {code_span(entity.name)}: {code_span(citation.quote)}"
        own.append(Claim("difference", text, (citation,), subject=entity.name))
    return own[:MAX_LINES_APART]
