"""Holds what was looked at before a decision, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from runtime.contracts.session_state import Proof, SessionState
from runtime.contracts.shared_evidence import Lapse

EffectKind = Literal["branches", "branch", "commit", "merge"]
# Names of files and the like that an answer tells of one kind.
MAX_NAMED = 20
NEW_UNASKED = "it is new, and check_write_target never permitted it"


class Effect(msgspec.Struct, frozen=True, omit_defaults=True):
    """Asks for something to be done outside.

    `choice` of what becomes of the stale `branches`, which are those that a person was shown; `message` of a commit.
    `tree` and `head`: the files to be committed, the commit to be merged, where these were looked at; empty: any.
    """

    kind: EffectKind
    choice: str = ""
    branches: tuple[str, ...] = ()
    message: str = ""
    tree: str = ""
    head: str = ""


class CheckResult(msgspec.Struct, frozen=True):
    """Holds how a command of the contract ended, with the end of its output."""

    name: str
    passed: bool
    output: str = ""


class Observed(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds what was looked at before a decision.

    `refuted`: checklist item → why its evidence does not hold; `proofs`: item → the lines that it rests on. `changed`:
    files that differ from the base commit; `unpermitted`: those of them that may not be written, with the reason.
    `similarities`: symbol → likeness to the query, 0 to 1; a symbol without one was compared by name alone. `head`: the
    commit that the session's branch is at.
    `tree`: git's hash of the files that are to be committed or merged, where the contract names commands; `is_stable`:
    they stayed as they were while those ran; `touched`: files that were written meanwhile, and are as they were again;
    `uncommitted`: files that differ from the commit that is to be merged; `tests`: what the change takes away from the
    tests, as a sentence; empty where it takes nothing. `lapsed`: accepted items whose evidence does not hold any more.
    `unjudged`: what somebody else made of the base branch, where the contract's commands have not passed on it.
    `hollow`: which functions of the change do nothing, as a sentence. `present`: git's hash of the files that are to be
    committed; `unreviewed`: those of them that are not as the last review told them.
    """

    refuted: Mapping[str, str] = {}
    proofs: Mapping[str, Proof] = {}
    changed: tuple[str, ...] = ()
    unpermitted: Mapping[str, str] = {}
    checks: tuple[CheckResult, ...] = ()
    similarities: Mapping[str, float] = {}
    head: str = ""
    tree: str = ""
    is_stable: bool = True
    touched: tuple[str, ...] = ()
    uncommitted: tuple[str, ...] = ()
    tests: str = ""
    lapsed: tuple[Lapse, ...] = ()
    unjudged: str = ""
    hollow: str = ""
    present: str = ""
    unreviewed: tuple[str, ...] = ()


class Outcome(NamedTuple):
    """Holds what a duty's rule makes of a submission; conditions of exits read the rest of its fields."""

    state: SessionState
    problems: Sequence[str] = ()
    notes: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()
    answered_yes: bool = False
    has_failed: bool = False
    has_issues: bool = False
    has_moved: bool = False
    has_lapsed: bool = False
