"""Shortens long answers of a change: texts to their beginnings, lists to their first rows.

What has to be handed in (tasks, files that must be verified, problems) is never cut; many changed files are told by
folder, all of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from serve.mcp.search.fitting import BYTES_PER_TOKEN, size_tokens

MAX_TOKENS = 4_000
# Objects of texts, and lists, from the one that is missed least.
TEXTS = ("project_rules", "phase_summaries")
LISTS = ("explored_files", "documents", "hints", "unpermitted")
MIN_TEXT_CHARS = 120
ROWS = 200
HINT = "get_session_status with a greater max_tokens tells all; files of rules can be read with read_code"

_SHARES = (0.5, 0.25, 0.1, 0.04, 0.0)


def written(data: Mapping[str, Any]) -> str:
    """Return an answer as JSON text, as models read it."""
    return json.dumps(data, ensure_ascii=False, indent=1)


def shortened(data: Mapping[str, Any], max_tokens: int = MAX_TOKENS) -> dict[str, Any]:
    """Return an answer that takes at most `max_tokens`, text and data together, as far as it can be cut.

    `cut` says what is missing, `hint` how to get it.
    """
    shown = dict(data)
    for share in _SHARES:
        if _fits(shown, max_tokens):
            break
        if not _fits(data, max_tokens) and _is_of_changes(data.get("files")):
            data = {**data, "files": _by_folder(data["files"])}
            if _fits(data, max_tokens):
                return dict(data)
        shown = _cut(data, share, max_tokens * BYTES_PER_TOKEN // 2)
    return shown


def _fits(data: Mapping[str, Any], max_tokens: int) -> bool:
    return size_tokens(written(data)) + size_tokens(json.dumps(data, ensure_ascii=False)) <= max_tokens


def _is_of_changes(rows: Any) -> bool:
    return isinstance(rows, list) and bool(rows) and all(isinstance(row, dict) and "how" in row for row in rows)


def _by_folder(rows: Sequence[Mapping[str, str]]) -> dict[str, dict[str, list[str]]]:
    """Return changed files as how → folder, `.` for the top → names, which takes a third of their rows."""
    found: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        folder, _, name = row["file"].rpartition("/")
        found.setdefault(row["how"], {}).setdefault(folder or ".", []).append(name)
    return found


def _cut(data: Mapping[str, Any], share: float, room_chars: int) -> dict[str, Any]:
    shown = dict(data)
    cut: dict[str, str] = {}
    for name in TEXTS:
        texts = data.get(name) or {}
        most = max(MIN_TEXT_CHARS, int(share * room_chars / max(1, len(texts))))
        long = {key: text for key, text in texts.items() if len(text) > most}
        if long:
            shown[name] = {**texts, **{key: f"{text[:most]} …" for key, text in long.items()}}
            cut |= {f"{name}.{key}": f"{most} of {len(text)} characters" for key, text in long.items()}
    for name in LISTS:
        rows, most = data.get(name) or [], max(1, int(share * ROWS))
        if len(rows) > most:
            shown[name] = list(rows[:most])
            cut[name] = f"{most} of {len(rows)}"
    return {**shown, "cut": cut, "hint": HINT} if cut else shown
