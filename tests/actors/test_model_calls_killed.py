"""A real agent process that dies after its model has answered: the next one finds the answer and does not ask again."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.pipeline.config import as_wire
from runtime.run.envelope import Request
from runtime.settings import RaySettings
from runtime.testing import PipelineBuilder
from tests.runtime.llm.endpoint import Endpoint, deployment_at, says

pytestmark = [pytest.mark.ray, pytest.mark.timeout(120)]

CAPABILITY = "tests.actors.modelled_capability:CAPABILITY"


@pytest.mark.long
async def test_a_model_is_called_once_though_the_agent_is_killed_after_it_answered(tmp_path: Path) -> None:
    from actors.cluster import start_local
    from actors.system_actors import SystemSpec, start_system

    config = PipelineBuilder("modelled", max_llm_calls=1).stage("a", has_llm=True, model_role="planner").build()
    endpoint = Endpoint(says("well said", usage={"prompt_tokens": 40, "completion_tokens": 5}))
    await endpoint.start()
    models = {
        "deployments": {"main": deployment_at(endpoint.url, silence_timeout_s=30).model_dump(mode="json")},
        "roles": {"default": {"deployment": "main"}},
    }
    cluster = start_local(RaySettings(), tmp_path)
    try:
        system = start_system(
            SystemSpec(
                pipelines=[as_wire(config)],
                capabilities={config.name: CAPABILITY},
                reasoner="llm",
                settings={"models": models, "config_folders": []},
                state_dir=str(tmp_path),
                keeper="supervisor",
            )
        )
        await system.ready()
        run_id = await system.submit(Request(config.name, "what is it?"))
        async for _ in system.watch(run_id):
            pass
        envelope = await system.envelope(run_id)
    finally:
        cluster.shutdown()
        await endpoint.stop()
    assert [(record.attempt, record.status) for record in envelope.history] == [(1, "error"), (2, "success")]
    assert (envelope.terminal_reason, envelope.outputs["a"]) == ("completed", {"said": "well said"})
    assert len(endpoint.bodies) == 1
    assert (envelope.usage.llm_calls, envelope.usage.tokens_in, envelope.usage.tokens_out) == (1, 40, 5)
