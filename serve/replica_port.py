"""Binds the port on which a Ray Serve replica takes calls of other deployments to its node's address.

Ray Serve opens it on all interfaces and accepts pickled calls from anyone who connects: on a laptop, that is everyone
in the same network. Other processes of the cluster connect to the node's own address, so that is enough.
"""

from __future__ import annotations

from typing import Any

import ray
from ray.serve._private import replica

_replica: Any = replica

# If Ray renames it, the import fails, instead of the port staying open unnoticed.
_open_port = _replica.add_port_to_grpc_server


def keep_to_the_node() -> None:
    """Bind the replica's port to its node's address; call this in a deployment's constructor, before it is opened."""
    node_ip = str(ray.util.get_node_ip_address())  # type: ignore[no-untyped-call]
    host = f"[{node_ip}]" if ":" in node_ip else node_ip

    def open_port(server: Any, address: str) -> int:
        return int(_open_port(server, f"{host}:{address.rpartition(':')[2]}"))

    _replica.add_port_to_grpc_server = open_port
