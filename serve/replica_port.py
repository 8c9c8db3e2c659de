"""The port that every Ray Serve replica opens for calls of other deployments: where its node listens, nowhere else.

Ray Serve opens it on all interfaces, and takes pickled calls there from whoever connects: on a laptop that is anybody
in the same network. Others in the cluster look for it at the node's own address, so that is enough.
"""

from __future__ import annotations

from typing import Any

import ray
from ray.serve._private import replica

_replica: Any = replica

# Missing when Ray renames it: that is noticed at import, not by a port that is open.
_open_port = _replica.add_port_to_grpc_server


def keep_to_the_node() -> None:
    """To be called in a deployment's constructor, before Ray Serve opens the port of its replica."""
    node_ip = str(ray.util.get_node_ip_address())  # type: ignore[no-untyped-call]
    host = f"[{node_ip}]" if ":" in node_ip else node_ip

    def open_port(server: Any, address: str) -> int:
        return int(_open_port(server, f"{host}:{address.rpartition(':')[2]}"))

    _replica.add_port_to_grpc_server = open_port
