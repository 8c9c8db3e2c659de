"""Keeps model answers in the journal, so that reissued attempts do not pay for them again.

The key of an answer is its visit, the number of the call in it and a hash of the request, but not the attempt; another
request under the same number is another call. A stage that is retried after a failure calls the model again: the same
answers would make it fail again. Only whole answers are kept, for as long as the run has a journal.

This saves money on a best-effort basis: while the journal cannot be reached, answers are neither found nor kept.
"""

from __future__ import annotations

import logging

import msgspec

from runtime.effects.journal import EffectKey, effect_key
from runtime.effects.stage_effects import AsyncJournal
from runtime.errors import JeevesError
from runtime.llm.messages import Completion, ModelRequest
from runtime.primitives.ids import StageKey

log = logging.getLogger(__name__)

# How long a journal that does not answer may delay a model call, once before and once after it.
PATIENCE_S = 5.0

_DECODER = msgspec.msgpack.Decoder(Completion)


class KeptAnswers:
    """Keeps the answers of one visit of a stage. `retries`: how often the stage was retried after a failure."""

    def __init__(self, journal: AsyncJournal, key: StageKey, retries: int) -> None:
        self._journal = journal
        self._key = key
        self._retries = retries

    def key_of(self, call: int, role: str, request: ModelRequest) -> EffectKey:
        """Return the key of call number `call` (from 1) of the visit; it depends on neither attempt nor user."""
        asked = ("model", self._retries, role, request.messages, request.sampling, request.schema)
        return effect_key(self._key, call, msgspec.json.encode(asked, order="deterministic"))

    async def find(self, key: EffectKey) -> Completion | None:
        """Return the answer that an earlier attempt got; None if there is none or the journal cannot be read."""
        try:
            record = await self._journal.find(key)
            return None if record is None or record.result is None else _DECODER.decode(record.result)
        except (JeevesError, msgspec.MsgspecError) as error:
            log.warning("answer.not_looked_up", extra={"run_id": key.run_id, "hop": key.hop, "reason": str(error)})
            return None

    async def keep(self, key: EffectKey, completion: Completion) -> None:
        """Keep an answer for later attempts; log a warning if the journal cannot take it."""
        try:
            await self._journal.done(key, msgspec.msgpack.encode(completion))
        except JeevesError as error:
            log.warning("answer.not_kept", extra={"run_id": key.run_id, "hop": key.hop, "reason": error.message})
