"""Tells that a disk has no room left, or that a quota or a limit on files is reached."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

# Of a file that shows whether there is room.
PROBE_BYTES = 65_536
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
NO_ROOM = "no room is left on the disk of {place}, or a limit on files is reached; make room there, then try again"


def is_out_of_room(error: OSError) -> bool:
    """Return whether a failure says that nothing more can be written."""
    return error.errno in _FULL


def has_room(folder: Path) -> bool:
    """Return whether a file can be written to a folder: quotas and limits are found by nothing else."""
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(PROBE_BYTES))
    except OSError as error:
        return not is_out_of_room(error)
    return True
