"""Sets how often a process looks for garbage that reference counts do not free.

Python looks through all young objects whenever there are 700 more of them, and through all objects once a quarter of
them is new. Where thousands of runs are in flight nearly all objects are young and alive, so that this took more than
half of a supervisor's processor time.
"""

from __future__ import annotations

import gc

YOUNG_OBJECTS = 10_000


def collect_less_often() -> None:
    """Look for cyclic garbage each time that there are ten thousand objects more, in this process."""
    _, *older = gc.get_threshold()
    gc.set_threshold(YOUNG_OBJECTS, *older)
