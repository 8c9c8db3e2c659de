"""Whole fixes whose decisions a scripted model makes: what it may not do is not done, and costs it a step."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.capabilities.violation_fix.capability import CAPABILITY
from actors.capabilities.violation_fix.checks.listing import list_violations
from actors.capabilities.violation_fix.verification.verdicts import save_baseline
from actors.capabilities.violation_fix.verification.verifier import Verifier
from runtime.agents.stage_runner import Agent
from runtime.bus.queries import LocalQueries
from runtime.codebase.git.linked_trees import COLLECTED_PREFIX
from runtime.hosting.local_runner import LocalRunner
from runtime.llm.client import ModelClient, RetryRules
from runtime.llm.prompts import PromptRegistry
from runtime.llm.scripted import ScriptedModel
from runtime.pipeline.loading import load_pipeline
from runtime.primitives.clock import SystemClock
from runtime.run.envelope import Envelope, Request
from runtime.settings import shipped_config_dir
from runtime.store.opening import open_store, store_queries
from runtime.store.options import StoreOptions
from runtime.store.parts import all_parts
from runtime.store.run_log import MemoryRunLog
from tests.capabilities.code_analysis.model_desk import models_file
from tests.capabilities.violation_fix.fixed_project import CODE, project, workspace
from tests.runtime.codebase.test_git_writing import git

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

PATH = "src/pkg/marks.py"
# The condition of `graded` that lies in lines 7 to 10 goes to a function of its own.
EXTRACT = {"action": "extract_function", "parameters": {"start_line": 7, "end_line": 10, "name": "_middling_grade"}}
TESTS = {"action": "run_tests", "parameters": {}}

# No rule has a first step for `graded`, so it is looked at and planned before anything is edited.
ANALYSED: tuple[dict[str, Any], ...] = (
    {"action": "load_context", "parameters": {"symbol": "graded"}},
    {"action": "read_file", "parameters": {"path": PATH}},
    {"action": "record_plan", "parameters": {"plan": "move the middling grades"}},
)

Said = dict[str, Any] | str


class FixDesk:
    """Runs the pipeline on the violation of `graded` in a project of its own."""

    def __init__(self, folder: Path, **files: str) -> None:
        self.root = project(folder / "project", **files)
        self.state = folder / "state"
        place = workspace(self.root, "7", prefix=COLLECTED_PREFIX)
        self._place = place
        self.violation = next(
            each
            for each in list_violations(Path(place.tree.folder), [PATH], place.options).violations
            if each.check_id == "C901"
        )
        self.baseline_file = folder / "baseline.json"
        save_baseline(Verifier(place).baseline([PATH]), self.baseline_file)

    async def run(self, *script: Said | Callable[..., Any], reasoner: str = "llm", **given: Any) -> Envelope:
        """A whole run; the last answer of the script is given again and again."""
        config = load_pipeline(shipped_config_dir() / "pipelines" / "violation_fix.yaml")
        clock, queries = SystemClock(), LocalQueries()
        stores = open_store(StoreOptions(str(self.state)), clock)
        queries.register(store_queries(all_parts(), stores.part))
        told = [step if callable(step) or isinstance(step, str) else json.dumps(step) for step in script]
        client = ModelClient(models_file(), {"main": ScriptedModel(told)}, clock, RetryRules(max_attempts=1))
        services = CAPABILITY.open_services({"state_dir": str(self.state)})
        prompts = PromptRegistry.open([shipped_config_dir()], "violation_fix")
        agents = {
            agent.name: Agent(agent, CAPABILITY, reasoner, {}, clock, queries, services, client, prompts)
            for agent in config.agents
        }
        runner = LocalRunner({config.name: config}, {config.name: agents}, MemoryRunLog(), clock)
        task = {
            "name": "7-1",
            "violation": msgspec.to_builtins(self.violation),
            "repository": str(self.root),
            "branch": self._place.tree.branch,
            "collected": self._place.tree.folder,
            "base_commit": self._place.tree.base_commit,
            "baseline_file": str(self.baseline_file),
            "setup": msgspec.to_builtins(self._place.setup),
            "options": msgspec.to_builtins(self._place.options),
            "test_limits": msgspec.to_builtins(self._place.limits),
            **given,
        }
        try:
            return await runner.run(Request(pipeline=config.name, raw_input="mend it", metadata={"task": task}))
        finally:
            await runner.close()
            stores.close()


def fix_of(envelope: Envelope) -> dict[str, Any]:
    fix: dict[str, Any] = envelope.outputs["report"]["fix"]
    return fix


def records(envelope: Envelope) -> Sequence[dict[str, Any]]:
    actions: Sequence[dict[str, Any]] = envelope.outputs["understand"]["state"]["actions"]
    return actions


@pytest.fixture
def desk(tmp_path: Path) -> FixDesk:
    return FixDesk(tmp_path)


async def test_what_is_unknown_malformed_or_too_early_is_skipped_and_the_fix_goes_on(desk: FixDesk) -> None:
    envelope = await desk.run(
        *ANALYSED,
        {"action": "rm_rf", "parameters": {"path": "/"}},
        {"action": "extract_function", "parameters": {"start_line": 7}},
        {"action": "complete", "parameters": {}},
        EXTRACT,
        TESTS,
    )
    assert fix_of(envelope)["ending"] == "fixed", fix_of(envelope)
    steps = records(envelope)[len(ANALYSED) :]
    assert [record["result"] for record in steps] == ["skipped"] * 3 + ["success"] * 2
    assert "there is no action 'rm_rf'" in steps[0]["error"]
    assert "missing" in steps[1]["error"]
    assert "not available in phase implement" in steps[2]["error"]
    commit = fix_of(envelope)["commit"]
    assert "def _middling_grade" in git(desk.root, "show", f"{commit}:{PATH}")
    assert git(desk.root, "show", f"HEAD:{PATH}") == CODE.rstrip("\n")
    assert "7-1" not in git(desk.root, "branch")


async def test_an_edit_that_breaks_a_test_is_taken_back_and_told(desk: FixDesk) -> None:
    breaks = {"action": "edit_file", "parameters": {"old": 'return "b"', "new": 'return "B"'}}
    envelope = await desk.run(*ANALYSED, breaks, EXTRACT, TESTS)
    first = records(envelope)[len(ANALYSED)]
    assert first["result"] == "failure"
    assert "reverted" in first["error"]
    assert fix_of(envelope)["ending"] == "fixed"
    assert 'return "B"' not in git(desk.root, "show", f"{fix_of(envelope)['commit']}:{PATH}")


@pytest.mark.parametrize(
    "action",
    [
        {"action": "write_file", "parameters": {"text": "x = 1\n", "path": "../../evil.py"}},
        {"action": "edit_file", "parameters": {"old": "def graded", "new": "def GRADED"}},
        {"action": "replace_lines", "parameters": {"start_line": 4, "end_line": 11, "text": "graded = None  # noqa"}},
    ],
)
async def test_a_model_that_goes_on_with_what_is_refused_is_stopped_as_a_loop(
    desk: FixDesk, action: dict[str, Any]
) -> None:
    envelope = await desk.run(action)
    fix = fix_of(envelope)
    assert fix["ending"] == "escalated"
    assert "loop" in fix["reason"], fix
    assert fix["steps"] < 12
    assert git(desk.root, "log", "--format=%s", desk._place.tree.branch) == "first"


async def test_without_an_answer_of_the_model_the_rules_decide_and_it_is_said(desk: FixDesk) -> None:
    envelope = await desk.run("no JSON at all \u202e {{")
    assert envelope.outputs["decide"]["reasoner"] == "rules"
    assert envelope.outputs["decide"]["why_rules"]
    fix = fix_of(envelope)
    assert (fix["ruled_steps"], bool(fix["why_ruled"])) == (fix["steps"], True)
    assert fix_of(envelope)["ending"] in {"fixed", "escalated"}


async def test_a_function_that_no_test_watches_is_skipped_unless_it_is_wanted(desk: FixDesk) -> None:
    desk.violation = msgspec.structs.replace(desk.violation, symbol="untested", line=14, text="def untested(points):")
    fix = fix_of(await desk.run(EXTRACT))
    assert (fix["ending"], "violation does not exist" in fix["reason"]) == ("skipped", False)
    assert "--untested" in fix["reason"]


# Each branch returns another thing, and no statements can be moved alone.
TANGLED = """\
def graded(points):
    if points > 90:
        return "a"
    while points > 80:
        return "b"
    while points > 70:
        return "c"
    return "d"
"""


async def test_a_function_without_a_first_step_is_analysed_and_planned_before_it_is_given_up(tmp_path: Path) -> None:
    code = TANGLED + CODE[CODE.index("\n\ndef untested") :]
    desk = FixDesk(tmp_path, src__pkg__marks=code)
    envelope = await desk.run(reasoner="rules")
    fix = fix_of(envelope)
    assert (fix["ending"], fix["steps"]) == ("escalated", 4), fix
    assert [record["action"] for record in records(envelope)] == [
        *("load_context", "read_file", "record_plan", "cannot_fix"),
    ]
    phase = envelope.outputs["understand"]["state"]["phase"]
    assert phase["phase_history"] == ["init", "analyze", "plan", "implement"]
