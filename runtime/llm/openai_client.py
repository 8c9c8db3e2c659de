"""Calls OpenAI-compatible endpoints over aiohttp (extra `llm`).

A form of answer that an endpoint refuses is not asked of it again: a schema falls back to JSON mode, and that to none.

Answers are always streamed, so that a hang is noticed between two pieces and cancelling closes the connection, which
makes model servers drop the request. Nothing is retried here: the class of an error shows whether a retry would help.
"""

from __future__ import annotations

import logging
import math
import re
import ssl
from collections.abc import AsyncGenerator
from contextlib import suppress
from datetime import UTC
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime.errors import (
    ModelBusyError,
    ModelDownError,
    ModelFailedError,
    ModelRefusedError,
    SettingsError,
)
from runtime.llm.messages import ModelRequest, Piece
from runtime.llm.openai_answer import MAX_CHARS_PER_TOKEN, OpenAIAnswer
from runtime.llm.structured import STRUCTURED_OUTPUTS, StructuredOutput, strict_schema
from runtime.llm.tokens import TokenCounter
from runtime.primitives.clock import Clock, SystemClock, wait_at_most

if TYPE_CHECKING:
    import aiohttp

    from runtime.llm.providers.openai import OpenAIDeployment

log = logging.getLogger(__name__)

# Statuses and words of an endpoint that cannot hold answers to the form that it was asked for.
_REFUSED_FORM = frozenset({400, 404, 415, 422, 501})
_ABOUT_FORM = re.compile(r"response_format|json_schema|json_object|json mode|schema|structured|guided|grammar", re.I)
BUSY = frozenset({429, 503, 529})
MAX_ERROR_BYTES = 4_000
MAX_TOLD_CHARS = 150
# Bytes that an answer that is not streamed may have around its text.
MAX_FRAME_BYTES = 100_000
# How long a server may take to end the response after the last event; then the connection is dropped.
END_GRACE_S = 0.1
# Advice after a refusal, by status. `{key}` is where the key comes from.
_LOOK_AT = {
    301: "name the address that it leads to in base_url",
    302: "name the address that it leads to in base_url",
    307: "name the address that it leads to in base_url",
    308: "name the address that it leads to in base_url",
    401: "look at the key in {key}",
    403: "look at the key in {key}",
    404: "look at base_url and model in the model file",
}


