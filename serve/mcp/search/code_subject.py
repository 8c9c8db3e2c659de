"""Opens the served repository in the worker processes that run its tools.

Unlike `Codebase.portable`, it opens search by meaning there as well, since all tools run in those processes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from runtime.codebase.codebase import Codebase
from runtime.codebase.files.walk import unmoved_root
from runtime.codebase.index.vector_store_kind import VectorStoreKind
from runtime.codebase.semantics.similarity import Semantics, open_semantics


class PortableRepository(msgspec.Struct, frozen=True):
    """Names a repository and its index for a worker process; `vectors` is the file of its vectors, if they are used.

    `vector_store`: where its pieces are looked up.
    """

    root: str
    index_path: str
    allow_secrets: bool = False
    vectors: str | None = None
    vector_store: VectorStoreKind = "sqlite"

    @property
    def tool_scope(self) -> str:
        """The scope in which its tools are judged: the repository."""
        return self.root

    def portable(self) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """Return how a worker process opens it, as `PortableSubject` does."""
        return f"{__name__}:open_repository", msgspec.structs.asdict(self), {}


class OpenRepository:
    """Holds the open index in a worker process, and opens it again when a rebuilt one has taken its place."""

    def __init__(self, named: PortableRepository, semantics: Semantics | None) -> None:
        self._named = named
        self._semantics = semantics
        self._codebase = self._opened()

    def viewed(self) -> Codebase:
        """Return the codebase as it is now. RepositoryError if the root has become a link, which may lead anywhere."""
        unmoved_root(Path(self._named.root))
        if not self._codebase.index.is_current():
            self._codebase.close()
            self._codebase = self._opened()
        return self._codebase

    def close(self) -> None:
        """Release the files of index and vectors."""
        self._codebase.close()
        if self._semantics is not None:
            self._semantics.close()

    def _opened(self) -> Codebase:
        named = self._named
        root = unmoved_root(Path(named.root))
        return Codebase.open(root, Path(named.index_path), allow_secrets=named.allow_secrets, semantics=self._semantics)


def open_repository(
    root: str, index_path: str, allow_secrets: bool, vectors: str | None, vector_store: VectorStoreKind = "sqlite"
) -> OpenRepository:
    """Open the repository that `PortableRepository.portable` describes."""
    semantics = None if vectors is None else open_semantics(Path(vectors), store=vector_store)
    return OpenRepository(PortableRepository(root, index_path, allow_secrets, vectors, vector_store), semantics)
