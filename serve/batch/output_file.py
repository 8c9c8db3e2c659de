"""Writes OUT of `jeeves batch`: one JSON document per line and id.

That holds even if several processes write and some are killed. The file is authoritative for what has been answered;
queues only distribute the work. A writer locks the file, reads what others have written since, and removes a last line
that was cut off by a kill.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from runtime.errors import InputError
from serve.answer_document import EXIT_FAILED, exit_status


class BatchFile:
    """Holds the documents of a batch by id; call `begin` or `go_on` first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._failed: dict[str, bool] = {}
        self._read_to = 0
        self._inode: int | None = None

    def check(self, resume: bool) -> None:
        """Raise InputError if the file cannot be written, is no regular file, or exists and `resume` is False."""
        if self.path.is_dir() or not os.access(self.path if self.path.exists() else self.path.parent, os.W_OK):
            raise InputError(
                f"{self.path} cannot be written; give a file in a folder that exists with --out", path=str(self.path)
            )
        if self.path.exists() and not self.path.is_file():
            raise InputError(f"{self.path} is no regular file; give another one with --out", path=str(self.path))
        if self.path.exists() and not resume:
            raise self._exists()

    def begin(self) -> None:
        """Create the file. Raises InputError if it exists by now."""
        try:
            self.path.open("xb").close()
        except FileExistsError as error:
            raise self._exists() from error

    def go_on(self) -> None:
        """Keep existing answers, if any; drop failed documents and lines that are not documents."""
        try:
            self.path.open("ab").close()
            with self._locked() as file:
                whole = file.read()
                kept = b"".join(line for line in whole.splitlines(keepends=True) if _is_answer(line))
                if kept != whole:
                    self._replace(kept)
        except OSError as error:
            raise InputError(f"{self.path} cannot be continued: {error.strerror}", path=str(self.path)) from error
        self.look()

    def has(self, line_id: str) -> bool:
        """Return True if the id has a document, as of the last `look`."""
        return line_id in self._failed

    def failed(self) -> set[str]:
        """Return the ids that could not be answered according to their documents, as of the last `look`."""
        return {line_id for line_id, has_failed in self._failed.items() if has_failed}

    def look(self) -> None:
        """Read what other processes have written."""
        with self.path.open("rb") as file:
            self._catch_up(file)

    def add(self, document: dict[str, Any]) -> bool:
        """Append a document; return False, without writing, if its id exists already. Raises OSError."""
        line = json.dumps(document, ensure_ascii=False).encode() + b"\n"
        with self._locked() as file:
            self._catch_up(file)
            if str(document["id"]) in self._failed:
                return False
            file.truncate(self._read_to)
            file.seek(self._read_to)
            file.write(line)
            file.flush()
            self._catch_up(file)
        return True

    def _exists(self) -> InputError:
        return InputError(f"{self.path} exists; pass --resume to continue it, or another file", path=str(self.path))

    @contextmanager
    def _locked(self) -> Iterator[IO[bytes]]:
        """Open and lock the file; retry if it was replaced meanwhile, since the lock is then on the old file."""
        while True:
            with self.path.open("r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                if os.fstat(file.fileno()).st_ino == self.path.stat().st_ino:
                    yield file
                    return

    def _catch_up(self, file: IO[bytes]) -> None:
        """Read new complete lines; a file that was replaced or truncated is read from its beginning."""
        found = os.fstat(file.fileno())
        if found.st_ino != self._inode or found.st_size < self._read_to:
            self._inode, self._read_to, self._failed = found.st_ino, 0, {}
        file.seek(self._read_to)
        for line in file:
            if not line.endswith(b"\n"):
                return
            self._read_to += len(line)
            document = _document_in(line)
            if document is not None and "id" in document:
                self._failed[str(document["id"])] = has_failed(document)

    def _replace(self, content: bytes) -> None:
        draft = self.path.with_name(self.path.name + ".tmp")
        draft.write_bytes(content)
        draft.replace(self.path)


def has_failed(document: dict[str, Any]) -> bool:
    """Return True for the document of a line that could not be answered."""
    return "terminal_reason" not in document or exit_status(document) == EXIT_FAILED


def _is_answer(line: bytes) -> bool:
    document = _document_in(line) if line.endswith(b"\n") else None
    return document is not None and "id" in document and not has_failed(document)


def _document_in(data: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
