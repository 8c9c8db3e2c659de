"""Checks that the Ray of this process is one that this version was made for.

Parts of Ray that are its own affair are used, in `actors/cluster.py` above all; each minor version changes some.
"""

from __future__ import annotations

import ray

from runtime.errors import VersionMismatchError

RAY_VERSIONS = "2.60"
"""The minor version of Ray that pyproject.toml asks for."""


def check_ray_version(version: str = ray.__version__) -> None:
    """Return if a version of Ray is one that Jeeves works with. Raises VersionMismatchError."""
    if not f"{version}.".startswith(f"{RAY_VERSIONS}."):
        told = f"Ray {version} is installed here, Jeeves works with Ray {RAY_VERSIONS}.x"
        advice = f"install `ray[serve]=={RAY_VERSIONS}.*`, on all nodes of the cluster"
        raise VersionMismatchError(f"{told}; {advice}", actual=version, allowed=RAY_VERSIONS)
