"""Writes what becomes of each test, and which functions of some files it calls, line by line as JSON.

Runs in the interpreter of the repository, which may be old and knows nothing of this package: the files of this folder
import the standard library alone, find one another by their names, and are copied to a folder that the interpreter is
pointed to. The variables: `JEEVES_TEST_REPORT` (file to write), `JEEVES_TEST_ONLY` and `JEEVES_TEST_SKIP` (files with a
JSON list of test ids), `JEEVES_TRACED` (a JSON list of files).
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

MAX_WHY_CHARS = 400


class Report:
    """Appends one JSON object for each event to a file, at once, so that it is there after a kill."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "a", encoding="ascii")  # noqa: SIM115, PTH123

    def write(self, event: str, **values: Any) -> None:
        """Write an event."""
        self._file.write(json.dumps({"event": event, **values}) + "\n")
        self._file.flush()


def report_of_process(suffix: str = "") -> Report | None:
    """Return the report that the variables name; None without one."""
    path = os.environ.get("JEEVES_TEST_REPORT")
    return Report(path + suffix) if path else None


def listed_ids(variable: str) -> set[str] | None:
    """Return the test ids in the file that a variable names; None without one."""
    path = os.environ.get(variable)
    if not path:
        return None
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        return set(json.load(file))


def is_chosen(test: str, only: set[str] | None, skipped: set[str] | None) -> bool:
    """Return whether a test is to run."""
    return (only is None or test in only) and (skipped is None or test not in skipped)


def short(why: object) -> str:
    """Return a reason, cut."""
    return str(why)[:MAX_WHY_CHARS]


class CallTracer:
    """Collects the functions of some files that run between `start` and `stop`, as (file, first line)."""

    def __init__(self, files: list[str]) -> None:
        self._wanted = {os.path.realpath(file): file for file in files}
        self._known: dict[str, str | None] = {}
        self._calls: set[tuple[str, int]] = set()
        self._tool = 0

    def start(self) -> None:
        """Begin with an empty collection."""
        self._calls = set()
        if not self._wanted:
            return
        if sys.version_info >= (3, 12):
            self._monitor()
        else:
            threading.settrace(self._traced)
            sys.settrace(self._traced)

    def stop(self) -> list[tuple[str, int]]:
        """End, and return what was collected."""
        if self._wanted and sys.version_info < (3, 12):
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type, unused-ignore]
        return sorted(self._calls)

    def _monitor(self) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        if not self._tool:
            self._tool = next(number for number in (4, 3, 5, 2) if monitoring.get_tool(number) is None)
            monitoring.use_tool_id(self._tool, "jeeves")
            monitoring.register_callback(self._tool, monitoring.events.PY_START, self._started)
            monitoring.set_events(self._tool, monitoring.events.PY_START)
        monitoring.restart_events()

    def _started(self, code: Any, _offset: int) -> Any:
        self._take(code)
        return sys.monitoring.DISABLE  # type: ignore[attr-defined, unused-ignore]

    def _traced(self, frame: Any, _event: str, _argument: Any) -> None:
        self._take(frame.f_code)

    def _take(self, code: Any) -> None:
        name = code.co_filename
        if name not in self._known:
            self._known[name] = self._wanted.get(os.path.realpath(name))
        file = self._known[name]
        if file is not None:
            self._calls.add((file, code.co_firstlineno))


def tracer_of_process() -> CallTracer:
    """Return a tracer of the files that the variables name."""
    return CallTracer(json.loads(os.environ.get("JEEVES_TRACED", "[]")))
