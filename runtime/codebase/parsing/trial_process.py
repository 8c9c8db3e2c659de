"""Tries texts in a process of its own before the process that must not end parses them.

What a parser takes at the end of a text cannot be stopped, and may be more memory than there is (`parse_limit`). An
index is made in processes that may end; a server that judges what somebody has just written is none of these.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from runtime.codebase.language_registry import languages, load_grammar
from runtime.codebase.parsing.parse_limit import MAX_PARSE_S, PARSE_LIMIT, ParseLimit, SlowSourceError
from runtime.errors import ProcessCallError, ProcessDiedError, ProcessMemoryError, ProcessTimeoutError
from runtime.processes.worker_pool import WorkerPool

if TYPE_CHECKING:
    from tree_sitter import Language

MEMORY_BYTES = 1_000_000_000
# The limit is of processor time, of which a busy machine gives little.
TIMEOUT_S = 6 * MAX_PARSE_S
NO_MEMORY = f"a parser takes more than {MEMORY_BYTES // 1_000_000} MB of memory, or ends: read as text"
_LATE = f"a parser takes more than {TIMEOUT_S:g} s: read as text"
_TRY = f"{__name__}:try_text"


def try_text(_note: object, language: str, source: bytes) -> str | None:
    """Parse a text of a language, and return why it is not to be parsed; it may end the process."""
    try:
        ParseLimit().parse_once(load_grammar(language), source)
    except SlowSourceError as error:
        return str(error)
    return None


class TrialProcess:
    """Tries texts in a process with little memory, which is kept for the next ones; serves several threads."""

    def __init__(self, memory_bytes: int = MEMORY_BYTES, timeout_s: float = TIMEOUT_S) -> None:
        """Start none yet."""
        self._pool = WorkerPool(size=2, kept=1, memory_bytes=memory_bytes)
        self._timeout_s = timeout_s

    def why_not(self, grammar: Language, source: bytes) -> str | None:
        """Return why a text is not to be parsed in this process; None if it may be."""
        given: dict[str, Any] = {"language": _name_of(grammar), "source": source}
        try:
            why: str | None = self._pool.call_blocking(_TRY, given, timeout_s=self._timeout_s)
        except (ProcessDiedError, ProcessMemoryError):
            return NO_MEMORY
        except ProcessTimeoutError:
            return _LATE
        except ProcessCallError:
            # The grammar is incompatible, for one: parsing fails here as it does there.
            return None
        return why

    def close(self) -> None:
        """End the process that was kept."""
        self._pool.close()


def _name_of(grammar: Language) -> str:
    with_grammars = (name for name, language in languages().items() if language.grammar is not None)
    return next(name for name in with_grammars if load_grammar(name) is grammar)


@functools.cache
def guard_parsing() -> None:
    """Have this process try all larger texts in another one before it parses them; the second call does nothing."""
    PARSE_LIMIT.try_first(TrialProcess().why_not)
