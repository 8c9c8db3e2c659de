"""What two things have in common and what only one of them has: their members where they are types, else their lines.

Read off facts alone: each list is cited at the lines of what it names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from actors.capabilities.code_analysis.claims import Claim, code_span
from actors.capabilities.code_analysis.facts import Fact
from actors.capabilities.code_analysis.relevance import Entity
from runtime.tools.result import Citation

# The step that asks for all members of what is compared.
MEMBERS = "members"
MAX_NAMED = 8
MAX_CITED = 2
MAX_LINES_APART = 3
MIN_LINE_CHARS = 4
_COMMENTS = ("#", "//", "/*", "*", '"""', "'''")


def differences(one: Entity, other: Entity, facts: Sequence[Fact]) -> list[Claim]:
    """What both have, and what only one has; empty when neither members nor code is known of both."""
    left, right = members(one, facts), members(other, facts)
    if left and right:
        return _of_members(one, other, left, right)
    if one.code is not None and other.code is not None:
        return [*_own_lines(one, other), *_own_lines(other, one)]
    return []


def members(entity: Entity, facts: Sequence[Fact]) -> dict[str, Citation]:
    """Member → its lines, of a type of which all were asked for; private ones and those of members left out."""
    if not any(MEMBERS in (fact.step, *fact.also_by) and fact.citation.file == entity.citation.file for fact in facts):
        return {}
    prefix = f"{entity.name}."
    found = {
        fact.name.removeprefix(prefix): fact.citation
        for fact in sorted(facts, key=lambda fact: fact.citation.start_line)
        if fact.kind == "definition" and fact.name.startswith(prefix) and fact.citation.file == entity.citation.file
    }
    return {name: place for name, place in found.items() if "." not in name and not name.startswith("_")}


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


def _own_lines(entity: Entity, other: Entity) -> list[Claim]:
    """The first lines of code that the other one does not have, each at its place."""
    assert entity.code is not None
    assert other.code is not None
    known = {" ".join(line.split()) for line in other.code.text.split("\n")}
    first = entity.code.citation.start_line
    own = []
    for number, line in enumerate(entity.code.text.split("\n")):
        words = " ".join(line.split())
        if len(words) < MIN_LINE_CHARS or words in known or words.startswith(_COMMENTS) or entity.name in words:
            continue
        place = {"start_line": first + number, "end_line": first + number, "quote": line.strip()[:160]}
        citation = msgspec.structs.replace(entity.code.citation, **place)
        text = f"Only in {code_span(entity.name)}: {code_span(citation.quote)}"
        own.append(Claim("difference", text, (citation,), subject=entity.name))
    return own[:MAX_LINES_APART]
