"""Defines the body of a chat completion, and refuses what cannot be done for it.

The fields are those of OpenAI's API. Those that steer a language model are accepted and have no effect: answers follow
from the code that was found. Those that ask for another kind of answer are refused.

Annotations are evaluated by pydantic at run time (no `from __future__`).
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from serve.http.documents.run_documents import RequestBody

MAX_MESSAGES = 1_000
NO_EFFECT = "Accepted, without effect."


def _is_none_of(*allowed: Any) -> Callable[[Any], bool]:
    return lambda given: any(given == each and type(given) is type(each) for each in allowed)


# Field → whether a value asks for nothing, and why any other is refused.
_UNSUPPORTED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "tools": (_is_none_of([]), "the service calls its own tools, and none of the caller's"),
    "functions": (_is_none_of([]), "the service calls its own tools, and none of the caller's"),
    "tool_choice": (_is_none_of("none", "auto"), "the service calls its own tools, and none of the caller's"),
    "function_call": (_is_none_of("none", "auto"), "the service calls its own tools, and none of the caller's"),
    "n": (_is_none_of(1), "a question has one answer"),
    "logprobs": (_is_none_of(False), "an answer has no probabilities of tokens"),
    "top_logprobs": (_is_none_of(0), "an answer has no probabilities of tokens"),
    "response_format": (
        _is_none_of({"type": "text"}),
        "an answer is text; POST /api/v1/chat/messages gives a document",
    ),
    "modalities": (_is_none_of(["text"]), "an answer is text"),
    "audio": (_is_none_of(), "an answer is text"),
    "prediction": (_is_none_of(), "an answer cannot be predicted"),
    "web_search_options": (_is_none_of(), "only the registered repositories are searched"),
    "moderation": (_is_none_of(), "nothing is moderated"),
}


class TextPart(RequestBody):
    """Carries a text of a message."""

    type: Literal["text"]
    text: str


class RefusalPart(RequestBody):
    """Carries the refusal of an earlier answer."""

    type: Literal["refusal"]
    refusal: str


Part = Annotated[TextPart | RefusalPart, Field(discriminator="type")]


class ChatMessagePart(BaseModel):
    """Carries one message of a conversation; further fields of answers that are sent back are ignored."""

    model_config = ConfigDict(extra="ignore", strict=True)

    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        """The texts of the message."""
        if isinstance(self.content, list):
            return "\n".join(part.text if isinstance(part, TextPart) else part.refusal for part in self.content)
        return self.content or ""


class StreamOptions(RequestBody):
    """Carries options of a stream."""

    include_usage: bool = Field(default=False, description="End with the usage.")
    include_obfuscation: bool = Field(default=False, description=NO_EFFECT)


class CompletionRequest(RequestBody):
    """Carries a chat completion: the last message of the user is the question, earlier ones its session."""

    model: str = Field(max_length=500, description="A model of GET /v1/models: a capability and a repository.")
    messages: list[ChatMessagePart] = Field(min_length=1, max_length=MAX_MESSAGES)
    stream: bool | None = Field(default=None, description="Answer with chunks, as server-sent events.")
    stream_options: StreamOptions | None = None

    frequency_penalty: float | int | None = Field(default=None, description=NO_EFFECT)
    logit_bias: dict[str, Any] | None = Field(default=None, description=NO_EFFECT)
    max_completion_tokens: int | None = Field(default=None, description=NO_EFFECT)
    max_tokens: int | None = Field(default=None, description=NO_EFFECT)
    metadata: dict[str, Any] | None = Field(default=None, description=NO_EFFECT)
    parallel_tool_calls: bool | None = Field(default=None, description=NO_EFFECT)
    presence_penalty: float | int | None = Field(default=None, description=NO_EFFECT)
    prompt_cache_key: str | None = Field(default=None, description=NO_EFFECT)
    prompt_cache_options: dict[str, Any] | None = Field(default=None, description=NO_EFFECT)
    prompt_cache_retention: str | None = Field(default=None, description=NO_EFFECT)
    reasoning_effort: str | None = Field(default=None, description=NO_EFFECT)
    safety_identifier: str | None = Field(default=None, description=NO_EFFECT)
    seed: int | None = Field(default=None, description=NO_EFFECT)
    service_tier: str | None = Field(default=None, description=NO_EFFECT)
    stop: str | list[str] | None = Field(default=None, description=NO_EFFECT)
    store: bool | None = Field(default=None, description=NO_EFFECT)
    temperature: float | int | None = Field(default=None, description=NO_EFFECT)
    top_p: float | int | None = Field(default=None, description=NO_EFFECT)
    user: str | None = Field(default=None, description=NO_EFFECT)
    verbosity: str | None = Field(default=None, description=NO_EFFECT)

    @model_validator(mode="before")
    @classmethod
    def _without_unsupported(cls, given: Any) -> Any:
        """Raise ValueError for a field that asks for what is not there; drop those that ask for nothing."""
        if not isinstance(given, dict):
            return given
        for name, (asks_nothing, why) in _UNSUPPORTED.items():
            value = given.get(name)
            if value is not None and not asks_nothing(value):
                raise ValueError(f"{name} is not supported: {why}; leave it out")
        return {name: value for name, value in given.items() if name not in _UNSUPPORTED}

    @model_validator(mode="after")
    def _ends_with_a_question(self) -> "CompletionRequest":
        if self.messages[-1].role != "user":
            raise ValueError(f"messages end with one of {self.messages[-1].role}; the last is the user's question")
        if not self.question.strip():
            raise ValueError("the last message is empty; send a question")
        return self

    @property
    def question(self) -> str:
        """The last message of the user."""
        return self.messages[-1].text

    @property
    def has_usage(self) -> bool:
        """True if a stream ends with the usage."""
        return self.stream_options is not None and self.stream_options.include_usage
