"""Bounds the spending of one stage: draws on its grant, then requests more until the run has no more.

Everything is reserved *before* it is spent. Calls of one stage may race: requests are serialised, and after an empty
grant no further request is made, so that a refusal is final and nothing is requested twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from runtime.errors import BudgetExhaustedError
from runtime.run.bounds import Grant

ASKED_TOOL_CALLS = 8
ASKED_LLM_CALLS = 1

RequestGrant = Callable[[Grant], Awaitable[Grant]]


class StageBudget:
    """Tracks the budget of one attempt of a stage."""

    def __init__(self, grant: Grant, more: RequestGrant | None = None) -> None:
        self._llm_calls = grant.llm_calls
        self._tool_calls = grant.tool_calls
        self._tokens = grant.tokens
        self._more = more
        self._asking = asyncio.Lock()
        self._is_refused = {"llm_calls": False, "tool_calls": False}
        self._tokens_reserved = 0
        self.llm_calls = 0
        self.tool_calls = 0
        self.tokens_in = 0
        self.tokens_out = 0
        self.cost_micro = 0

    async def take_tool_call(self) -> bool:
        """Reserve one tool call; return False when the run has none left."""
        async with self._asking:
            if self.tool_calls >= self._tool_calls and not self._is_refused["tool_calls"]:
                given = (await self._request_more(Grant(tool_calls=ASKED_TOOL_CALLS))).tool_calls
                self._tool_calls += given
                self._is_refused["tool_calls"] = given == 0
            if self.tool_calls >= self._tool_calls:
                return False
            self.tool_calls += 1
            return True

    async def take_llm_call(self, tokens: int) -> None:
        """Reserve one model call of at most `tokens`. Raises BudgetExhaustedError that names the bound."""
        async with self._asking:
            if self.llm_calls >= self._llm_calls and not self._is_refused["llm_calls"]:
                given = (await self._request_more(Grant(llm_calls=ASKED_LLM_CALLS))).llm_calls
                self._llm_calls += given
                self._is_refused["llm_calls"] = given == 0
            if self.llm_calls >= self._llm_calls:
                raise BudgetExhaustedError(f"{self.llm_calls} model calls made, none is left", bound="llm_calls")
            await self._take_tokens(tokens)
            self._tokens_reserved += tokens
            self.llm_calls += 1

    async def _take_tokens(self, tokens: int) -> None:
        if self._tokens is None:
            return
        spent = self.tokens_in + self.tokens_out + self._tokens_reserved
        if spent + tokens > self._tokens:
            self._tokens += (await self._request_more(Grant(tokens=spent + tokens - self._tokens))).tokens or 0
        if spent + tokens > self._tokens:
            raise BudgetExhaustedError(f"{spent} tokens spent, {tokens} more would be too many", bound="tokens")

    def book_tokens(self, reserved: int, tokens_in: int, tokens_out: int, cost_micro: int = 0) -> None:
        """Record the tokens that a model call used of those reserved for it, and its cost; the rest is free again."""
        self._tokens_reserved -= reserved
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out
        self.cost_micro += cost_micro

    def book_replayed(self, tokens_in: int, tokens_out: int, cost_micro: int = 0) -> None:
        """Record the tokens and the cost of a call that an earlier attempt made and could not report.

        The call itself was booked with that attempt's grant, and so were its tokens where they are bounded.
        """
        self.cost_micro += cost_micro
        if self._tokens is None:
            self.tokens_in += tokens_in
            self.tokens_out += tokens_out

    async def _request_more(self, asked: Grant) -> Grant:
        return Grant(tokens=0) if self._more is None else await self._more(asked)
