"""Shares opened code indexes between the agents of one process."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from runtime.codebase.codebase import Codebase, FixedVectors
from runtime.codebase.files.walk import unmoved_root
from runtime.codebase.index.vector_store_kind import VectorStoreKind
from runtime.codebase.semantics.similarity import open_semantics

OPEN_CODEBASES = 4


class CodeAnalysisSettings(BaseModel):
    """Holds the settings of code_analysis: how many repositories each process keeps open."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    open_repositories: int = Field(default=OPEN_CODEBASES, ge=1, le=64)


class Services:
    """Caches codebases by repository; each generation of an index is opened once.

    A codebase that leaves the cache is not closed: another stage may be reading it. It closes when nobody refers to it.
    """

    def __init__(
        self,
        *,
        allow_secrets: bool = False,
        vectors: Path | None = None,
        vector_store: VectorStoreKind = "sqlite",
        open_repositories: int = OPEN_CODEBASES,
        question_patience_s: float = 0.0,
    ) -> None:
        self._allow_secrets = allow_secrets
        self._max_open = open_repositories
        self._question_patience_s = question_patience_s
        self._semantics = open_semantics(vectors, store=vector_store) if vectors is not None else None
        self._open: OrderedDict[tuple[str, str], Codebase] = OrderedDict()
        self._lock = threading.Lock()

    def codebase(self, repository: Mapping[str, Any]) -> Codebase:
        """Return the codebase that perception prepared: `repository` has `root` and `index_path`.

        With `vectors`, no others count. RepositoryError if the root has become a link, which may lead anywhere.
        """
        codebase = self._opened(repository)
        fixed = repository.get("vectors")
        return codebase if fixed is None else codebase.comparing(msgspec.convert(fixed, FixedVectors))

    def with_fixed_vectors(self, repository: Mapping[str, Any], question: str) -> dict[str, Any]:
        """Return the repository with the vectors that there are now, for all stages of a run about a question.

        Those of the pieces that the question turns on are made first, if that takes no longer than the settings allow.
        Vectors made later would change the answer between two stages, or when one is repeated.
        """
        unfixed = {name: value for name, value in repository.items() if name != "vectors"}
        codebase = self._opened(unfixed)
        codebase.embed_likely(question, self._question_patience_s)
        fixed = codebase.fixed_vectors(question)
        return unfixed if fixed is None else {**unfixed, "vectors": msgspec.to_builtins(fixed)}

    def _opened(self, repository: Mapping[str, Any]) -> Codebase:
        unmoved_root(Path(str(repository["root"])))
        key = (str(repository["root"]), str(repository["index_path"]))
        with self._lock:
            if key in self._open and not self._open[key].index.is_current():
                del self._open[key]
            if key not in self._open:
                self._open[key] = Codebase.open(
                    Path(key[0]), Path(key[1]), allow_secrets=self._allow_secrets, semantics=self._semantics
                )
                while len(self._open) > self._max_open:
                    self._open.popitem(last=False)
            self._open.move_to_end(key)
            return self._open[key]


def open_services(settings: Mapping[str, Any]) -> Services:
    """Open the services of one process.

    `settings` may have `allow_secrets`, a path `vectors`, `question_patience_s`, and `domain`.
    """
    vectors = settings.get("vectors")
    domain: CodeAnalysisSettings = settings.get("domain", CodeAnalysisSettings())
    return Services(
        allow_secrets=bool(settings.get("allow_secrets", False)),
        vectors=None if vectors is None else Path(vectors),
        vector_store=settings.get("vector_store", "sqlite"),
        open_repositories=domain.open_repositories,
        question_patience_s=float(settings.get("question_patience_s", 0.0)),
    )
