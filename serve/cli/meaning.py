"""How far the vectors for search by meaning are, for the commands that tell of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from runtime.settings import Settings


def meaning(settings: Settings) -> dict[str, int] | None:
    """Vectors `kept` for all repositories, and how many of those that processes make now are `made`, of all `wanted`.

    None when search by meaning is not installed, or switched off.
    """
    from runtime.codebase.semantics.similarity import is_installed, vector_state
    from serve.wiring import agent_settings

    path: Any = agent_settings(settings)["vectors"]
    return vector_state(Path(path))._asdict() if path and is_installed() else None


def told_of_meaning(state: dict[str, int] | None) -> str:
    """The same as a line of text."""
    if state is None:
        return "meaning: not used; install the extra `embeddings`, or set code_index.embeddings\n"
    making = f", {state['made']} of {state['wanted']} wanted now are made" if state["wanted"] else ""
    return f"meaning: {state['kept']} vectors kept{making}\n"
