"""Writes files of a work tree so that each write can be repeated after a kill, and undone.

    folder of the journal: one file `N.json` for each write, and `CONTENT-SHA256.before` for what it replaced

A write is recorded before it is made. Whoever asks for it again finds it made, or makes it now; whoever takes it back
restores the bytes that it replaced, unless the file was changed since.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from pathlib import Path

import msgspec

from runtime.codebase.files.regular_file import read_below
from runtime.errors import FileEditError
from runtime.primitives.text_files import read_bytes_file

MAX_FILE_BYTES = 4_000_000


class Write(msgspec.Struct, frozen=True):
    """Records one write: `file` relative to the work tree, with the digests of its content before and after.

    `key` names what was asked for; the same key is written once.
    """

    number: int
    key: str
    file: str
    before: str
    after: str


class EditJournal:
    """Writes files below `root`, and remembers in `folder` what they held."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder

    def read(self, file: str) -> bytes:
        """Return the content of a file of the work tree. Raises FileEditError."""
        self._place(file)
        try:
            return read_below(self._root, file, MAX_FILE_BYTES)
        except OSError as error:
            raise FileEditError(f"{file} cannot be read: {error.strerror}", file=file) from error

    def write(self, key: str, file: str, before: bytes, after: bytes) -> Write:
        """Replace the content of a file that holds `before`; return the record of it, also if it was made earlier.

        Raises FileEditError if the file holds something else, or cannot be written.
        """
        current = digest_of(self.read(file))
        known = self.done(key)
        if known is not None and current == known.after:
            return known
        if current != digest_of(before):
            raise FileEditError(f"{file} was changed by somebody else meanwhile; read it again", file=file)
        record = known or Write(len(self.writes()) + 1, key, file, digest_of(before), digest_of(after))
        self._folder.mkdir(parents=True, exist_ok=True)
        _replace(self._folder / f"{record.before}.before", before)
        _replace(self._folder / f"{record.number:04}.json", msgspec.json.encode(record))
        self._put(file, after)
        return record

    def done(self, key: str) -> Write | None:
        """Return the record of a write that was asked for under `key`; None if it never was."""
        return next((record for record in self.writes() if record.key == key), None)

    def take_back(self, record: Write) -> None:
        """Restore what a write replaced. Raises FileEditError if the file was changed since."""
        current = digest_of(self.read(record.file))
        if current == record.before:
            return
        if current != record.after:
            raise FileEditError(f"{record.file} was changed since its edit {record.number}", file=record.file)
        self._put(record.file, read_bytes_file(self._folder / f"{record.before}.before", MAX_FILE_BYTES))

    def writes(self) -> list[Write]:
        """Return all recorded writes in order; the last may not have been made, if its process was killed."""
        files = sorted(self._folder.glob("*.json")) if self._folder.is_dir() else []
        return [msgspec.json.decode(path.read_bytes(), type=Write) for path in files]

    def _place(self, file: str) -> Path:
        """Return the place of a regular file below the root, which no link leads to."""
        place = self._root / file
        if Path(file).is_absolute() or ".." in Path(file).parts or ".git" in Path(file).parts or "\0" in file:
            raise FileEditError(f"{file!r} is not a path inside the repository", file=file)
        parts = [self._root.joinpath(*Path(file).parts[:depth]) for depth in range(1, len(Path(file).parts) + 1)]
        if any(part.is_symlink() for part in parts):
            raise FileEditError(f"{file} is a link or lies behind one; links are not written", file=file)
        return place

    def _put(self, file: str, content: bytes) -> None:
        place = self._place(file)
        try:
            mode = stat.S_IMODE(place.stat().st_mode)
            # Its folder may be writable all the same: the mark is what its owner meant.
            if not mode & stat.S_IWUSR:
                raise FileEditError(f"{file} is read-only; `chmod u+w` it, or leave it out", file=file)
            _replace(place, content, mode)
        except OSError as error:
            raise FileEditError(f"{file} cannot be written: {error.strerror}", file=file) from error


def digest_of(content: bytes) -> str:
    """Return the SHA-256 of a content."""
    return hashlib.sha256(content).hexdigest()


def _replace(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a file so that a kill leaves the old content or the new one."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.chmod(mode)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
