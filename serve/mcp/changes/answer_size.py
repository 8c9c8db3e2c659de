"""Shortens long answers of a change: texts to their beginnings, lists to their first rows.

What has to be handed in (files that must be verified, problems) is never cut; many changed files are told by folder,
all of them. Long lists of tasks are told without their checklists, which get_session_status tells whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from serve.mcp.search.fitting import BYTES_PER_TOKEN, size_tokens

MAX_TOKENS = 4_000
# Objects of texts, and lists, from the one that is missed least.
TEXTS = ("project_rules", "phase_summaries")
LISTS = ("explored_files", "documents", "hints", "unpermitted", "mandatory_rules")
MIN_TEXT_CHARS = 120
ROWS = 200
HINT = "get_session_status with a greater max_tokens tells all; files of rules can be read with read_code"

# What says what to hand in, and the summary of what was cut.
_WHOLE = frozenset({"tasks", "next_task", "must_verify", "expected_payload", "files", "stale_branches", "cut", "hint"})
_TEXT_CHARS = (2_000, 800, 300, 120, 60)
_SHARES = (0.5, 0.25, 0.1, 0.04, 0.0)


def written(data: Mapping[str, Any]) -> str:
    """Return an answer as JSON text. Blanks for the eye would cost a tenth more tokens."""
    return json.dumps(data, ensure_ascii=False)


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
    for form in (_in_brief, _ids_alone):
        if _fits(shown, max_tokens):
            break
        shown = _with_tasks(shown, data, form)
    least = shown
    for most in _TEXT_CHARS:
        if _fits(shown, max_tokens):
            break
        shown = _clipped(least, most)
    return shown


def _with_tasks(shown: dict[str, Any], data: Mapping[str, Any], form: Callable[[list[Any]], Any]) -> dict[str, Any]:
    """Return an answer with its tasks in a shorter form, and the items of the next one as mere texts."""
    if "next_task" in data:
        task = data["next_task"]
        items = [item["item"] if isinstance(item, dict) else item for item in task["checklist"]]
        shown = {**shown, "next_task": {**task, "checklist": items}}
    if not data.get("tasks"):
        return shown
    cut = {**shown.get("cut", {}), "tasks": "their checklists are left out"}
    return {**shown, "tasks": form(data["tasks"]), "cut": cut, "hint": HINT}


def _in_brief(tasks: list[Any]) -> list[dict[str, Any]]:
    kept = ("id", "status", "failure_count", "fixes")
    return [{**{k: task[k] for k in kept if k in task}, "items": len(task.get("checklist", ()))} for task in tasks]


def _ids_alone(tasks: list[Any]) -> dict[str, list[str]]:
    return {state: [task["id"] for task in tasks if task["status"] == state] for state in ("completed", "pending")}


def _clipped(data: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Return an answer with no text of more than `most` characters, but for what says what to hand in."""
    shown = {name: value if name in _WHOLE else _beginnings(value, most) for name, value in data.items()}
    if shown == data:
        return shown
    return {**shown, "cut": {**data.get("cut", {}), "texts": f"to {most} characters each"}, "hint": HINT}


def _beginnings(value: Any, most: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= most else f"{value[:most]} …"
    if isinstance(value, Mapping):
        return {name: _beginnings(each, most) for name, each in value.items()}
    return [_beginnings(each, most) for each in value] if isinstance(value, list) else value


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
