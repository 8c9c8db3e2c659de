"""Draws ports for servers that tests start."""

from __future__ import annotations

import random
import socket

# Below those that a system gives to connections, above those of Ray's workers: none is taken before it is used.
PORTS = range(20_000, 32_000)
MAX_TRIES = 100


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    # Tests beside this one draw as well, and some seed the generator of `random`.
    for port in random.SystemRandom().sample(PORTS, MAX_TRIES):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue  # somebody has it
            return port
    raise AssertionError(f"none of {MAX_TRIES} ports from {PORTS.start} to {PORTS.stop - 1} is free")
