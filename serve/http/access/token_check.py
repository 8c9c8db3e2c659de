"""Identifies callers by their access token, and looks again as long as a request takes.

The door keeps a copy of the tokens of the store that is at most `MAX_AGE_S` old, so that a revocation is in force as
fast, and most requests read nothing. All ways to a refusal take the same steps: a look into the copy and a comparison
of two digests.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from starlette.types import Scope as AsgiScope

from runtime.errors import StateStorageError
from runtime.primitives.clock import Clock, SystemClock
from runtime.run.bearer_tokens import TokenRecord, read_token
from runtime.store.access_tokens import TOKENS, AccessTokens, TokenTable
from runtime.store.opening import open_store
from runtime.store.options import StoreOptions
from serve.http.documents.problems import RefusedError

MAX_AGE_S = 0.1
CHECKED_EVERY_S = 0.5
REALM = 'Bearer realm="jeeves"'

log = logging.getLogger(__name__)

_BEARER = re.compile(rb"bearer +(\S+)", re.IGNORECASE)
_NOTHING = TokenTable(-1, {})


class Held(NamedTuple):
    """Holds the tokens of the store as of `read_s` on the monotonic clock."""

    table: TokenTable
    read_s: float


class TokenCopy:
    """Keeps a fresh copy of the tokens. `opened` opens their part of the store; it is called in a thread."""

    def __init__(self, opened: Callable[[], AccessTokens], monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._opened = opened
        self._monotonic_s = monotonic_s
        self._store: AccessTokens | None = None
        self._held = Held(_NOTHING, float("-inf"))
        self._reading = asyncio.Lock()

    async def fresh(self) -> dict[str, TokenRecord]:
        """Return the tokens by id, at most `MAX_AGE_S` old. Raises StateStorageError: no older copy is used."""
        if not self._is_fresh():
            async with self._reading:
                if not self._is_fresh():
                    began_s = self._monotonic_s()
                    self._held = Held(await asyncio.to_thread(self._read), began_s)
        return self._held.table.tokens

    def _is_fresh(self) -> bool:
        return self._monotonic_s() - self._held.read_s < MAX_AGE_S

    def close(self) -> None:
        """Close the part of the store, if it was opened."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _read(self) -> TokenTable:
        known = None if self._held.table is _NOTHING else self._held.table
        if self._store is not None and not self._store.is_current():
            # A copy was put back: revisions of another file say nothing about this one.
            log.warning("http.tokens_replaced")
            self.close()
            known = None
        if self._store is None:
            self._store, known = self._opened(), None
        return self._store.table(known)


class TokenCheck:
    """Finds the token of a request. `are_required`: a request without one is refused."""

    def __init__(self, copy: TokenCopy, clock: Clock, are_required: bool) -> None:
        self._copy = copy
        self._clock = clock
        self.are_required = are_required

    async def token_of(self, scope: AsgiScope) -> TokenRecord | None:
        """Return the token that a request presents; None if it presents none and needs none.

        Raises RefusedError: 401 for a token that is not accepted, or none where one is required; 400 for two of them;
        503 while the tokens cannot be read.
        """
        return await self.told([value for name, value in scope["headers"] if name == b"authorization"])

    async def told(self, told: Sequence[bytes]) -> TokenRecord | None:
        """Return the token that the values of Authorization present; raises as `token_of`."""
        if not told:
            if self.are_required:
                raise _refused(401, "no_token", "send an access token as `Authorization: Bearer TOKEN`", REALM)
            return None
        if len(told) > 1:
            raise _refused(400, "bad_request", f"send one Authorization header, not {len(told)}", _error("request"))
        bearer = _BEARER.fullmatch(told[0].strip(b" \t"))
        return await self.presented(b"" if bearer is None else bearer[1])

    async def presented(self, text: bytes) -> TokenRecord:
        """Return the token that is presented. Raises RefusedError: 401 if it is not accepted, 503 as `token_of`."""
        presented = read_token(text)
        if presented is None:
            optional = "" if self.are_required else "; none is needed here"
            raise _invalid(f"this is no access token of this service: they are sent as `Bearer jeeves_…`{optional}")
        record = (await self._fresh()).get(presented.token_id)
        if not presented.proves(record) or record is None:
            raise _invalid("this service does not know the access token")
        self._check_valid(record)
        return record

    async def known(self, token_id: str) -> TokenRecord:
        """Return a token whose holder proved it before. Raises RefusedError: 401 if it has ended, 503 as `token_of`."""
        record = (await self._fresh()).get(token_id)
        if record is None:
            raise _invalid("this service does not know the access token any more")
        self._check_valid(record)
        return record

    async def until_invalid(self, token: TokenRecord) -> None:
        """Return once a token is revoked or expired. A store that cannot be read ends nothing that was admitted."""
        while True:
            await asyncio.sleep(CHECKED_EVERY_S)
            try:
                record = (await self._copy.fresh()).get(token.token_id)
            except StateStorageError:
                # What was admitted goes on until the store answers again.
                continue
            if record is None or record.state(self._clock.now_ms()) != "valid":
                return

    async def _fresh(self) -> dict[str, TokenRecord]:
        try:
            return await self._copy.fresh()
        except StateStorageError as error:
            log.warning("http.tokens_unreadable", extra={"reason": error.message})
            detail = "the access tokens cannot be read now; try again, the log of the service has the reason"
            raise RefusedError(503, "tokens_unavailable", detail, {"retry-after": "5"}) from error

    def _check_valid(self, record: TokenRecord) -> None:
        state = record.state(self._clock.now_ms())
        if state != "valid":
            raise _invalid(f"access token {record.token_id} of '{record.name}' is {state}; ask for a new one")


def token_check(store: StoreOptions, are_required: bool) -> TokenCheck:
    """Return the check of the tokens in a store, which it opens with the first token that is presented."""
    clock = SystemClock()
    return TokenCheck(TokenCopy(lambda: open_store(store, clock).part(TOKENS)), clock, are_required)


def ended_token(token: TokenRecord) -> RefusedError:
    """Return the refusal of a request whose token ended while it was answered."""
    return _invalid(f"access token {token.token_id} of '{token.name}' is no longer accepted")


def _error(what: str) -> str:
    return f'{REALM}, error="invalid_{what}"'


def _invalid(detail: str) -> RefusedError:
    return _refused(401, "invalid_token", detail, _error("token"))


def _refused(status: int, code: str, detail: str, challenge: str) -> RefusedError:
    # The rest of the request is not read: its body may be on its way.
    return RefusedError(status, code, detail, {"www-authenticate": challenge, "connection": "close"})
