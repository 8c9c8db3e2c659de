"""Recognises that the object store of a cluster has no room, and says what to do then.

Ray carries arguments and results of more than 100 KB through it, and raises as soon as neither it nor the disk behind
it has room. What goes by links does not need it.
"""

from __future__ import annotations

from ray.exceptions import ObjectStoreFullError, OutOfDiskError, RayTaskError

from runtime.errors import ClusterError

STORE_FULL = (ObjectStoreFullError, OutOfDiskError)


def is_store_full(error: BaseException) -> bool:
    """Return whether a call failed because its arguments or its result found no room."""
    return isinstance(error, STORE_FULL) or (isinstance(error, RayTaskError) and isinstance(error.cause, STORE_FULL))


def store_full_error() -> ClusterError:
    """Return what a caller is told whose call found no room."""
    return ClusterError(
        "the object store of the Ray cluster has no room for a value of more than 100 KB, in memory or on disk; see "
        "who holds it with `ray memory`, end that work, or start the nodes with more (`ray start "
        "--object-store-memory`), and ask again; with `bus.links: true` most values do not pass through it",
        may_come_back=True,
    )
