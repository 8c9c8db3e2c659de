"""Which tests stay together when several processes run them; groups of pytest-xdist 3.8 do nothing with pytest 9.2."""

from __future__ import annotations

import functools
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

from tests.conftest import REAL_PROCESSES


class FilesTogether(LoadScopeScheduling):  # type: ignore[misc]
    """Gives each process whole files, and single tests of files with long tests that share nothing."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return file if stays_together(file) else nodeid


@functools.cache
def stays_together(file: str) -> bool:
    """Whether tests of a file share a cluster or a system, or are too short to be moved."""
    path = Path(__file__).parents[1] / file
    return path.parent.name not in REAL_PROCESSES or 'scope="module"' in path.read_text(encoding="utf-8")
