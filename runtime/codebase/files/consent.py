"""Keeps which files of a repository the operator allowed to take effect, by SHA-256.

What a repository brings along (contracts, rules, commands) is inert until then. `jeeves allow` writes here; whoever
would obey such a file asks here first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from runtime.errors import StateStorageError
from runtime.primitives.text_files import read_text_file

MAX_BYTES = 1_000_000


class Found(msgspec.Struct, frozen=True):
    """Describes a file of a repository that would bind somebody: its digest, and whether that was allowed."""

    file: str
    sha256: str
    is_allowed: bool


class Consent:
    """Reads and writes what was allowed, in one file of the state folder: repository → file → SHA-256."""

    def __init__(self, state_dir: Path) -> None:
        self._file = state_dir / "allowed.json"

    def found(self, root: Path, files: Sequence[str]) -> list[Found]:
        """Return those of `files` that are in a repository, allowed or not."""
        allowed = self.allowed(root)
        texts = ((name, text_of_file(root, name)) for name in files)
        digests = ((name, digest_of(text)) for name, text in texts if text is not None)
        return [Found(name, digest, allowed.get(name) == digest) for name, digest in digests]

    def allowed(self, root: Path) -> dict[str, str]:
        """Return what was allowed of a repository: file → SHA-256."""
        return self._read().get(str(root), {})

    def add(self, root: Path, files: dict[str, str]) -> None:
        """Allow further files of a repository, beside what is allowed of it."""
        self.allow(root, {**self.allowed(root), **files})

    def allow(self, root: Path, files: dict[str, str]) -> None:
        """Allow files of a repository with exactly these digests, in place of what was allowed of it before."""
        everything = {**self._read(), str(root): files}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._file.with_suffix(".new")
        fresh.write_bytes(msgspec.json.format(msgspec.json.encode(everything)))
        fresh.replace(self._file)

    def allowed_text(self, root: Path, file: str, of: Path | None = None) -> str | None:
        """Return the text of a file exactly as it was allowed; None where it is missing or differs.

        `of`: the repository of which it was allowed, where that is another one than it is read in.
        """
        text = text_of_file(root, file)
        wanted = self.allowed(of or root).get(file)
        return text if text is not None and wanted == digest_of(text) else None

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, dict[str, str]])
        except FileNotFoundError:
            return {}
        except OSError as error:
            told = f"{self._file} cannot be read: {error.strerror}; check the state folder, or set JEEVES_STATE_DIR"
            raise StateStorageError(told, path=str(self._file)) from error


def text_of_file(root: Path, file: str) -> str | None:
    """Return the text of a file of a repository; None where it cannot be read as text, and so binds nobody."""
    try:
        return read_text_file(root / file, MAX_BYTES)
    except (OSError, ValueError):
        return None


def digest_of(text: str) -> str:
    """Return the SHA-256 of a text, by which it is allowed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
