"""A second Ray node on this machine, which is taken away with an agent on it, and another that comes in its place."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from pathlib import Path

from ray._private.node import Node
from ray._private.parameter import RayParams
from ray._private.resource_isolation_config import ResourceIsolationConfig

from actors import cluster as clusters
from tests.faults.fault_rounds import Round
from tests.faults.fault_runs import fan_pipeline, steps_pipeline
from tests.faults.fault_site import Site
from tests.faults.fault_strikes import flows, held_by

FAR = "far"
FAR_AGENT = "agent:steps.b"
NODE_IP = "127.0.0.1"
OBJECT_STORE_BYTES = 80 * 2**20


class _FarNode(clusters._Head):
    """A node that joins a local cluster and offers the resource `far`; started as that cluster's head is."""

    def __init__(self, gcs_address: str, sessions_dir: Path, private_dir: Path) -> None:
        self.private_dir = private_dir
        params = RayParams(
            gcs_address=gcs_address,
            node_ip_address=NODE_IP,
            num_cpus=0,
            resources={FAR: 10},
            object_store_memory=OBJECT_STORE_BYTES,
            temp_dir=str(sessions_dir),
            plasma_store_socket_name=str(private_dir / "sockets" / "plasma_store"),
            raylet_socket_name=str(private_dir / "sockets" / "raylet"),
            runtime_env_agent_port=clusters._free_port(NODE_IP),
            include_dashboard=False,
            no_monitor=True,
            resource_isolation_config=ResourceIsolationConfig(),
        )
        params.include_log_monitor = False  # type: ignore[assignment]
        Node.__init__(self, params, head=False, shutdown_at_exit=False, spawn_reaper=True)


class NodeSite(Site):
    """A site that a second node joins and leaves."""

    _node: _FarNode | None = None

    def __exit__(self, *about: object) -> None:
        try:
            self.remove_node()
        finally:
            super().__exit__(*about)

    def add_node(self) -> None:
        """Let a far node join the cluster."""
        private_dir = Path(tempfile.mkdtemp(prefix="jeeves-far-"))
        (private_dir / "cwd").mkdir()
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(self.cluster.token_path)}
        environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")} | token
        with clusters._ray_environment(NODE_IP, environment):
            self._node = _FarNode(self.cluster.address, self.folder / "ray", private_dir)

    def remove_node(self) -> None:
        """Kill every process of the far node."""
        if self._node is not None:
            self._node.kill_all_processes(check_alive=False, allow_graceful=False, wait=True)
            shutil.rmtree(self._node.private_dir, ignore_errors=True)
            self._node = None


class FarSite(NodeSite):
    """One of the agents is on a node of its own."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, pipelines=(steps_pipeline(held_on=FAR), fan_pipeline()))

    async def up(self) -> None:
        """Start the far node first: an agent waits for it."""
        self.add_node()
        await super().up()


async def node_removed(around: Round) -> None:
    """The node of an agent goes, and another comes."""
    site = around.site
    assert isinstance(site, FarSite)
    pid = await site.pid(FAR_AGENT)
    held = held_by(around, FAR_AGENT)
    if flows(around):
        around.place.open_gate()
    around.struck()
    site.remove_node()
    await site.noticed(FAR_AGENT, pid)
    around.detected()
    site.add_node()
    await asyncio.sleep(0)
    await around.probe()
    if not flows(around):
        await around.at_gate(held, attempt=2)
