"""Suggests what to do instead of going on with a loop."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.loops.records import LoopKind

# (action or kind of loop, error category) -> suggestions; "" as category: whatever the error.
Advice = Mapping[tuple[str, str], tuple[str, ...]]

GENERAL_ADVICE: Advice = {
    ("identical_action", ""): (
        "The same action with the same parameters has the same result: choose another action or other parameters.",
    ),
    ("error_cycle", ""): (
        "Both ways have failed more than once: look for the cause that they share, or for a third way.",
        "If there is none, give up with the reason.",
    ),
    ("semantic_loop", ""): ("Different actions meet the same obstacle: remove it first, or give up with the reason.",),
    ("oscillation", ""): (
        "Each change undoes the one before: decide for one of the states, and say what it still lacks.",
    ),
    ("no_progress", ""): ("What there is to see is known: act on it, or give up with the reason.",),
}


def suggestions_for(advice: Advice, kind: LoopKind, action: str, error_category: str) -> tuple[str, ...]:
    """Return the suggestions for the action and its error, then those for the kind of loop.

    Where the error has none, those for the action whatever its error; but an action that did not fail is no obstacle
    in a cycle of failures or states. The general advice serves for a kind that `advice` does not name.
    """
    specific = advice.get((action, error_category), ()) if error_category else ()
    if not specific and kind in {"identical_action", "no_progress"}:
        specific = advice.get((action, ""), ())
    general = advice.get((kind, ""), GENERAL_ADVICE[(kind, "")])
    return tuple(dict.fromkeys((*specific, *general)))
