"""Starts Ray with actors that do nothing, says so, and keeps them until standard input closes.

python -m tests.benchmarks.empty_actors COUNT
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from actors.cluster import start_local
from runtime.settings import RaySettings


class Empty:
    """An actor that does nothing."""

    def ready(self) -> None:
        """Return once the process is up."""


def main(count: int) -> None:
    """Start the actors."""
    import ray

    with tempfile.TemporaryDirectory() as folder:
        cluster = start_local(RaySettings(), Path(folder))
        try:
            empty: Any = ray.remote(Empty)
            actors = [empty.options(num_cpus=0).remote() for _ in range(count)]
            ray.get([actor.ready.remote() for actor in actors])
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            sys.stdin.read()
        finally:
            cluster.shutdown()


if __name__ == "__main__":
    main(int(sys.argv[1]))
