"""Formats log records with all of their fields, as text or JSON, and sets up the logs of a process.

A message is the name of an event (`stage.hook_failed`), and its data are the fields in `extra`. Records that a task
writes on behalf of a run carry its `run_id` and `stage` (`log_scope`). Nothing is logged to standard output.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from runtime.primitives.visible_text import visible, visible_json, visible_line

PACKAGES = ("runtime", "actors", "serve")
MAX_FIELD_CHARS = 4_000
MAX_FILE_BYTES = 5_000_000

_OWN_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_SCOPE: ContextVar[Mapping[str, str]] = ContextVar("jeeves_log_scope", default=MappingProxyType({}))


class LogOptions(msgspec.Struct, frozen=True):
    """Selects the least level of our own records, and their format."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["text", "json"] = "text"


_configured = LogOptions()


def enter_log_scope(run_id: str | None, stage: str | None = None) -> None:
    """Add run and stage to what this task, and tasks that it starts, log from now on."""
    given = {"run_id": run_id, "stage": stage}
    _SCOPE.set({name: value for name, value in given.items() if value is not None})


@contextmanager
def log_scope(run_id: str, stage: str | None = None) -> Iterator[None]:
    """Add run and stage to what is logged within the block."""
    before = _SCOPE.get()
    enter_log_scope(run_id, stage)
    try:
        yield
    finally:
        _SCOPE.set(before)


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return run and stage, where known, and the fields of `extra`."""
    given = {name: value for name, value in vars(record).items() if name not in _OWN_FIELDS}
    scope = {name: value for name, value in _SCOPE.get().items() if given.get(name) is None}
    found = {**given, **scope}
    first = {name: found[name] for name in ("run_id", "stage") if found.get(name) is not None}
    return first | {name: value for name, value in found.items() if value is not None}


class TextFormatter(logging.Formatter):
    """Formats a record as one line, `TIME LEVEL process logger event name=value …`, and a traceback below it."""

    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, with hidden characters as escapes."""
        fields = "".join(f" {name}={_shown(value)}" for name, value in fields_of(record).items())
        head = f"{_time(record)} {record.levelname} {self._process} {record.name} {record.getMessage()}"
        line = visible_line(head + fields)
        return f"{line}\n{visible(self.formatException(record.exc_info))}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object: time, level, process, logger, event, fields, and `exception`."""

    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        """Return the object on one line; a field cannot replace one of the first five."""
        head = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "process": self._process,
            "logger": record.name,
            "event": record.getMessage(),
        }
        document = fields_of(record) | head
        if record.exc_info:
            document["exception"] = self.formatException(record.exc_info)
        ordered = {name: document[name] for name in dict.fromkeys((*head, *document))}
        return visible_json(json.dumps(ordered, ensure_ascii=False, default=_cut))


class LogFile(logging.Handler):
    """Appends records to a file that several processes share; beyond `MAX_FILE_BYTES` it becomes NAME.1."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        """Append a record; the file and its folder are created by the first one."""
        try:
            line = self.format(record) + "\n"
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._path.is_file() and self._path.stat().st_size > MAX_FILE_BYTES:
                self._path.replace(self._path.with_name(self._path.name + ".1"))
            with self._path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(line)
        except OSError:
            return  # a state folder that cannot be written is reported by what needs it


class OwnStreamHandler(logging.StreamHandler[Any]):
    """Writes records to standard error; a type of its own, so that configuring again replaces it."""


def configure_logs(options: LogOptions, process: str, file: Path | None = None) -> None:
    """Send our records of the chosen level, and warnings of libraries, to `file` or else to standard error."""
    global _configured  # noqa: PLW0603 - as with the loggers, there is one configuration in a process
    _configured = options
    handler: logging.Handler = OwnStreamHandler(sys.stderr) if file is None else LogFile(file)
    handler.setFormatter((JsonFormatter if options.format == "json" else TextFormatter)(process))
    root = logging.getLogger()
    for old in [each for each in root.handlers if isinstance(each, OwnStreamHandler | LogFile)]:
        root.removeHandler(old)
    root.addHandler(handler)
    for package in PACKAGES:
        logging.getLogger(package).setLevel(options.level.upper())


def configured_logs() -> LogOptions:
    """Return the options of this process, to pass them on to processes that it starts."""
    return _configured


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _cut(value: object) -> str:
    text = str(value)
    return text if len(text) <= MAX_FIELD_CHARS else f"{text[:MAX_FIELD_CHARS]}…"


def _shown(value: object) -> str:
    """Return a value for a text line: quoted as JSON if it is no plain word or number."""
    text = _cut(value)
    is_plain = bool(text) and not any(char.isspace() or char in '"=' for char in text)
    return text if is_plain else json.dumps(text, ensure_ascii=False)
