"""Checks that the Ray of this process is one that this version was made for.

Parts of Ray that are its own affair are used, in `actors/cluster.py` above all; each minor version changes some.
"""

from __future__ import annotations

import re
from typing import Any

import ray
import ray._raylet
from ray._common.usage import usage_lib
from ray._private.utils import check_version_info
from ray.exceptions import RayError

from runtime.errors import VersionMismatchError

# Ray's own module declares nothing of this.
_raylet: Any = ray._raylet

RAY_VERSIONS = "2.60"
"""The minor version of Ray that pyproject.toml asks for."""


def check_ray_version(version: str = ray.__version__) -> None:
    """Return if a version of Ray is one that Jeeves works with. Raises VersionMismatchError."""
    if not f"{version}.".startswith(f"{RAY_VERSIONS}."):
        told = f"Ray {version} is installed here, Jeeves works with Ray {RAY_VERSIONS}.x"
        advice = f"install `ray[serve]=={RAY_VERSIONS}.*`, on all nodes of the cluster"
        raise VersionMismatchError(f"{told}; {advice}", actual=version, allowed=RAY_VERSIONS)


def check_cluster_version(address: str) -> None:
    """Return if the cluster at an address runs our Ray and Python, or does not tell. Raises VersionMismatchError."""
    try:
        told: Any = usage_lib.get_cluster_metadata(_raylet.GcsClient(address=address))
    except (RayError, RuntimeError, OSError, ValueError):  # whoever joins the cluster is told why
        return
    try:
        check_version_info(told or {}, "this process")
    except RuntimeError as error:
        mismatch = mismatch_told(str(error)) or str(error).splitlines()[0]
        raise VersionMismatchError(mismatch, address=address) from error


def mismatch_told(text: str) -> str | None:
    """Return in a sentence what Ray says of two versions that differ; None if it says something else."""
    versions = re.findall(r"^ *Ray: (\S+)\n *Python: (\S+)$", text, re.MULTILINE)
    if not text.startswith("Version mismatch") or len(versions) != len(("theirs", "ours")):
        return None
    (their_ray, their_python), (our_ray, our_python) = versions
    return (
        f"it runs Ray {their_ray} on Python {their_python}, this process runs Ray {our_ray} on Python {our_python};"
        f" install the same versions on both sides (Jeeves works with Ray {RAY_VERSIONS}.x)"
    )
