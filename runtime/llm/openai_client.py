"""The backend for any OpenAI-compatible endpoint, over aiohttp (extra `llm`), the only module that uses it.

Answers are always streamed, so that a hang is noticed between two pieces and calling off closes the connection, which
makes model servers drop the request. Nothing is retried here: errors say whether that would help.
"""

from __future__ import annotations

import json
import math
import ssl
from collections.abc import AsyncGenerator
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from runtime.clock import Clock, SystemClock
from runtime.errors import (
    ModelBrokeOffError,
    ModelBusyError,
    ModelDownError,
    ModelFailedError,
    ModelRefusedError,
    SettingsError,
)
from runtime.llm.messages import Completion, FinishReason, ModelRequest, Piece, TextDelta
from runtime.llm.model_file import OpenAIDeployment
from runtime.llm.tokens import TokenCounter, count_messages

if TYPE_CHECKING:
    import aiohttp

BUSY = frozenset({429, 503, 529})
MAX_ERROR_BYTES = 4_000
MAX_TOLD_CHARS = 300
# No tokenizer makes tokens longer than this on average: an endpoint that sends more does not heed max_tokens.
MAX_CHARS_PER_TOKEN = 64
_FINISH: dict[str, FinishReason] = {"stop": "stop", "length": "length"}


