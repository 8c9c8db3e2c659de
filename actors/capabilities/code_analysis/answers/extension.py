"""How a thing is extended: what already derives from it, and what whoever derives from it must write.

Read off lines that were shown: a line that declares a type and names the thing, and members that are empty on purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from actors.capabilities.code_analysis.evidence.claims import Claim, code_span, cut_to
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.listing_scope import OPEN_KINDS
from actors.capabilities.code_analysis.ranking.relevance import Entity

MAX_DERIVED = 6
MAX_OPEN = 6

_DECLARES = re.compile(
    r"^\s*(?:@\w+\s+)*(?:(?:export|default|public|final|abstract|static|pub|data|sealed)\s+)*"
    r"(?:class|struct|interface|impl|object|trait|type)\b"
)
_MEMBER = re.compile(
    r"^\s*(?:(?:public|protected|abstract|async|static|virtual)\s+)*(?:def|func|fn|function)?\s*"
    r"(?:[\w<>\[\], ]+\s+)?(?P<name>[A-Za-z_]\w*)\s*\("
)
_OPEN = re.compile(
    r"raise NotImplementedError|@(?:abc\.)?abstract\w*|^\s*(?:\w+\s+)*abstract\s+\w|unimplemented!\(|"
    r"UnsupportedOperationException"
)


# Rust: `impl Type {`, not `impl Trait for Type {`.
_IMPL_OF_ITSELF = re.compile(r"^\s*(?:unsafe\s+)?impl\b(?!.*\bfor\b)")
_SIGNATURE = re.compile(
    r"^\s*(?:(?:pub|public|protected|abstract|async|suspend|static|unsafe|const|fun|fn|func)\s+)*"
    r"(?:[\w<>\[\],.?*& ]+\s+[*&]?)?(?P<name>[A-Za-z_]\w*)\s*(?:<[^>]*>)?\("
)


def derived(name: str, uses: Iterable[CodeFact], limit: int = MAX_DERIVED) -> list[Claim]:
    """The types whose declaration names another one, each at its line; at most `limit`, those of tests last."""
    last = name.rpartition(".")[2]
    named = re.compile(rf"\b{re.escape(last)}\b")
    claims: dict[tuple[str, int], Claim] = {}
    for use in uses:
        line = use.citation.quote
        declared = _DECLARES.match(line)
        if (
            declared is None
            or _IMPL_OF_ITSELF.match(line)
            or named.search(line, declared.end()) is None
            or _declares(line, declared, last)
        ):
            continue
        text = f"{code_span(line.strip()[:120])}{' (a test)' if use.is_test else ''}"
        claims.setdefault((use.citation.file, use.citation.start_line), Claim("example", text, (use.citation,)))
    ordered = sorted(claims.values(), key=lambda claim: claim.text.endswith("(a test)"))
    return cut_to(ordered, limit)


def left_open(lead: Entity) -> list[Claim]:
    """Members of the lead that whoever derives from it must write: abstract ones, and those that only raise."""
    if lead.code is None:
        return []
    lines = lead.code.text.split("\n")
    first = lead.code.citation.start_line
    claims: dict[str, Claim] = {}
    found = [_member_near(lines, number) for number, line in enumerate(lines) if _OPEN.search(line)]
    if lead.kind in OPEN_KINDS:
        found = [*_without_body(lines)]
    for at, name in filter(None, found):
        place = {"start_line": first + at, "end_line": first + at, "quote": lines[at].strip()[:160]}
        citation = msgspec.structs.replace(lead.code.citation, **place)
        claims.setdefault(name, Claim("hook", f"{code_span(name)}: {code_span(citation.quote)}", (citation,)))
    return cut_to(list(claims.values()), MAX_OPEN)


def _without_body(lines: list[str]) -> Iterable[tuple[int, str]]:
    """(line, name) of the members of an interface that have no body of their own."""
    depth = 0
    for number, line in enumerate(lines):
        shown = line.split("//")[0]
        if depth == 1 and not line.lstrip().startswith(("//", "/*", "*", "#", "@")):
            head = _head_from(lines, number)
            if (named := _SIGNATURE.match(head)) is not None and "{" not in head and " = " not in head:
                yield number, named["name"]
        depth += shown.count("{") - shown.count("}")


def _head_from(lines: list[str], number: int) -> str:
    """A signature from the line where it begins to the one where its brackets are closed."""
    head = ""
    for line in lines[number : number + 12]:
        head += line
        if head.count("(") <= head.count(")"):
            break
    return head


def _declares(line: str, declared: re.Match[str], name: str) -> bool:
    """True when the declaration is that of the name itself; an `impl` declares nothing."""
    is_impl = declared.group().endswith("impl")
    return not is_impl and re.match(rf"\s*{re.escape(name)}\b", line[declared.end() :]) is not None


def _member_near(lines: list[str], number: int) -> tuple[int, str] | None:
    """The member that an opening belongs to: below a decorator, on its own line, or above a raise."""
    if "@" in lines[number]:
        order: Iterable[int] = range(number + 1, min(number + 4, len(lines)))
    else:
        order = range(number, max(-1, number - 40), -1)
    for at in order:
        line = lines[at]
        if re.match(r"\s*(?:raise|throw|return|@|\"|#|//)", line) or not re.search(
            r"\b(?:def|func|fn|function|abstract)\b", line
        ):
            continue
        if (found := _MEMBER.match(line)) is not None:
            return at, found["name"]
    return None
