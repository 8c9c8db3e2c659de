"""Stores earlier answers and file summaries persistently (L4) in the cache, which may drop them.

The newest MAX_ANSWERS answers are kept per repository and found again by the words of their question. Before using one,
check that the lines it cites are unchanged: their hashes are kept for that. Summaries of files are kept by the hash of
the file's content, so that a changed file has none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from runtime.bus.queries import QueryHandler
from runtime.database.store_part import StorePart
from runtime.memory import cache
from runtime.memory.cache import CacheStore
from runtime.primitives.clock import Clock

MAX_ANSWERS = 200
MAX_SUMMARIES_AT_ONCE = 100
RECALLED = 3
MIN_SIMILARITY = 0.6


class CitedLines(msgspec.Struct, frozen=True):
    """Identifies lines of a file (inclusive) with the SHA-256 of their text."""

    file: str
    start_line: int
    end_line: int
    sha256: str


class EarlierAnswer(msgspec.Struct, frozen=True):
    """Holds an answered question; `terms` are its words for the look-up, `cited` the lines that the answer rests on.

    `session_id`: the session that it was asked in, which is not given back with it.
    """

    question: str
    terms: tuple[str, ...]
    answer: str
    cited: tuple[CitedLines, ...]
    at_ms: int = 0
    session_id: str = ""


def lines_sha256(lines: Sequence[str]) -> str:
    """Return the SHA-256 of the text of some lines."""
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def similarity(left: Iterable[str], right: Iterable[str]) -> float:
    """Return the share of the words of two questions that both have, 0 to 1; 0 if neither has any."""
    first, second = set(left), set(right)
    return len(first & second) / len(first | second) if first | second else 0.0


class MemoryStore:
    """Keeps earlier answers by repository and similarity, and summaries by content hash."""

    def __init__(self, cache: CacheStore, clock: Clock) -> None:
        self._cache = cache
        self._clock = clock

    def recall(self, repo: str, terms: Sequence[str], limit: int = RECALLED) -> list[EarlierAnswer]:
        """Return answers to questions of at least MIN_SIMILARITY, the most similar first, then the newest."""
        scored = [(similarity(terms, known.terms), known) for known in self._answers(repo)]
        near = [(score, known) for score, known in scored if score >= MIN_SIMILARITY]
        near.sort(key=lambda pair: (-pair[0], -pair[1].at_ms))
        return [msgspec.structs.replace(known, session_id="") for _, known in near[:limit]]

    def keep_answer(self, repo: str, answer: EarlierAnswer) -> None:
        """Keep an answer, replacing an older one to the same question.

        If two processes keep answers at the same time, one may be lost: this is a cache.
        """
        stamped = msgspec.structs.replace(answer, at_ms=self._clock.now_ms())
        others = [known for known in self._answers(repo) if known.question != answer.question]
        self._put(_answers_key(repo), [*others, stamped][-MAX_ANSWERS:])

    def forget(self, repos: Sequence[str], session_ids: Sequence[str]) -> int:
        """Delete the answers about repositories that were asked for in these sessions; return their number."""
        forgotten = 0
        for repo in repos:
            known = self._answers(repo)
            kept = [answer for answer in known if answer.session_id not in session_ids]
            if len(kept) < len(known):
                self._put(_answers_key(repo), kept)
                forgotten += len(known) - len(kept)
        return forgotten

    def summaries(self, hashes: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return the summaries of files by the hash of their content; unknown ones are left out."""
        found = {}
        for content_sha256 in hashes[:MAX_SUMMARIES_AT_ONCE]:
            cached = self._cache.get(f"understanding:{content_sha256}", self._clock.now_ms())
            summary = None if cached is None else _decoded(cached.value, dict[str, Any])
            if summary is not None:
                found[content_sha256] = summary
        return found

    def keep_summaries(self, summaries: Mapping[str, Mapping[str, Any]]) -> None:
        """Keep summaries of files by the hash of their content; existing ones stay."""
        known = self.summaries(list(summaries))
        fresh = [item for item in summaries.items() if item[0] not in known]
        for content_sha256, summary in fresh[:MAX_SUMMARIES_AT_ONCE]:
            self._put(f"understanding:{content_sha256}", dict(summary))

    def _answers(self, repo: str) -> list[EarlierAnswer]:
        cached = self._cache.get(_answers_key(repo), self._clock.now_ms())
        return [] if cached is None else _decoded(cached.value, list[EarlierAnswer]) or []

    def _put(self, key: str, value: object) -> None:
        self._cache.put(key, msgspec.msgpack.encode(value), self._clock.now_ms())


def memory_queries(store: MemoryStore) -> dict[str, QueryHandler]:
    """Return the handlers of the queries that agents send; see `MEMORY_QUERIES` for their names."""

    async def recall(body: dict[str, Any]) -> dict[str, Any]:
        return {"answers": msgspec.to_builtins(store.recall(body["repo"], body["terms"]))}

    async def keep_answer(body: dict[str, Any]) -> dict[str, Any]:
        store.keep_answer(body["repo"], msgspec.convert(body["answer"], EarlierAnswer))
        return {}

    async def summaries(body: dict[str, Any]) -> dict[str, Any]:
        return {"summaries": store.summaries(body["hashes"])}

    async def keep_summaries(body: dict[str, Any]) -> dict[str, Any]:
        store.keep_summaries(body["summaries"])
        return {}

    async def forget(body: dict[str, Any]) -> dict[str, Any]:
        return {"answers": store.forget(body["repos"], body["session_ids"])}

    handlers = (recall, keep_answer, summaries, keep_summaries, forget)
    return dict(zip(MEMORY_QUERIES, handlers, strict=True))


MEMORY_QUERIES = (
    "memory.recall",
    "memory.keep_answer",
    "memory.summaries",
    "memory.keep_summaries",
    "memory.forget_answers",
)


# It lives in the cache, which forgets it with everything else that is there.
EARLIER_ANSWERS = StorePart(
    name="earlier_answers",
    label=cache.CACHE.label,
    shares=cache.CACHE.name,
    schema=cache.SCHEMA,
    open=lambda database, clock: MemoryStore(CacheStore(database), clock),
    queries=MEMORY_QUERIES,
    handlers=memory_queries,
    is_disposable=True,
    cost_of_loss="earlier answers and summaries are made again",
)


def _answers_key(repo: str) -> str:
    return f"answers:{repo}"


def _decoded(value: bytes, shape: Any) -> Any:
    """Return the value, or None if it was written in another shape by an older version."""
    try:
        return msgspec.msgpack.decode(value, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
