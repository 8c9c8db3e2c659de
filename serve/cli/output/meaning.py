"""Reports the progress of the vectors for search by meaning."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime.settings import Settings


def meaning(settings: Settings) -> dict[str, int] | None:
    """Return the vectors `kept` for all repositories, and how many of the currently `wanted` ones are `made`.

    None if its packages are not installed, or it is switched off.
    """
    from runtime.codebase.semantics.similarity import is_installed, vector_state
    from serve.wiring import agent_settings

    path: Any = agent_settings(settings)["vectors"]
    return vector_state(Path(path))._asdict() if path and is_installed() else None


def told_of_meaning(state: dict[str, int] | None) -> str:
    """Return the state that `meaning` returns as a line of text."""
    if state is None:
        return "meaning: not used; `jeeves doctor` says why\n"
    making = f", {state['made']} of {state['wanted']} requested computed" if state["wanted"] else ""
    return f"meaning: {state['kept']} vectors kept{making}\n"


def told_of_share(share: float | None) -> str:
    """Return a note on the share of the pieces that searches compared by meaning; empty for all, or by words alone."""
    if share is None or share >= 1.0:
        return ""
    return (
        f"jeeves: search by meaning knew {math.floor(100 * share)} % of the pieces; "
        "`jeeves index --wait-vectors` makes the rest\n"
    )
