"""Defines the steps that a plan is made of, and what each is for.

Whoever reads what a step found asks for the step's purpose. Its id is a name within the plan and nothing else: a
planner may call its steps whatever it likes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

# What passes its work on is followed where the question asks what is done; the calls of a case are traced anyhow.
PASSED_ON_KINDS = frozenset({"how", "what"})

Purpose = Literal[
    # Places: by the words or names of a question; of settings; of values by their names; of what serves requests.
    "find",
    "settings",
    "values",
    "serving",
    # Lists: all of one kind of code; what may belong to a list; what is declared on top of a type; what documents list.
    "all_of_kind",
    "listing",
    "heirs",
    "listed",
    # Documents: parts that speak of it; how a thing is done.
    "documents",
    "guidance",
    # Code: how a repository or file is laid out; the best places; what an earlier answer cites.
    "structure",
    "read",
    "recall",
    # Comparisons: all members, and the calls, of what is compared.
    "members",
    "calls",
    # Relations: who uses it; what it calls; what the best place passes its work on to, and the calls of that.
    "usage",
    "flow",
    "passed_on_code",
    "passed_on_calls",
    # Git: who changed it; what changes with it; which tests belong to it.
    "history",
    "together",
    "tests",
]


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One tool call, or, with `top_of`, one for each of the best `count` places that those earlier steps found.

    `fill`: parameter → what it takes of each place (`file`, `start_line`, `end_line` or `name`). `named_only`: where
    the question names something, places of that name alone. `passed_on`: the one thing that the best place passes its
    work on to, or nothing.
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


class StepReport(msgspec.Struct, frozen=True):
    """What came of a step: its status, how much it called and found, and the bounds that forbade some of its calls."""

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


# What the steps of a tool are for where nothing more is known of them.
PURPOSE_OF_TOOL: dict[str, Purpose] = {
    "locate": "find",
    "read_code": "read",
    "map_module": "structure",
    "explore_symbol_usage": "usage",
    "trace_entry_point": "flow",
    "explain_code_history": "history",
    "find_related": "together",
}

# Ids, without the number behind them, that told what a step is for before steps had a purpose.
PURPOSE_OF_OLD_ID: dict[str, Purpose] = {
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
}

_NUMBER = re.compile(r"\d+$")


def purpose_of_old(step_id: str, tool: str = "") -> Purpose:
    """What a step without a purpose is for: by its id, where that tells, else by its tool."""
    known = PURPOSE_OF_OLD_ID.get(_NUMBER.sub("", step_id))
    return known or PURPOSE_OF_TOOL.get(tool, "find")


def with_purposes(written: object) -> object:
    """What should be steps, each that has no purpose with that of its id or tool; anything else as it is."""
    return [_with_purpose(item) for item in written] if isinstance(written, list | tuple) else written


def _with_purpose(item: Any) -> Any:
    if isinstance(item, Step) or not isinstance(item, Mapping) or item.get("purpose") is not None:
        return item
    return {**item, "purpose": purpose_of_old(str(item.get("id", "")), str(item.get("tool", "")))}
