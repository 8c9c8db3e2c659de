"""`runtime.kernel`: a capability in a few lines, run in this process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import runtime.kernel
from runtime.kernel import (
    AgentHooks,
    Capability,
    InterruptResponse,
    Request,
    StageContext,
    StageResult,
    StageView,
    open_kernel,
)

PIPELINE = """
name: depot
agents:
  - {name: clerk, stage_order: 1, default_next: confirmation}
  - {name: van, stage_order: 2, default_next: end}
confirmation_resume_stage: van
"""


async def clerk(_context: StageContext, view: StageView) -> StageResult:
    return StageResult({"order": view.raw_input, "confirmation_question": f"Send {view.raw_input}?"})


async def van(_context: StageContext, view: StageView) -> StageResult:
    return StageResult({"final_response": f"{view.outputs['clerk']['order']} is on its way"})


DEPOT = Capability("depot", agents={"clerk": AgentHooks(process=clerk), "van": AgentHooks(process=van)})


async def test_a_capability_runs_with_a_question_an_answer_and_its_events() -> None:
    kernel = open_kernel(DEPOT, [PIPELINE])
    run_id = await kernel.submit(Request("depot", "two crates", wait=True))
    seen = []
    async for event in kernel.watch(run_id):
        seen.append(event.type)
        if event.type == "interrupt.raised":
            await kernel.answer(run_id, event.data["id"], "local", InterruptResponse(approved=True))
    assert kernel.envelope(run_id).outputs["van"] == {"final_response": "two crates is on its way"}
    assert seen[0] == "run.accepted"
    assert seen[-1] == "run.finished"
    await kernel.close()


async def test_a_pipeline_is_taken_from_a_file_too(tmp_path: Path) -> None:
    (tmp_path / "depot.yaml").write_text(PIPELINE, encoding="utf-8")
    kernel = open_kernel(DEPOT, [tmp_path / "depot.yaml"])
    envelope = await kernel.run(Request("depot", "two crates"))
    assert envelope.terminal_reason == "confirmation_required"


def test_a_capability_needs_no_more_than_an_id() -> None:
    assert Capability("depot").tools.names() == ()
    assert Capability("depot").open_services({}) is None


@pytest.mark.parametrize("name", runtime.kernel.__all__)
def test_each_name_that_is_promised_is_there(name: str) -> None:
    assert getattr(runtime.kernel, name) is not None


def test_the_face_needs_neither_ray_nor_a_web_framework() -> None:
    program = "import sys, runtime.kernel; print({'ray', 'fastapi', 'vllm', 'serve', 'actors'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "set()\n"
