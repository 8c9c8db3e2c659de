"""Shares opened code indexes between the agents of one process."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runtime.codebase.codebase import Codebase
from runtime.codebase.semantics.similarity import open_semantics

OPEN_CODEBASES = 4


class Services:
    """Caches codebases by repository; each generation of an index is opened once."""

    def __init__(self, *, allow_secrets: bool = False, vectors: Path | None = None) -> None:
        self._allow_secrets = allow_secrets
        self._semantics = open_semantics(vectors) if vectors is not None else None
        self._open: OrderedDict[tuple[str, str], Codebase] = OrderedDict()
        self._lock = threading.Lock()

    def codebase(self, repository: Mapping[str, Any]) -> Codebase:
        """Return the codebase that perception prepared: `repository` has `root` and `index_path`."""
        key = (str(repository["root"]), str(repository["index_path"]))
        with self._lock:
            if key in self._open and not self._open[key].index.is_current():
                del self._open[key]  # not closed: other stages may be reading it
            if key not in self._open:
                self._open[key] = Codebase.open(
                    Path(key[0]), Path(key[1]), allow_secrets=self._allow_secrets, semantics=self._semantics
                )
                while len(self._open) > OPEN_CODEBASES:
                    self._open.popitem(last=False)[1].close()
            self._open.move_to_end(key)
            return self._open[key]


def open_services(settings: Mapping[str, Any]) -> Services:
    """Open the services of one process; `settings` has `allow_secrets` and the path `vectors`, both optional."""
    vectors = settings.get("vectors")
    return Services(
        allow_secrets=bool(settings.get("allow_secrets", False)), vectors=None if vectors is None else Path(vectors)
    )
