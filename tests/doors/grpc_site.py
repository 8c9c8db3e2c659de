"""The gRPC door over real connections, in this process: what Ray Serve's proxy and replica do between them is here."""

from __future__ import annotations

import pickle
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
from ray.serve.grpc_util import RayServegRPCContext

from runtime.primitives.clock import SystemClock
from runtime.run.bearer_tokens import SCOPES, Scope
from runtime.store.access_tokens import TOKENS, AccessTokens
from runtime.store.opening import open_store
from serve.grpc.door import CALLS, GrpcDoor
from serve.grpc.statuses import DETAILS_KEY
from serve.grpc.v1 import jeeves_pb2, jeeves_pb2_grpc
from tests.doors.http_site import Site, open_site

# Generated code has no types.
STUBS: Any = jeeves_pb2_grpc

MAX_MESSAGE_BYTES = ("grpc.max_receive_message_length", 100_000_000)


class GrpcSite:
    """A door that listens, the HTTP site beside it, and a client with a token of `ann`."""

    def __init__(self, site: Site, tokens: AccessTokens, door: GrpcDoor) -> None:
        self.site, self.tokens, self.door = site, tokens, door
        self.service = site.service
        self.under_way = 0
        self.stub: Any = None
        self.channel: Any = None
        # All before the first call: the door reads the tokens anew a moment later only.
        self.ann, self.bob, self.olga = self.token("ann"), self.token("bob"), self.token("olga", "operate")
        self.of_scope = {scope: self.token(f"only-{scope}", scope) for scope in SCOPES}

    def token(self, name: str, *scopes: Scope) -> list[tuple[str, str]]:
        """The metadata of a call by the holder of a new token."""
        return [("authorization", f"Bearer {self.tokens.create(name, scopes or ('ask', 'watch'), None).text}")]

    def call(self, name: str, request: Any, metadata: Iterable[tuple[str, str]] | None = None) -> Any:
        """A call by ann, or with other metadata."""
        return getattr(self.stub, name)(request, metadata=self.ann if metadata is None else tuple(metadata))

    async def refused(self, call: Any) -> Refusal:
        """How a call fails, with all parts that a stream gave before."""
        parts: list[Any] = []
        try:
            if hasattr(call, "__aiter__"):
                async for part in call:
                    parts.append(part)
            else:
                await call
        except grpc.aio.AioRpcError as error:
            return Refusal(error, parts)
        raise AssertionError("the call did not fail")

    def _unary(self, name: str) -> Callable[[Any, Any], Any]:
        async def answer(request: Any, context: Any) -> Any:
            told: Any = RayServegRPCContext(context)
            self.under_way += 1
            try:
                reply = await self.door.reply(name, pickle.loads(pickle.dumps(request)), told)
            finally:
                self.under_way -= 1
            told._set_on_grpc_context(context)
            return reply

        return answer

    async def _stream(self, request: Any, context: Any) -> AsyncIterator[Any]:
        told: Any = RayServegRPCContext(context)
        self.under_way += 1
        try:
            async for part in self.door.stream(pickle.loads(pickle.dumps(request)), told):
                told._set_on_grpc_context(context)
                yield part
        finally:
            self.under_way -= 1

    @asynccontextmanager
    async def listening(self, server_options: Sequence[tuple[str, int]]) -> AsyncIterator[None]:
        """Answer on a port of loopback."""
        server = grpc.aio.server(options=list(server_options))
        methods: dict[str, Any] = {name: self._unary(name) for name in CALLS} | {"Stream": self._stream}
        STUBS.add_JeevesServicer_to_server(type("Servicer", (), methods_of(methods))(), server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        options = [("grpc.enable_http_proxy", 0), ("grpc.max_metadata_size", 16_384)]
        try:
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=options) as self.channel:
                self.stub = STUBS.JeevesStub(self.channel)
                yield
        finally:
            await server.stop(None)


def methods_of(methods: dict[str, Any]) -> dict[str, Any]:
    """Static methods: a servicer is nobody's self here."""
    return {name: staticmethod(method) for name, method in methods.items()}


class Refusal:
    """The end of a failed call, taken apart."""

    def __init__(self, error: grpc.aio.AioRpcError, parts: list[Any]) -> None:
        self.code, self.details, self.parts = error.code(), error.details(), parts
        self.trailing = dict(error.trailing_metadata() or ())
        status = jeeves_pb2.Status.FromString(self.trailing.get(DETAILS_KEY, b""))
        self.problem = jeeves_pb2.Problem()
        if status.details:
            assert status.details[0].Unpack(self.problem)
            assert (status.code, status.message) == (self.code.value[0], self.details)

    def says(self, code: grpc.StatusCode, problem: str, *words: str) -> Refusal:
        """Checks the status, the code of its problem, and words of its detail."""
        assert (self.code, self.problem.code) == (code, problem), (self.code, self.details, self.problem)
        for word in words:
            assert word in self.problem.detail, self.problem.detail
        return self


@asynccontextmanager
async def open_grpc_site(
    folder: Path, server_options: Sequence[tuple[str, int]] = (MAX_MESSAGE_BYTES,), **told: Any
) -> AsyncIterator[GrpcSite]:
    """A site whose door listens; `told` as `open_site` has it."""
    async with open_site(folder, **told) as site:
        stores = open_store(site.store, SystemClock())
        opened = GrpcSite(site, stores.part(TOKENS), GrpcDoor(site.service, {"sample": site.pipeline}))
        async with opened.listening(server_options):
            yield opened
        stores.close()
