"""Whole systems under seeded faults: a supervisor, agents, a bus, a store and people, in virtual time.

The supervisor decides through the real `RunTable`; delivery, journal and run log are the ones of `runtime`. Everything
around them is simulated: one heap of events, one random seed, no thread, no event loop, no clock. The same seed gives
the same run, to the byte. Start at `campaign`.
"""
