"""Defines the steps of a plan and the purpose of each.

Readers of a step's results select by its purpose. Its id is only a name within the plan: a planner may choose any.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

Purpose = Literal[
    # Places: by the words or names of a question; settings; values by their names; request handlers, in logs of older
    # versions.
    "find",
    "settings",
    "values",
    "serving",
    # Places that answer a question in words: its whole, each part of it.
    "answer",
    "part",
    # Lists: all of one kind of code; candidates for a list; subtypes of a type; lists in documents.
    "all_of_kind",
    "listing",
    "heirs",
    "listed",
    # Documents: sections about the subject; instructions.
    "documents",
    "guidance",
    # All values of a closed set.
    "choices",
    # Code: the structure of a repository or file; the best places; lines cited by an earlier answer.
    "structure",
    "read",
    "recall",
    # Comparisons: all members, and the calls, of the compared entities.
    "members",
    "calls",
    # Relations: uses; calls; the code of the best place's delegate, and the calls of the delegate.
    "usage",
    "flow",
    "passed_on_code",
    "passed_on_calls",
    # Git: its commits; files that change with it; its tests; commits that added something of its sort.
    "history",
    "together",
    "tests",
    "precedents",
    # What metadata files declare to be needed.
    "requirements",
]


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """Represents one tool call; with `top_of`, one for each of the best `count` places those earlier steps found.

    `fill` maps a parameter to the field it takes from each place (`file`, `start_line`, `end_line` or `name`).
    `named_only`: where the question names something, only places of that name. `passed_on`: only the delegate of the
    best place, if it has one. `as_ranked`: the places as the searches for an answer ranked them. `in_order`: the places
    are taken whole, in the order in which those steps found them.
    """

    id: str
    purpose: Purpose
    tool: str
    arguments: dict[str, Any]
    goals: tuple[str, ...]
    why: str
    top_of: tuple[str, ...] = ()
    count: int = 1
    fill: dict[str, str] = {}
    named_only: bool = False
    passed_on: bool = False
    in_order: bool = False
    as_ranked: bool = False


class StepReport(msgspec.Struct, frozen=True):
    """Reports the result of a step: status, counts of calls and findings, and bounds that forbade calls."""

    step: str
    tool: str
    status: str = "empty"
    calls: int = 0
    attempts: int = 0
    found: int = 0
    truncated: bool = False
    is_shallow: bool = False
    errors: list[str] = []
    forbidden_by: list[str] = []


# Default purpose of a tool's steps.
PURPOSE_OF_TOOL: dict[str, Purpose] = {
    "locate": "find",
    "read_code": "read",
    "map_module": "structure",
    "describe_folder": "structure",
    "explore_symbol_usage": "usage",
    "trace_entry_point": "flow",
    "explain_code_history": "history",
    "find_related": "together",
}

# Purposes by step id without its number, for logs from before steps had a purpose.
PURPOSE_OF_OLD_ID: dict[str, Purpose] = {
    "answer": "answer",
    "part": "part",
    "find": "find",
    "thing": "find",
    "open": "find",
    "name": "find",
    "perhaps": "find",
    "word": "find",
    "config": "settings",
    "values": "values",
    "serve": "serving",
    "kinds": "all_of_kind",
    "list": "listing",
    "types": "listing",
    "file": "listing",
    "heirs": "heirs",
    "documents": "documents",
    "sections": "listed",
    "guides": "documents",
    "guide": "guidance",
    "map": "structure",
    "read_README.md": "structure",
    "read_README.rst": "structure",
    "read_README": "structure",
    "read": "read",
    "whole": "read",
    "pair": "read",
    "recall": "recall",
    "members": "members",
    "calls": "calls",
    "use": "usage",
    "trace": "flow",
    "inner": "passed_on_code",
    "inner_calls": "passed_on_calls",
    "history": "history",
    "together": "together",
    "tests": "tests",
    "before": "precedents",
    "needed": "requirements",
    "choices": "choices",
}

_NUMBER = re.compile(r"\d+$")


def purpose_of_old(step_id: str, tool: str = "") -> Purpose:
    """Derive the purpose of a step without one from its id, or else from its tool."""
    known = PURPOSE_OF_OLD_ID.get(_NUMBER.sub("", step_id))
    return known or PURPOSE_OF_TOOL.get(tool, "find")


def with_purposes(written: object) -> object:
    """Add a purpose to each item of a list of steps that has none; return anything else unchanged."""
    return [_with_purpose(item) for item in written] if isinstance(written, list | tuple) else written


def _with_purpose(item: Any) -> Any:
    if isinstance(item, Step) or not isinstance(item, Mapping) or item.get("purpose") is not None:
        return item
    return {**item, "purpose": purpose_of_old(str(item.get("id", "")), str(item.get("tool", "")))}


def call_text(step: Step) -> str:
    """Format the tool call of a step for other agents: `locate query=retry`."""
    return " ".join((step.tool, *(f"{name}={value}" for name, value in step.arguments.items())))
