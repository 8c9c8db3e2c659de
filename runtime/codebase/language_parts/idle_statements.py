"""Names the languages whose statements without an effect are told apart from results."""

from __future__ import annotations

IDLE_KNOWN = frozenset({"python", "javascript", "typescript", "tsx", "go", "rust", "c", "cpp", "java", "ruby"})
