"""Seals the files of a Chroma database's indexes, which Chroma reads without a check.

A file that was cut short answers wrongly, and a damaged header crashes the process. So their sizes and hashes are
written after each change, and compared before the database is opened. Its SQLite file checks itself.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

SEAL_NAME = "jeeves.seal"
DATABASE_NAME = "chroma.sqlite3"


class ChromaSeal:
    """Writes and compares the seal of one folder; files that did not change since are not read again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, tuple[tuple[int, int, int], str]] = {}

    def write(self) -> None:
        """Seal the files as they are. Raises OSError."""
        new = self._path / f"{SEAL_NAME}.new"
        new.write_text(json.dumps(self._found()), encoding="ascii")
        new.replace(self._path / SEAL_NAME)

    def holds(self) -> bool:
        """Return whether the files are those that were sealed; True for a folder without a database. Raises OSError."""
        try:
            sealed = json.loads((self._path / SEAL_NAME).read_text(encoding="ascii"))
        except FileNotFoundError:
            sealed = None
        except ValueError:
            return False
        has_database = (self._path / DATABASE_NAME).exists()
        if sealed is None:
            return not has_database
        return has_database and bool(sealed == self._found())

    def _found(self) -> dict[str, str]:
        """Return the hash of each file by its path, relative to the folder."""
        found: dict[str, str] = {}
        for folder, _, names in os.walk(self._path):
            for name in names:
                path = Path(folder, name)
                if path.parent != self._path:
                    found[str(path.relative_to(self._path))] = self._hash_of(path)
        self._known = {name: self._known[name] for name in found}
        return found

    def _hash_of(self, path: Path) -> str:
        name = str(path.relative_to(self._path))
        told = path.lstat()
        state = (told.st_size, told.st_mtime_ns, told.st_ino)
        known = self._known.get(name)
        if known is None or known[0] != state:
            content = hashlib.blake2b(digest_size=16)
            with path.open("rb") as file:
                while part := file.read(1 << 20):
                    content.update(part)
            self._known[name] = (state, content.hexdigest())
        return self._known[name][1]
