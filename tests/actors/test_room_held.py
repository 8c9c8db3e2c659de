"""An agent whose resources are held by other work: a system that comes up says so, and does not wait for ever."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.errors import ClusterError
from runtime.testing import PipelineBuilder
from tests.conformance.hosts import system_spec
from tests.doors.program import TREE
from tests.doors.ray_head import RayHead

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(400)]

IDLE = "tests.benchmarks.idle_capability:CAPABILITY"
CLAIMING = PipelineBuilder("claiming", capability="idle").stage("a", resources={"num_cpus": 1}).build()
# Holds both processors of the cluster until its input ends.
HOLD = """
import sys, ray
ray.init(address=sys.argv[1], namespace="other", log_to_driver=False)
class Holder:
    def ping(self): return True
holder = ray.remote(Holder).options(num_cpus=2).remote()
ray.get(holder.ping.remote())
print("held", flush=True)
sys.stdin.read()
"""


def test_an_agent_that_waits_for_what_other_work_holds_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from actors.cluster import attach
    from actors.system_actors import SystemSpec, start_system

    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with RayHead({**os.environ, **TREE}) as head:
        command = [sys.executable, "-c", HOLD, f"127.0.0.1:{head.gcs_port}"]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=head.environment
        ) as other:
            assert other.stdin is not None and other.stdout is not None
            assert other.stdout.readline() == "held\n"
            with attach(f"127.0.0.1:{head.gcs_port}"), asyncio.Runner() as loop:
                told = system_spec(tmp_path, (CLAIMING,)) | {"capabilities": {CLAIMING.name: IDLE}}
                system = start_system(SystemSpec(**told))
                with pytest.raises(ClusterError, match=r"agent:claiming.a waits for 1 CPU \(0 free\); end that work"):
                    loop.run(asyncio.wait_for(system.ready(), 200))
                other.stdin.close()
                other.wait(60)
                loop.run(asyncio.wait_for(system.ready(), 100))
