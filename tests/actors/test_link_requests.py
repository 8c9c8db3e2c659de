"""Requests over links: results and errors as of a call, many at once, and links that break."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from actors.links.doors import Door, Listener, connected
from actors.links.link import Link
from actors.links.linked_actor import LinkedActor
from actors.links.requests import RequestClient, RequestServer
from runtime.bus.memory_bus import settle
from runtime.errors import JeevesError, LinkLostError, OverloadedError, OwnedError, UnknownNameError

pytestmark = pytest.mark.timeout(30)


class Remote:
    """What `actor.method` is on a handle: something with `.remote()`."""

    def __init__(self, called: Any) -> None:
        self.remote = called


class Actor:
    """An actor whose methods are called by a link, or as by Ray."""

    def __init__(self, max_under_way: int = 3) -> None:
        self.by_ray: list[str] = []
        self.cancelled: list[int] = []
        self.links: list[Link] = []
        self.gate = asyncio.Event()
        methods: dict[str, Any] = {"echo": self.echo, "fails": self.fails, "bug": self.bug, "waits": self.waits}
        self.server = RequestServer(methods, max_under_way)
        self.listener = Listener("", self._serve)
        self.door = Remote(self._door)

    def _serve(self, link: Link, _hello: object) -> Any:
        self.links.append(link)
        return self.server.serve(link)

    async def _door(self, node: str | None = None) -> tuple[str, Door] | None:
        door = await self.listener.door_for("d", node)
        return None if door is None else ("d", door)

    async def echo(self, *given: Any) -> Any:
        return list(given)

    async def fails(self, name: str) -> None:
        raise OwnedError("somebody else has it", holder=name, until_ms=7)

    async def bug(self) -> None:
        raise ZeroDivisionError("oh")

    async def waits(self, number: int) -> int:
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled.append(number)
            raise
        return number


class Handle:
    """A handle of an actor: calls of methods are noted as calls by Ray."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self.door = actor.door

    def __getattr__(self, name: str) -> Remote:
        async def called(*given: Any) -> Any:
            self._actor.by_ray.append(name)
            return await getattr(self._actor, name)(*given)

        return Remote(called)


@pytest.fixture
async def actor() -> AsyncIterator[Actor]:
    actor = Actor()
    yield actor
    for link in actor.links:
        link.close()
    actor.listener.close()


async def client_of(actor: Actor) -> RequestClient:
    told = await actor.door.remote()
    client = RequestClient()
    client.use(await connected(told[1], told[0], "p", client.take))
    return client


async def test_a_request_returns_what_its_method_returns(actor: Actor) -> None:
    client = await client_of(actor)
    assert await client.ask("echo", [1, "ü", b"\0", None, {"a": [True]}]) == [1, "ü", b"\0", None, {"a": [True]}]
    assert await client.ask("echo", []) == []


async def test_errors_are_of_the_same_class_with_the_same_values(actor: Actor) -> None:
    client = await client_of(actor)
    with pytest.raises(OwnedError, match="somebody else") as caught:
        await client.ask("fails", ["x"])
    assert (caught.value.values["holder"], caught.value.values["until_ms"]) == ("x", 7)
    with pytest.raises(JeevesError, match="ZeroDivisionError: oh"):
        await client.ask("bug", [])
    with pytest.raises(JeevesError, match="TypeError"):
        await client.ask("fails", [1, 2, 3])


@pytest.mark.parametrize("method", ["gate", "__init__", "_serve", "x" * 1_000])
async def test_only_methods_that_are_offered_are_called(actor: Actor, method: str) -> None:
    client = await client_of(actor)
    with pytest.raises(UnknownNameError, match="no request is called"):
        await client.ask(method, [])


async def test_requests_are_answered_out_of_order_and_beyond_the_limit_refused(actor: Actor) -> None:
    client = await client_of(actor)
    slow = [asyncio.ensure_future(client.ask("waits", [number])) for number in range(2)]
    assert await client.ask("echo", ["quick"]) == ["quick"]
    await settle()
    third = asyncio.ensure_future(client.ask("waits", [2]))
    await settle()
    with pytest.raises(OverloadedError, match="3 requests"):
        await client.ask("echo", ["one too many"])
    actor.gate.set()
    assert await asyncio.gather(*slow, third) == [0, 1, 2]


@pytest.mark.parametrize(("cancels", "cancelled"), [(True, [7]), (False, [])])
async def test_a_cancelled_request_ends_in_the_actor_if_it_says_so(
    actor: Actor, cancels: bool, cancelled: list[int]
) -> None:
    client = await client_of(actor)
    other = asyncio.ensure_future(client.ask("waits", [8], cancels=True))
    waiting = asyncio.ensure_future(client.ask("waits", [7], cancels=cancels))
    assert await client.ask("echo", []) == []
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert [await client.ask("echo", [number]) for number in range(3)] == [[0], [1], [2]]
    assert actor.cancelled == cancelled
    actor.gate.set()
    assert await other == 8


async def test_a_link_that_breaks_fails_the_requests_that_wait(actor: Actor) -> None:
    client = await client_of(actor)
    waiting = asyncio.ensure_future(client.ask("waits", [1]))
    assert await client.ask("echo", []) == []
    actor.links[0].close()
    with pytest.raises(LinkLostError):
        await waiting
    assert not client.is_open


async def test_bytes_that_are_no_request_close_the_link(actor: Actor) -> None:
    told = await actor.door.remote()
    link = await connected(told[1], told[0], "p", lambda _: b"")
    with pytest.raises(LinkLostError):
        await link.call([b"\xc1"])


async def until_linked(linked: LinkedActor, actor: Actor) -> None:
    while not actor.links or not (linked._client is not None and linked._client.is_open):  # noqa: ASYNC110
        await asyncio.sleep(0.001)


async def test_calls_go_by_ray_until_the_link_is_open_and_again_when_it_breaks(actor: Actor) -> None:
    linked = LinkedActor(Handle(actor))
    assert await linked.call("echo", 1) == [1]
    assert actor.by_ray == ["echo"]
    await until_linked(linked, actor)
    assert await linked.call("echo", 2) == [2]
    assert actor.by_ray == ["echo"]
    waiting = asyncio.ensure_future(linked.call("waits", 3))
    await linked.call("echo")
    actor.gate.set()
    actor.links[0].close()
    assert await waiting == 3
    assert await linked.call("echo", 4) == [4]
    assert len(actor.by_ray) <= 3


async def test_an_actor_without_a_door_is_called_by_ray_and_asked_for_it_once() -> None:
    asked: list[int] = []

    class Doorless:
        """A handle whose actor opens no links."""

        async def _door(self, _node: str) -> None:
            asked.append(1)

        async def _echo(self) -> str:
            return "here"

        def __init__(self) -> None:
            self.door = Remote(self._door)
            self.echo = Remote(self._echo)

    linked = LinkedActor(Doorless())
    for _ in range(5):
        assert await linked.call("echo") == "here"
        await asyncio.sleep(0)
    assert asked == [1]
