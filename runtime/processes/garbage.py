"""Makes a process look for garbage in cycles less often.

Python looks whenever 700 objects more are alive than before, by default. Runs that are under way are more than that, so
that their states, and all that was imported, were looked through again and again: 3 to 10 % of the work on a run.
"""

from __future__ import annotations

import gc

OBJECTS_BETWEEN_COLLECTIONS = 50_000


def collect_rarely() -> None:
    """Leave what is there by now out of all collections, and look through what is made from now on less often."""
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
