"""Declares the tool `find_choices`: all values of a closed set, as the code declares them."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.resolution.closed_sets.records import ClosedSet, Member
from runtime.codebase.resolution.default_values.secret_values import is_secret
from runtime.codebase.search.choices.find_sets import ChoiceFinder, FoundSet
from runtime.codebase.tool_parts.citing import cite
from runtime.codebase.tool_parts.look_up import bounded, listed, numbered
from runtime.codebase.tool_registry import CodeTool, Text, by_fields

MAX_SETS = 3
MAX_MEMBERS = 60
MAX_TEXT_CHARS = 200


class FindChoices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which values may it be («compression modes», «--style», «values of SameSite»)?"""

    query: Text
    max_results: Annotated[int, msgspec.Meta(ge=1, le=MAX_SETS)] = 2


def find_choices(codebase: Codebase, query: str, max_results: int = 2) -> ToolResult:
    """Find the closed set that is meant, best first, with a citation for each of its members.

    `data`: query, sets [{name, kind, owner, file, line, docstring, total, is_open, added_at, citation, option,
    members}]; of these members [{name, value, docstring, line, text, citation}], at most 60. `total`: how many it has;
    `is_open`: whether more may be added than its declaration shows, `added_at` the number of the citation of a place
    where that is done. The value of a secret is left out. `option`: the option that takes its values from it,
    {name, citation}. Status `empty` where no set fits, or several equally well.
    """
    log = AttemptLog()
    finder = ChoiceFinder(codebase.index, codebase.try_source)
    found = log.run("sets", lambda: finder.find(query))
    limit = bounded(max_results, MAX_SETS)
    citations: list[Citation] = []
    rows = [_row(codebase, one, citations) for one in found[:limit]]
    is_cut = len(found) > limit or any(len(row["members"]) < row["total"] for row in rows)
    return listed(log, {"query": query, "sets": rows}, citations, is_cut, bool(rows))


def _row(codebase: Codebase, found: FoundSet, citations: list[Citation]) -> dict[str, Any]:
    one = found.one
    made = cite(codebase, one.file, one.line, one.line, why=f"declares {one.name}", symbol=one.name)
    if made is not None and any(_hides(one, member) for member in one.members):
        made = msgspec.structs.replace(made, quote="")
    added = found.added_at
    place = None if added is None else cite(codebase, added[0], added[1], added[1], why=f"adds to {one.name}")
    return {
        "name": one.name,
        "kind": one.kind,
        "owner": one.owner,
        "file": one.file,
        "line": one.line,
        "docstring": one.docstring,
        "total": one.total,
        "is_open": one.is_open or added is not None,
        "citation": numbered(citations, made),
        "added_at": numbered(citations, place),
        "option": _option_row(codebase, found.option, citations),
        "members": [_member_row(codebase, one, member, citations) for member in one.members[:MAX_MEMBERS]],
    }


def _option_row(codebase: Codebase, option: ClosedSet | None, citations: list[Citation]) -> dict[str, Any] | None:
    if option is None:
        return None
    made = cite(codebase, option.file, option.line, option.end_line, why=f"declares {option.name}", terms=option.refers)
    return {"name": option.name, "citation": numbered(citations, made)}


def _hides(one: ClosedSet, member: Member) -> bool:
    """Return whether the value of a member may be a secret, by its name or by that of the mapping."""
    named = one.name.rstrip("sS") if one.kind == "keys" else ""
    return is_secret(member.name, member.value) or is_secret(named, member.value)


def _member_row(codebase: Codebase, one: ClosedSet, member: Member, citations: list[Citation]) -> dict[str, Any]:
    made = cite(codebase, one.file, member.line, member.line, why=f"is one of {one.name}", symbol=one.name)
    hidden = _hides(one, member)
    if made is not None and hidden:
        made = msgspec.structs.replace(made, quote="")
    return {
        "name": member.name,
        "value": "" if hidden else member.value,
        "docstring": member.docstring,
        "line": member.line,
        "text": "" if made is None else made.quote[:MAX_TEXT_CHARS],
        "citation": numbered(citations, made),
    }


TOOL = CodeTool(
    name="find_choices",
    description="All values of a closed set: an enumeration, a constant, an option.",
    parameters=FindChoices,
    run=by_fields(find_choices),
    cost=3,
    isolation="in_process",
    place=66,
    example={"query": "compression modes"},
)
