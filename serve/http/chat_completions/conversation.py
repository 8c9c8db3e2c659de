"""Derives the session of a conversation that a stateless client sends whole with each question.

The id follows from the caller, the repository and the user's messages so far, so that the turns before a question are
found by the messages before it; docs/decisions/031-conversations-of-chat-clients.md tells why. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.memory.owned_sessions import TURNS_COPIED, Turn
from runtime.primitives.hashing import content_hash
from serve.http.answering.session_views import Conversation
from serve.http.chat_completions.completion_request import ChatMessagePart

NAME_CHARS = 24
TURN_CHARS = 600


def conversation_of(messages: Sequence[ChatMessagePart], user_id: str, repo: str, now_ms: int) -> Conversation:
    """Return the conversation that ends with a question of the user."""
    ids: list[str] = []
    digest = content_hash(f"chat\n{user_id}\n{repo}".encode("utf-8", "surrogatepass"))
    for message in messages:
        if message.role == "user":
            # The digest has a fixed length, so that no two conversations are written alike.
            digest = content_hash(f"{digest}{message.text.strip()}".encode("utf-8", "surrogatepass"))
            ids.append(digest)
    earlier = ids[-2] if len(ids) > 1 else None
    name = f"chat-{ids[0][:NAME_CHARS]}"
    return Conversation(name, _session(ids[-1]), earlier and _session(earlier), _turns(messages, repo, now_ms))


def _session(digest: str) -> str:
    return f"chat-{digest}"


def _turns(messages: Sequence[ChatMessagePart], repo: str, now_ms: int) -> list[Turn]:
    """Return the newest turns before the last question: each message of the user with the answer that follows it."""
    turns: list[Turn] = []
    for message in messages[:-1]:
        if message.role == "user":
            turns.append(Turn(message.text[:TURN_CHARS], "", now_ms, repo))
        elif message.role == "assistant" and turns and not turns[-1].answer:
            turns[-1] = Turn(turns[-1].question, message.text[:TURN_CHARS], now_ms, repo)
    return turns[-TURNS_COPIED:]
