"""Keeps who is logged in to the dashboard: a browser cannot send an access token with an EventSource.

Login exchanges a token for a random value in a cookie, of which this process keeps a digest. A session ends at logout,
`SESSION_MS` after the login, with its token, and with the process: whoever was logged in logs in again.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from runtime.run.bearer_tokens import TokenRecord
from serve.http.access.token_check import CHECKED_EVERY_S

SESSION_MS = 12 * 3_600_000
# A further login of the same token ends its oldest session.
SESSIONS_OF_TOKEN = 20
SECRET_BYTES = 32
COOKIE = "jeeves_session"


@dataclass(eq=False, slots=True)
class PageSession:
    """Holds one login. `form_token`: what every form of its pages carries; `ended`: is set when the session ends."""

    digest: str
    token_id: str
    form_token: str
    expires_ms: int
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class PageSessions:
    """Keeps the sessions of this process, a bounded number for each token."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._by_digest: dict[str, PageSession] = {}
        self._key = secrets.token_bytes(SECRET_BYTES)

    def __len__(self) -> int:
        """Return the number of sessions that are kept."""
        return len(self._by_digest)

    def open(self, token: TokenRecord) -> str:
        """Begin a session of the holder of a token, and return the value of its cookie."""
        self._drop_expired()
        own = [session for session in self._by_digest.values() if session.token_id == token.token_id]
        for session in own[: max(len(own) + 1 - SESSIONS_OF_TOKEN, 0)]:
            self.end(session)
        value = secrets.token_hex(SECRET_BYTES)
        expires_ms = self._now_ms() + SESSION_MS
        if token.expires_ms is not None:
            expires_ms = min(expires_ms, token.expires_ms)
        session = PageSession(_digest(value), token.token_id, secrets.token_hex(SECRET_BYTES), expires_ms)
        self._by_digest[session.digest] = session
        return value

    def find(self, value: str) -> PageSession | None:
        """Return the session of a cookie; None if it has ended or there never was one."""
        session = self._by_digest.get(_digest(value))
        if session is not None and self._now_ms() >= session.expires_ms:
            self.end(session)
            return None
        return session

    def end(self, session: PageSession) -> None:
        """End a session, and what is open of it."""
        self._by_digest.pop(session.digest, None)
        session.ended.set()

    async def until_ended(self, session: PageSession) -> None:
        """Return once a session has ended, at the latest when its time is over."""
        while self._now_ms() < session.expires_ms and not session.ended.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(session.ended.wait(), CHECKED_EVERY_S)
        self.end(session)

    def form_token(self, session: PageSession | None, user_id: str) -> str:
        """Return what the forms of a caller carry: pages of other sites cannot know it."""
        if session is not None:
            return session.form_token
        return hmac.new(self._key, user_id.encode(), hashlib.sha256).hexdigest()

    def _drop_expired(self) -> None:
        now_ms = self._now_ms()
        for session in [each for each in self._by_digest.values() if now_ms >= each.expires_ms]:
            self.end(session)


def cookie_name(host: str) -> str:
    """Return the name of the session's cookie: browsers keep those of all ports of a host together."""
    try:
        port = urlsplit(f"//{host}").port
    except ValueError:
        port = None
    return COOKIE if port is None else f"{COOKIE}_{port}"


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()