class OpenAIBackend:
    """One model at one endpoint. Connections are pooled; the pool opens with the first request."""

    def __init__(
        self, deployment: OpenAIDeployment, counter: TokenCounter, key: str | None = None, clock: Clock | None = None
    ) -> None:
        self.max_model_len = deployment.max_model_len
        self.counter = counter
        self._deployment = deployment
        self._url = deployment.base_url.rstrip("/") + "/chat/completions"
        self._key = key
        self._clock = clock or SystemClock()
        self._session: aiohttp.ClientSession | None = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        aiohttp = _aiohttp()
        answer = _Answer(request, self.counter, self._deployment.model)
        try:
            async with self._opened().post(self._url, json=self._body(request), allow_redirects=False) as response:
                if response.status != 200:
                    raise await self._refusal(response)
                if "event-stream" not in response.headers.get("content-type", ""):
                    data = await response.content.read(MAX_CHARS_PER_TOKEN * request.sampling.max_tokens + 100_000)
                    yield answer.whole(data)
                    return
                async for line in response.content:
                    for delta in answer.take(line):
                        yield delta
                    if answer.is_over:
                        break
                yield answer.completion()
        except aiohttp.ClientConnectorCertificateError as error:
            raise ModelDownError(
                f"{self._url}: its certificate is not trusted ({error.certificate_error}); name the authority's file "
                "in ca_file",
                permanent=True,
            ) from error
        except aiohttp.ClientConnectorError as error:
            raise ModelDownError(f"{self._url} cannot be reached: {error}") from error
        except TimeoutError as error:
            if isinstance(error, aiohttp.ConnectionTimeoutError):
                raise ModelDownError(f"{self._url} cannot be reached in time: {error}") from error
            raise answer.broke_off(f"{self._url} fell silent: {error}") from error
        except (aiohttp.ClientError, ValueError) as error:
            raise answer.broke_off(f"{self._url} broke off: {type(error).__name__}: {error}") from error

    async def check(self) -> None:
        """Raises ModelDownError unless the endpoint answers, whatever it says, with no error of its own."""
        aiohttp = _aiohttp()
        url = self._deployment.base_url.rstrip("/") + "/models"
        try:
            async with self._opened().get(url, allow_redirects=False) as response:
                if response.status >= 500:
                    raise ModelDownError(f"{url} answered {response.status}", status=response.status)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise ModelDownError(f"{url} cannot be reached: {type(error).__name__}: {error}") from error

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            aiohttp = _aiohttp()
            given = self._deployment
            trusted: ssl.SSLContext | bool = True
            if given.ca_file is not None:
                try:
                    trusted = ssl.create_default_context(cafile=given.ca_file)
                except OSError as error:
                    raise SettingsError(f"ca_file {given.ca_file} cannot be read: {error}") from error
            timeout = aiohttp.ClientTimeout(
                total=given.total_timeout_s,
                sock_connect=given.connect_timeout_s,
                sock_read=given.silence_timeout_s,
            )
            headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
            connector = aiohttp.TCPConnector(limit=given.concurrent, ssl=trusted)
            self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, headers=headers)
        return self._session

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        given = self._deployment
        body: dict[str, Any] = {
            "model": given.model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            "temperature": request.sampling.temperature,
            given.max_tokens_key: request.sampling.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.sampling.seed is not None:
            body["seed"] = request.sampling.seed
        if request.schema is not None and given.structured_output == "json_schema":
            form = {"name": "answer", "schema": request.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        elif request.schema is not None and given.structured_output == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    async def _refusal(self, response: aiohttp.ClientResponse) -> ModelFailedError:
        text = (await response.content.read(MAX_ERROR_BYTES)).decode("utf-8", "replace")
        told = f"{self._url} answered {response.status}: {' '.join(text.split())[:MAX_TOLD_CHARS]}"
        if response.status in BUSY:
            return ModelBusyError(told, retry_after_s=self._retry_after_s(response.headers.get("retry-after")))
        if response.status in (401, 403):
            where = self._deployment.api_key_env or self._deployment.api_key_file or "api_key_env (none is set)"
            return ModelRefusedError(f"{told}; look at the key in {where}", status=response.status)
        if response.status == 408 or response.status >= 500:
            return ModelDownError(told, status=response.status)
        return ModelRefusedError(told, status=response.status)

    def _retry_after_s(self, header: str | None) -> float | None:
        """Seconds until a server wants to be asked again; it may say so in seconds or as a date."""
        if header is None:
            return None
        try:
            seconds = float(header)
            return max(0.0, seconds) if math.isfinite(seconds) else None
        except ValueError:
            pass  # it is no number, so it is read as a date
        try:
            return max(0.0, parsedate_to_datetime(header).timestamp() - self._clock.now_ms() / 1000)
        except (ValueError, TypeError, OverflowError):
            return None


class _Answer:
    """An answer as it comes in, from one stream."""

    def __init__(self, request: ModelRequest, counter: TokenCounter, model: str) -> None:
        self._request = request
        self._counter = counter
        self._model = model
        self._parts: list[str] = []
        self._room = MAX_CHARS_PER_TOKEN * request.sampling.max_tokens
        self._finish: FinishReason | None = None
        self._usage: dict[str, Any] = {}
        self.is_over = False

    def take(self, line: bytes) -> list[TextDelta]:
        """What one line of an event stream adds. Raises ModelBrokeOffError for a line that is none of the protocol."""
        text = line.decode("utf-8", "replace").strip()
        if not text.startswith("data:"):
            return []
        data = text.removeprefix("data:").strip()
        if data == "[DONE]":
            self.is_over = True
            return []
        event = self._read(data)
        if isinstance(event.get("error"), dict):
            raise self.broke_off(f"the server gave up: {event['error'].get('message')}")
        self._note_usage(event)
        deltas = []
        for choice in self._choices(event):
            content = _content(choice.get("delta"))
            if content:
                deltas.append(TextDelta(self._add(content)))
            self._note_finish(choice)
        return deltas

    def whole(self, data: bytes) -> Completion:
        """The completion in an answer that was not streamed though that was asked for."""
        event = self._read(data.decode("utf-8", "replace"))
        self._note_usage(event)
        for choice in self._choices(event):
            self._add(_content(choice.get("message")))
            self._note_finish(choice)
        return self.completion()

    def completion(self) -> Completion:
        """What came, if it came to its end. Raises ModelBrokeOffError."""
        if self._finish is None:
            raise self.broke_off("the stream ended before the answer did")
        text = "".join(self._parts)
        details = self._usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        return Completion(
            text=text,
            finish_reason=self._finish,
            tokens_in=_count(self._usage.get("prompt_tokens"), self._tokens_in()),
            tokens_out=_count(self._usage.get("completion_tokens"), self._counter.count(text)),
            tokens_cached=_count(cached, 0),
            model=self._model,
        )

    def broke_off(self, why: str) -> ModelBrokeOffError:
        """The error for an answer that is cut off: the prompt counts as spent, and what was written."""
        tokens_out = self._counter.count("".join(self._parts))
        return ModelBrokeOffError(why, tokens_in=self._tokens_in(), tokens_out=tokens_out)

    def _tokens_in(self) -> int:
        return count_messages(self._counter, self._request.messages)

    def _add(self, content: str) -> str:
        self._room -= len(content)
        if self._room < 0:
            raise self.broke_off(f"the answer goes on beyond {self._request.sampling.max_tokens} tokens")
        self._parts.append(content)
        return content

    def _read(self, data: str) -> dict[str, Any]:
        try:
            event = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self.broke_off(f"what came is no JSON: {data[:80]!r}") from error
        if not isinstance(event, dict):
            raise self.broke_off(f"what came is a {type(event).__name__}, not an object: {data[:80]!r}")
        return event

    def _choices(self, event: dict[str, Any]) -> list[dict[str, Any]]:
        choices = event.get("choices")
        return [item for item in choices[:1] if isinstance(item, dict)] if isinstance(choices, list) else []

    def _note_usage(self, event: dict[str, Any]) -> None:
        if isinstance(event.get("usage"), dict):
            self._usage = event["usage"]

    def _note_finish(self, choice: dict[str, Any]) -> None:
        if isinstance(reason := choice.get("finish_reason"), str):
            self._finish = _FINISH.get(reason, "other")


def _content(part: Any) -> str:
    content = part.get("content") if isinstance(part, dict) else None
    return content if isinstance(content, str) else ""


def _count(given: Any, otherwise: int) -> int:
    return given if isinstance(given, int) and not isinstance(given, bool) and given >= 0 else otherwise


def _aiohttp() -> Any:
    """The library, imported with the first request: the rest of Jeeves does without."""
    try:
        import aiohttp
    except ImportError as error:
        raise SettingsError("an OpenAI-compatible endpoint needs the extra 'llm': pip install 'jeeves[llm]'") from error
    return aiohttp