class OpenAIBackend:
    """Calls one model at one endpoint. Connections are pooled; the pool opens with the first request."""

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
        # What the endpoint takes, as far as is known; it is asked for less after a refusal.
        self._structured: StructuredOutput = deployment.structured_output

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        while True:
            form = self._structured
            try:
                async for piece in self._stream(request, form):
                    yield piece
                return
            except ModelRefusedError as error:
                lower = _next_form(form) if request.schema is not None and error.values.get("is_of_form") else None
                if lower is None:
                    raise
                log.warning("model.form_refused", extra={"form": form, "instead": lower, "reason": error.message})
                self._structured = lower

    async def _stream(self, request: ModelRequest, form: StructuredOutput) -> AsyncGenerator[Piece, None]:
        aiohttp = _aiohttp()
        given = self._deployment
        answer = OpenAIAnswer(request, self.counter, given.model, self._url, given.max_model_len)
        try:
            async with self._opened().post(
                self._url, json=self._body(request, form), allow_redirects=False
            ) as response:
                if response.status != 200:
                    raise await self._refusal(response)
                if "event-stream" not in response.headers.get("content-type", ""):
                    most = MAX_CHARS_PER_TOKEN * request.sampling.max_tokens + MAX_FRAME_BYTES
                    yield answer.whole(await _read(response, most))
                    return
                async for line in response.content:
                    for delta in answer.take(line):
                        yield delta
                    if answer.is_over:
                        break
                done = answer.completion()
                await self._end_of(response)
                yield done
        except (aiohttp.InvalidURL, aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise self._out_of_reach(error) from error
        except aiohttp.SocketTimeoutError as error:
            raise answer.broke_off(f"fell silent for {given.silence_timeout_s:g} s") from error
        except TimeoutError as error:
            raise answer.broke_off(f"has not come to an end within {given.total_timeout_s:g} s") from error
        except (aiohttp.ClientError, ValueError) as error:
            raise answer.broke_off(f"broke off: {type(error).__name__}: {error}") from error

    async def check(self) -> None:
        """Raise ModelDownError unless the endpoint answers with a status below 500, ModelRefusedError for our key."""
        aiohttp = _aiohttp()
        url = self._deployment.base_url.rstrip("/") + "/models"
        try:
            async with self._opened().get(url, allow_redirects=False) as response:
                if response.status >= 500:
                    raise ModelDownError(f"{url} answered {response.status}", status=response.status)
                if response.status in (401, 403) and self._key is not None:
                    raise ModelRefusedError(f"{url} answered {response.status}; {self._advice(response.status)}")
        except (aiohttp.InvalidURL, aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise self._out_of_reach(error) from error
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
            try:
                trusted = True if given.ca_file is None else trusting(given.ca_file)
            except SettingsError as error:
                # The front end has checked the file, but it is missing here: another machine, or deleted since.
                raise ModelDownError(f"{given.base_url} is not asked: {error.message}", permanent=True) from error
            timeout = aiohttp.ClientTimeout(
                total=given.total_timeout_s,
                sock_connect=given.connect_timeout_s,
                sock_read=given.silence_timeout_s,
            )
            headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
            connector = aiohttp.TCPConnector(limit=given.concurrent, ssl=trusted)
            self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, headers=headers)
        return self._session

    def _body(self, request: ModelRequest, form: StructuredOutput) -> dict[str, Any]:
        given = self._deployment
        body: dict[str, Any] = {
            "model": given.model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            given.max_tokens_key: request.sampling.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.sampling.temperature is not None:
            body["temperature"] = request.sampling.temperature
        if request.sampling.seed is not None:
            body["seed"] = request.sampling.seed
        if request.schema is not None and form in ("json_schema", "bounded_json_schema"):
            schema = request.schema if form == "bounded_json_schema" else strict_schema(request.schema)
            named = {"name": "answer", "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif request.schema is not None and form == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    async def _end_of(self, response: aiohttp.ClientResponse) -> None:
        """Wait briefly for the end of a response after its last event: until then its connection is not reused."""
        # The answer is complete: without its end, only the connection is lost.
        with suppress(TimeoutError, _aiohttp().ClientError):
            await wait_at_most(self._clock, END_GRACE_S, _read(response, MAX_FRAME_BYTES))

    async def _refusal(self, response: aiohttp.ClientResponse) -> ModelFailedError:
        text = (await _read(response, MAX_ERROR_BYTES)).decode("utf-8", "replace")
        told = f"{self._url} answered {response.status}: {' '.join(text.split())[:MAX_TOLD_CHARS]}"
        after_s = self._retry_after_s(response.headers.get("retry-after"))
        if response.status in BUSY:
            return ModelBusyError(told, retry_after_s=after_s)
        if response.status == 408 or response.status >= 500:
            return ModelDownError(told, status=response.status, retry_after_s=after_s)
        if response.status in _LOOK_AT:
            told = f"{told}; {self._advice(response.status)}"
        is_of_form = response.status in _REFUSED_FORM and _ABOUT_FORM.search(text) is not None
        return ModelRefusedError(told, status=response.status, is_of_form=is_of_form)

    def _advice(self, status: int) -> str:
        key = self._deployment.api_key_env or self._deployment.api_key_file or "api_key_env (none is set)"
        return _LOOK_AT[status].format(key=key)

    def _out_of_reach(self, error: Exception) -> ModelDownError:
        """Return the error for a request that was not sent: bad address, no connection, untrusted certificate."""
        aiohttp = _aiohttp()
        base = self._deployment.base_url
        if isinstance(error, aiohttp.InvalidURL):
            return ModelDownError(f"{base} is no address that can be asked; correct base_url", permanent=True)
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            why = getattr(error.certificate_error, "verify_message", None) or error.certificate_error
            return ModelDownError(
                f"the certificate of {base} is not trusted ({why}); name its authority's file in ca_file, or correct "
                "base_url",
                permanent=True,
            )
        in_time = " in time" if isinstance(error, aiohttp.ConnectionTimeoutError) else ""
        return ModelDownError(
            f"{self._url} cannot be reached{in_time}: {error}; start what serves there, or correct base_url"
        )

    def _retry_after_s(self, header: str | None) -> float | None:
        """Parse a Retry-After header, seconds or a date, into seconds from now."""
        if header is None:
            return None
        try:
            seconds = float(header)
            return max(0.0, seconds) if math.isfinite(seconds) else None
        except ValueError:
            pass  # not a number, so parse it as a date
        try:
            told = parsedate_to_datetime(header)
            # HTTP dates are in GMT; the oldest of the three formats does not state it.
            at = told if told.tzinfo is not None else told.replace(tzinfo=UTC)
            return max(0.0, at.timestamp() - self._clock.now_ms() / 1000)
        except (ValueError, TypeError, OverflowError):
            return None


def _next_form(form: StructuredOutput) -> StructuredOutput | None:
    """Return what to ask an endpoint for that refuses a form; None after the last."""
    behind = STRUCTURED_OUTPUTS[STRUCTURED_OUTPUTS.index(form) + 1 :]
    return behind[0] if behind else None


def trusting(ca_file: str) -> ssl.SSLContext:
    """Return an SSL context that trusts the authorities in this file. Raises SettingsError."""
    try:
        return ssl.create_default_context(cafile=Path(ca_file).expanduser())
    except (OSError, ValueError) as error:
        raise SettingsError(f"ca_file {ca_file} cannot be read as certificates (PEM): {error}") from error


async def _read(response: aiohttp.ClientResponse, most: int) -> bytes:
    """Read the body, up to `most` bytes, in however many pieces it comes."""
    parts = bytearray()
    while len(parts) < most and (part := await response.content.read(most - len(parts))):
        parts += part
    return bytes(parts)


def _aiohttp() -> Any:
    """Import aiohttp, with the first request only: the rest of Jeeves does not need it."""
    try:
        import aiohttp
    except ImportError as error:
        raise SettingsError("an OpenAI-compatible endpoint needs the extra 'llm': pip install 'jeeves[llm]'") from error
    return aiohttp
