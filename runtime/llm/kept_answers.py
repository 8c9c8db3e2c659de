"""Answers of models, kept in the journal: who is issued again after its agent died does not pay for them twice.

An answer is kept under its visit, the number of the call in it and a hash of what was asked, whichever attempt asked;
another request under the same number is another call. A stage that is retried because it failed asks anew: the same
answers would make it fail again. Only whole answers are kept, for as long as the run has a journal.

This saves money and is no promise: a journal that cannot be reached right now has no answer, and takes none.
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

# How long a call of a model may be held up by a journal that does not answer, once before and once after it.
PATIENCE_S = 5.0

_DECODER = msgspec.msgpack.Decoder(Completion)


class KeptAnswers:
    """The answers that one visit of a stage was given. `retries`: how often it was tried again after a failure."""

    def __init__(self, journal: AsyncJournal, key: StageKey, retries: int) -> None:
        self._journal = journal
        self._key = key
        self._retries = retries

    def key_of(self, call: int, role: str, request: ModelRequest) -> EffectKey:
        """Names the call number `call` (from 1) of a visit; neither its attempt nor its user is part of that."""
        asked = ("model", self._retries, role, request.messages, request.sampling, request.schema)
        return effect_key(self._key, call, msgspec.json.encode(asked, order="deterministic"))

    async def find(self, key: EffectKey) -> Completion | None:
        """The answer that an earlier attempt was given; None when there is none, or nobody can tell."""
        try:
            record = await self._journal.find(key)
            return None if record is None or record.result is None else _DECODER.decode(record.result)
        except (JeevesError, msgspec.MsgspecError) as error:
            log.warning("answer.not_looked_up", extra={"run_id": key.run_id, "hop": key.hop, "reason": str(error)})
            return None

    async def keep(self, key: EffectKey, completion: Completion) -> None:
        """Keep an answer for later attempts, if the journal takes it."""
        try:
            await self._journal.done(key, msgspec.msgpack.encode(completion))
        except JeevesError as error:
            log.warning("answer.not_kept", extra={"run_id": key.run_id, "hop": key.hop, "reason": error.message})
