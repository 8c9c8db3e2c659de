"""Agents that work soundly are never stopped; those that begin to go in circles are, whatever they did before."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.context.actions import ActionRecord
from runtime.context.loop_records import EDITING_ADVICE, LoopRecorder
from runtime.context.understanding import Fact, FactCategory
from runtime.loops.detector import LoopDetector
from runtime.loops.records import Detection, Outcome

SEEDS = st.integers(0, 10**9)
NOT_FOUND = "Edit failed: the text to replace was not found"


class Agent:
    """Plays an agent on a file: each step is recorded as a capability records it, and the first loop is kept."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.recorder = LoopRecorder()
        self.detector = LoopDetector(advice=EDITING_ADVICE, initial_state="base")
        self.state, self.steps, self.texts = "base", 0, 0
        self.found: Detection | None = None
        self.complexity = 14

    def take(
        self,
        action: str,
        result: Outcome = "success",
        facts: Sequence[tuple[str, str]] = (),
        files: Sequence[str] = (),
        state: str | None = None,
        error: str | None = None,
        is_taken_back: bool = False,
        **parameters: Any,
    ) -> None:
        self.steps += 1
        self.state = state or self.state
        made = [
            Fact(
                id=f"{self.steps}-{number}",
                category=FactCategory(category),
                statement=statement,
                confidence=1,
                source=f"{action}:rule",
                step=self.steps,
            )
            for number, (category, statement) in enumerate(facts)
        ]
        record = ActionRecord(
            step=self.steps, action=action, parameters=parameters, result=result, summary="", error=error
        )
        step = self.recorder.record(record, self.state, made, files, is_state_restored=is_taken_back)
        self.found = self.found or self.detector.add(step)

    def text(self) -> str:
        """Something that was never written before."""
        self.texts += 1
        return f"text {self.texts}"

    def edit(self) -> None:
        text = self.text()
        self.take(
            self.dice.choice(["edit_file", "replace_lines", "write_file"]),
            facts=[("code_structure", "File modified: a.py"), *self.measured()],
            state=f"a.py: {text}",
            text=text,
        )

    def measured(self) -> list[tuple[str, str]]:
        return [("verification", f"Function 'f' has complexity {self.complexity}")]

    def check(self) -> None:
        self.take("run_check", "failure", self.measured(), path="a.py")

    def tests(self) -> None:
        facts = [("verification", "Tests failed: 1"), ("error", "Failing test: test_f")]
        self.take("run_tests", "failure", facts)

    def look(self) -> None:
        self.take("read_file", facts=[("code_structure", "a.py defines f")], files=["a.py"], path="a.py")


def read_other_files(agent: Agent) -> None:
    for _ in range(agent.dice.randint(1, 7)):
        name = f"{agent.text()}.py"
        agent.take("read_file", files=[name], path=name)


def read_one_file_in_parts(agent: Agent) -> None:
    agent.texts += 1
    for part in range(agent.dice.randint(1, 6)):
        agent.take("read_file", files=[f"big{agent.texts}.py:{part}"], path="big.py", first=part)


def edit_and_check(agent: Agent) -> None:
    agent.complexity -= agent.dice.random() < 0.3
    agent.edit()
    for look in agent.dice.sample([agent.check, agent.tests, agent.look], agent.dice.randint(0, 3)):
        look()


def miss_and_correct(agent: Agent) -> None:
    for _ in range(agent.dice.randint(1, 2)):
        agent.take("edit_file", "failure", [("error", NOT_FOUND)], error="old text not found", old=agent.text())
        agent.look()
    agent.edit()


def try_what_is_taken_back(agent: Agent) -> None:
    """Up to three different attempts that break the same test, and one that holds."""
    for _ in range(agent.dice.randint(1, 3)):
        agent.take(
            agent.dice.choice(["edit_file", "extract_function", "simplify_conditional"]),
            "failure",
            [("error", "The edit was reverted, because tests that passed failed after it")],
            error="broke tests: test_f; the edit was taken back",
            is_taken_back=True,
            lines=agent.text(),
        )
        for look in agent.dice.sample([agent.check, agent.tests, agent.look], agent.dice.randint(0, 3)):
            look()
    agent.edit()


