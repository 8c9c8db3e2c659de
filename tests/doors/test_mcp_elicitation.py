"""What a person at a client is asked: a question that does not fit is put to nobody."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from mcp.server.session import ServerSession
from mcp_types import ElicitResult

from serve.mcp.elicitation import MAX_QUESTION_CHARS, asking, confirm


class Agreeable:
    """A client whose person agrees to everything."""

    protocol_version = "2025-11-25"
    client_capabilities = SimpleNamespace(elicitation=object())

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def elicit_form(self, text: str, _schema: Any, _request_id: Any) -> ElicitResult:
        self.asked.append(text)
        return ElicitResult(action="accept", content={"agree": True})


@pytest.mark.parametrize(("more", "agrees"), [(-1, True), (0, True), (1, None)])
async def test_nobody_agrees_to_what_is_too_long_to_be_shown(more: int, agrees: bool | None) -> None:
    client = Agreeable()
    question = "x" * (MAX_QUESTION_CHARS + more)
    with asking(cast(ServerSession, client), 1, None):
        assert await confirm(question) is agrees
    assert client.asked == ([question] if agrees else [])
