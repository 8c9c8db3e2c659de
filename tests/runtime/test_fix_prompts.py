"""The prompt of violation_fix's `decide`: versioned, within its budget, and the same to the byte as far as possible."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from runtime.errors import InputError
from runtime.llm.prompts import PromptRegistry
from runtime.settings import shipped_config_dir

PROMPTS = PromptRegistry.open([shipped_config_dir()], "violation_fix")

# What the specification of the capability gives the system part, and how many bytes of English a token has at least.
SYSTEM_BUDGET_TOKENS = 800
BYTES_PER_TOKEN = 4

ACTIONS = """\
- read_file {path: string, start_line: integer, end_line: integer}
- load_context {symbol: string}
- record_plan {plan: string}
- extract_function {start_line: integer, end_line: integer, name: string}
- simplify_conditional {line: integer}
- replace_lines {path: string, start_line: integer, end_line: integer, text: string}
- edit_file {path: string, old: string, new: string}
- write_file {path: string, text: string}
- run_check {}
- run_tests {}
- complete {}
- escalate {reason: string}
- cannot_fix {reason: string}"""

_SOURCE = "\n".join(
    f"    {number}: if parcel.weight > {number} and depot.has_room(parcel): depot.take(parcel)"
    for number in range(40, 62)
)


def state(step: int) -> str:
    """What the builder of the context gives at a step: what changes most comes last."""
    extracted = [f"    - extracted part_{done} from lines {40 + done}-{44 + done} (0.9)" for done in range(step)]
    recent = [f"  - {done}: extract_function, success, part_{done} extracted" for done in range(max(0, step - 3), step)]
    return "\n".join(
        [
            "task:",
            "  id: t-17",
            "  goal: bring the complexity of deliver_parcel from 19 to 10",
            "  phase: implement",
            "  success_criteria: [C901 passes, the tests pass]",
            "understanding:",
            "  code_structure:",
            "    - deliver_parcel has complexity 19 (1.0)",
            *extracted,
            "verification: {passing: [], failing: [C901], tests_ok: true, ready: false}",
            "analysis:",
            "  violating_function: deliver_parcel",
            "  function_lines: 40-61",
            "  function_source: |",
            _SOURCE,
            "actions:",
            "  names: [extract_function, simplify_conditional, run_check, replace_lines, edit_file]",
            "  recommended: extract_function",
            "recent:",
            *recent,
            f"step: {step}",
        ]
    )


FIX_STATES = [state(step) for step in range(8)]


def shared_beginning(one: Sequence[Any], other: Sequence[Any]) -> int:
    """How many items two sequences have in common before they differ."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(one), len(other)))


def rendered(context: str) -> tuple[str, str]:
    made = PROMPTS.render("decide", {"actions": ACTIONS, "context": context})
    return made.system, made.user


def test_the_prompt_has_a_version_that_can_be_asked_for() -> None:
    assert PROMPTS.get("decide").label == PROMPTS.get("decide@2").label == "decide@2"


def test_the_system_part_is_the_same_at_every_step_of_every_fix() -> None:
    assert len({rendered(context)[0] for context in [*FIX_STATES, "", "{{actions}}"]}) == 1
    assert ACTIONS in rendered("")[0]


def test_the_system_part_keeps_within_its_budget() -> None:
    system, _ = rendered("")
    assert len(system.encode()) / BYTES_PER_TOKEN <= SYSTEM_BUDGET_TOKENS


def test_the_state_begins_the_users_part_so_that_steps_share_what_has_not_changed() -> None:
    users = [rendered(context)[1] for context in FIX_STATES]
    assert all(user.startswith(context) for user, context in zip(users, FIX_STATES, strict=True))
    for number, (one, other) in enumerate(pairwise(users)):
        assert shared_beginning(one, other) >= users[number].index("verification:")


@pytest.mark.parametrize("given", [{}, {"context": "x"}, {"context": "x", "actions": "y", "step": "3"}])
def test_nothing_may_be_left_out_or_added(given: dict[str, str]) -> None:
    with pytest.raises(InputError, match="decide@2 takes actions, context"):
        PROMPTS.render("decide", given)