def try_ranges_that_are_blocked(agent: Agent) -> None:
    for _ in range(agent.dice.randint(1, 5)):
        lines = agent.text()
        why = f"Extraction blocked: {lines} contains a return"
        agent.take("extract_function", "failure", [("error", why)], error=why, lines=lines)
    agent.edit()


def meet_a_timeout(agent: Agent) -> None:
    agent.take("run_tests", "failure", [("error", "Timed out after 60 s")], error="timed out after 60 s")
    agent.take("run_tests", "success", [("verification", "Tests passed: 40")], paths="test_a.py")
    agent.edit()


def ask_to_complete_too_early(agent: Agent) -> None:
    agent.take("complete", "skipped", error="1 check fails")
    agent.check()
    agent.edit()


def compare_with_the_state_before(agent: Agent) -> None:
    before = agent.state
    agent.edit()
    mine = agent.state
    for text in (mine, before, mine):
        if text != agent.state:
            agent.take("edit_file", state=text, text=text)
        agent.take("run_tests", facts=[("verification", f"Tests failed: {agent.text()}")])


HONEST: tuple[Callable[[Agent], None], ...] = (
    read_other_files,
    read_one_file_in_parts,
    edit_and_check,
    edit_and_check,
    miss_and_correct,
    try_what_is_taken_back,
    try_ranges_that_are_blocked,
    meet_a_timeout,
    ask_to_complete_too_early,
    compare_with_the_state_before,
)


@settings(max_examples=200)
@given(SEEDS, st.integers(1, 20))
def test_sound_work_of_any_length_is_never_stopped(seed: int, parts: int) -> None:
    agent = Agent(seed)
    agent.look()
    for _ in range(parts):
        agent.dice.choice(HONEST)(agent)
    assert agent.found is None, agent.found


def the_same_success(agent: Agent) -> None:
    for _ in range(3):
        agent.take("edit_file", state="always this", old="x", new="y")


def the_same_failure(agent: Agent) -> None:
    for _ in range(3):
        agent.take("edit_file", "failure", error="old text not found", old="x")


def failures_in_turn(agent: Agent) -> None:
    for _ in range(2):
        agent.take("edit_file", "failure", error="old text not found", old="x")
        agent.take("extract_function", "failure", error="cannot extract: control flow", lines="1-9")


def failures_alike(agent: Agent) -> None:
    for action in ("edit_file", "edit_file", "replace_lines", "write_file"):
        agent.take(
            action, "failure", [("error", agent.text())], error=f"syntax error in {agent.text()}", n=agent.text()
        )


def one_error_from_many_edits(agent: Agent) -> None:
    for _ in range(3):
        agent.take("edit_file", "failure", [("error", NOT_FOUND)], error="old text not found", old=agent.text())


def there_and_back(agent: Agent) -> None:
    first, second = agent.text(), agent.text()
    for state in (first, second, first, second):
        agent.take("edit_file", state=state, text=state)
        agent.check()


def old_files_in_turn(agent: Agent) -> None:
    names = [agent.text(), agent.text()]
    for name in names * 3:
        agent.take("read_file", files=[name], path=name)


def checks_in_turn(agent: Agent) -> None:
    for _ in range(3):
        agent.check()
        agent.tests()


LOOPS: dict[Callable[[Agent], None], tuple[str, int]] = {
    the_same_success: ("identical_action", 3),
    the_same_failure: ("identical_action", 3),
    failures_in_turn: ("error_cycle", 4),
    failures_alike: ("semantic_loop", 4),
    one_error_from_many_edits: ("semantic_loop", 3),
    there_and_back: ("oscillation", 7),
    old_files_in_turn: ("no_progress", 6),
    checks_in_turn: ("no_progress", 5),
}


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
@settings(max_examples=60)
@given(SEEDS, st.integers(0, 6))
def test_a_loop_after_any_sound_work_is_found_by_the_step_that_closes_it(
    loop: Callable[[Agent], None], seed: int, parts: int
) -> None:
    agent = Agent(seed)
    agent.look()
    for _ in range(parts):
        agent.dice.choice(HONEST)(agent)
    agent.edit()  # what was sound before ends with something achieved
    begun = agent.steps
    loop(agent)
    kind, steps = LOOPS[loop]
    assert agent.found is not None
    assert agent.found.kind == kind
    assert begun + 2 < agent.found.step <= begun + steps
