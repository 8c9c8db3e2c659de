"""Compares requests with agreements, whose vectors are kept in the vector store of the settings."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from actors.capabilities.code_change.store.agreement_files import AgreementFile, normal
from runtime.codebase.index.vector_store_kind import VectorStoreKind
from runtime.codebase.semantics.embedding import Vectors
from runtime.codebase.semantics.embedding_socket import SocketEmbedder
from runtime.codebase.semantics.vector_store import VectorEntry, VectorStore, open_vector_store
from runtime.errors import MachineError

COLLECTION = "agreements"
PATIENCE_S = 2.0
# Embedded while a call waits; what is more is embedded behind it, so many at once that no question waits long.
MADE_AT_ONCE = 8
MAX_COMPARED = 20

log = logging.getLogger(__name__)


class _Request(NamedTuple):
    path: str
    text: str
    sha256: str


class RequestVectors:
    """Compares the requests of one repository."""

    def __init__(self, folder: Path, kind: VectorStoreKind, root: Path) -> None:
        """Create it without opening anything; `folder` has the store, and the socket of what embeds."""
        self._folder = folder
        self._kind = kind
        self._scope = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()
        self._catching_up: threading.Thread | None = None

    def compared(self, query: str, files: Mapping[str, AgreementFile]) -> dict[str, float]:
        """Return the cosines of a request and those of agreements: path → cosine, for the nearest of them.

        MachineError if nobody embeds, or if the store cannot be used.
        """
        wanted = {f"{self._scope}/{each.agreement.key}": _request(path, each) for path, each in files.items()}
        where = {"repository": self._scope}
        with closing(open_vector_store(self._kind, self._folder, COLLECTION)) as store:
            known = store.hashes(where)
            store.delete([name for name in known if name not in wanted])
            missing = [name for name, request in wanted.items() if known.get(name) != request.sha256]
            now = missing[:MADE_AT_ONCE]
            asked, *rows = self._embedded([normal(query), *(wanted[name].text for name in now)])
            self._keep(store, {name: wanted[name] for name in now}, rows)
            found = store.query(asked, MAX_COMPARED, where)
        self._catch_up({name: wanted[name] for name in missing[MADE_AT_ONCE:]})
        return {wanted[match.id].path: match.cosine for match in found if match.id in wanted}

    def _embedded(self, texts: Sequence[str]) -> Sequence[Vectors]:
        return list(SocketEmbedder(self._folder).embed(texts, PATIENCE_S))

    def _keep(self, store: VectorStore, requests: Mapping[str, _Request], rows: Sequence[Vectors]) -> None:
        made = zip(requests.items(), rows, strict=True)
        attributes = {"repository": self._scope}
        store.upsert([VectorEntry(name, request.sha256, row, attributes) for (name, request), row in made])

    def _catch_up(self, requests: Mapping[str, _Request]) -> None:
        """Embed requests behind the answer, unless that is under way."""
        if not requests or (self._catching_up is not None and self._catching_up.is_alive()):
            return
        self._catching_up = threading.Thread(target=self._make, args=(requests,), name="agreements", daemon=True)
        self._catching_up.start()

    def _make(self, requests: Mapping[str, _Request]) -> None:
        names = list(requests)
        try:
            with closing(open_vector_store(self._kind, self._folder, COLLECTION)) as store:
                for at in range(0, len(names), MADE_AT_ONCE):
                    some = {name: requests[name] for name in names[at : at + MADE_AT_ONCE]}
                    self._keep(store, some, self._embedded([request.text for request in some.values()]))
        except MachineError as error:
            # The next request tries again.
            log.info("map.not_embedded", extra={"error": error.message})


def _request(path: str, found: AgreementFile) -> _Request:
    text = normal(found.agreement.query)
    return _Request(path, text, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())
