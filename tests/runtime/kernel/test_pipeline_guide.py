"""docs/guides/add-a-pipeline.md: its examples are valid, and do what the guide says of them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runtime.agents.capability import ModelUse, StageContext, StageResult
from runtime.agents.profile import AgentProfile, profile_of
from runtime.pipeline.loading import parse_pipeline
from runtime.run.stage_view import StageView
from runtime.testing import scripted_runner

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "guides" / "add-a-pipeline.md"
EXAMPLES = dict(re.findall(r"^```yaml pipelines/(\w+)\.yaml\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL))
(TESTS,) = re.findall(r"^```python test_change_commit\.py\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
CHECKS, COMMIT = EXAMPLES["change_checks"], EXAMPLES["change_commit"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_example_is_valid_and_named_after_its_file(name: str) -> None:
    assert parse_pipeline(EXAMPLES[name]).name == name


@pytest.mark.parametrize("has_types", [True, False])
async def test_the_report_waits_for_the_types_only_where_they_are_checked(has_types: bool) -> None:
    ended: list[str] = []

    async def slowly(context: StageContext, _view: StageView) -> StageResult:
        await context.clock.sleep(5)
        ended.append("types")
        return StageResult({})

    async def report(_context: StageContext, _view: StageView) -> StageResult:
        ended.append("report")
        return StageResult({})

    scripts: dict[str, list[Any]] = {
        "select": [{"has_types": has_types}],
        "lint": [{}],
        "types": [slowly],
        "report": [report],
    }
    envelope = await scripted_runner(CHECKS, scripts).run_through_time()
    assert envelope.terminal_reason == "completed"
    assert ended == (["types", "report"] if has_types else ["report"])


def test_checks_claim_processors_and_stand_behind_others() -> None:
    config = parse_pipeline(CHECKS)
    assert (config.priority, config.stages["types"].resources.num_cpus, config.stages["lint"].replicas) == ("low", 2, 2)


async def test_after_a_yes_the_run_goes_on_at_the_commit_and_after_a_no_nothing_is_done() -> None:
    for approved, reason, commits in ((True, "completed", 1), (False, "denied_by_policy", 0)):
        scripts: dict[str, list[Any]] = {
            "write": [{"diff": "+1", "confirmation_question": "Commit it?"}],
            "commit": [{}],
        }
        scripted = scripted_runner(COMMIT, scripts)
        run_id = await scripted.runner.submit(scripted.request(wait=True))
        waiting = await scripted.until(run_id, "waiting")
        assert waiting.interrupt is not None
        assert waiting.interrupt.question == "Commit it?"
        await scripted.answer(run_id, approved=approved)
        ended = await scripted.until(run_id, "terminated")
        assert (ended.terminal_reason, scripted.agents["commit"].calls) == (reason, commits)
        assert scripted.agents["write"].calls == 1
        await scripted.runner.close()


async def test_a_commit_that_failed_is_tried_again_without_a_second_consent() -> None:
    scripts: dict[str, list[Any]] = {"write": [{"diff": "+1"}], "commit": [OSError("locked"), {}]}
    scripted = scripted_runner(COMMIT, scripts)
    run_id = await scripted.runner.submit(scripted.request(wait=True))
    await scripted.until(run_id, "waiting")
    await scripted.answer(run_id, approved=True)
    for _ in range(50):
        envelope = scripted.runner.envelope(run_id)
        if envelope.interrupt is not None and envelope.interrupt.kind == "system_error":
            break
        await scripted.clock.advance(0)
    assert envelope.interrupt is not None
    assert (envelope.interrupt.kind, envelope.interrupt.stage) == ("system_error", "commit")
    await scripted.answer(run_id, approved=True)
    ended = await scripted.until(run_id, "terminated")
    assert (ended.terminal_reason, ended.interrupts_raised, scripted.agents["commit"].calls) == ("completed", 2, 2)
    await scripted.runner.close()


@pytest.mark.long
def test_the_test_that_the_guide_shows_passes_and_fails_without_the_question(tmp_path: Path) -> None:
    command = f"{sys.executable} -m pytest -q -p no:cacheprovider test_change_commit.py"
    assert "`python -m pytest test_change_commit.py`" in GUIDE.read_text(encoding="utf-8")
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "test_change_commit.py").write_text(TESTS, encoding="utf-8")
    without = COMMIT.replace("default_next: confirmation", "default_next: commit")
    for pipeline, told in ((COMMIT, "2 passed"), (without, "2 failed")):
        (tmp_path / "pipelines" / "change_commit.yaml").write_text(pipeline, encoding="utf-8")
        done = subprocess.run(command.split(), cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        assert told in done.stdout, done.stdout


def test_the_writer_is_asked_with_what_the_pipeline_says() -> None:
    writer = parse_pipeline(COMMIT).stages["write"]
    assert ModelUse.of(writer, profile_of(AgentProfile(), writer, {})) == ModelUse("writer", "write@1", 0.2, 4000)
