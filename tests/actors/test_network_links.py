"""Links between machines: who may use which door, what is open when, and peers that cannot be trusted."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator

import msgspec
import pytest

from actors.links import doors
from actors.links.doors import Door, Listener, connected
from actors.links.encryption import SERVER_NAME, connecting_context, listening_context
from actors.links.link import SILENT_PEER_GONE_AFTER_S, Link, OnFrames
from runtime.bus.link_messages import Hello, encode_hello
from runtime.errors import LinkLostError

pytestmark = pytest.mark.timeout(30)


def nothing(_frames: list[bytes]) -> bytes:
    return b""


class End:
    """A listener on machine `here` that admits everyone who knows the secret."""

    def __init__(self) -> None:
        self.links: list[Link] = []
        self.listener = Listener("here", self._admit, hello_timeout_s=1)

    def _admit(self, link: Link, _hello: Hello) -> OnFrames:
        self.links.append(link)
        return nothing

    async def door(self, address: str = "a", node: str | None = "there") -> Door:
        door = await self.listener.door_for(address, node)
        assert door is not None
        return door


@pytest.fixture
async def end() -> AsyncIterator[End]:
    end = End()
    yield end
    for link in end.links:
        link.close()
    end.listener.close()


async def test_only_peers_of_other_machines_get_a_port_and_none_is_open_before(end: End) -> None:
    for node in (None, "here"):
        near = await end.door(node=node)
        assert (bool(near.path), near.port, near.is_for("here"), near.is_for("there")) == (True, 0, True, False)
    assert end.listener._network is None
    far = await end.door()
    assert (far.path, far.port > 0, far.is_for("there")) == ("", True, True)
    assert far.certificate
    assert (await end.door("b")).port == far.port


async def test_where_no_port_can_be_opened_there_is_no_door_for_other_machines() -> None:
    listener = Listener("here", lambda *_: nothing, host="192.0.2.1")  # an address that no machine has
    assert await listener.door_for("a", "there") is None
    assert await listener.door_for("a", "here") is not None
    listener.close()


async def test_whoever_has_another_certificate_is_not_spoken_to(end: End) -> None:
    door = await end.door()
    _, of_another = listening_context()
    with pytest.raises(ssl.SSLCertVerificationError):
        await connected(msgspec.structs.replace(door, certificate=of_another), "a", "p", nothing)
    with pytest.raises(LinkLostError):
        await connected(msgspec.structs.replace(door, secret=bytes(32)), "a", "p", nothing)
    assert end.links == []


async def test_nothing_is_sent_or_taken_in_clear(end: End) -> None:
    door = await end.door()
    reader, writer = await asyncio.open_connection(door.host, door.port)
    writer.write(encode_hello(Hello("a", "p", door.secret)))
    assert b"jeeves" not in await reader.read()
    writer.close()
    assert end.links == []


async def test_a_connection_uses_the_newest_protocol_and_ends_with_a_silent_machine(end: End) -> None:
    link = await connected(await end.door(), "a", "p", nothing)
    assert link._transport is not None
    assert link._transport.get_extra_info("ssl_object").version() == "TLSv1.3"
    for opened in (link, end.links[0]):
        assert opened._transport is not None
        connection = opened._transport.get_extra_info("socket")
        assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == SILENT_PEER_GONE_AFTER_S * 1000
    link.close()


@pytest.mark.parametrize(("beyond", "is_served"), [(-1, True), (0, False), (1, False)])
async def test_only_so_many_strangers_may_knock_at_once(
    end: End, monkeypatch: pytest.MonkeyPatch, beyond: int, is_served: bool
) -> None:
    monkeypatch.setattr(doors, "MAX_STRANGERS", 3)
    door = await end.door()
    context = connecting_context(door.certificate)
    held = [
        await asyncio.open_connection(door.host, door.port, ssl=context, server_hostname=SERVER_NAME)
        for _ in range(3 + beyond)
    ]
    try:
        link = await connected(door, "a", "p", nothing)
    except (LinkLostError, OSError, TimeoutError):
        assert not is_served
    else:
        assert is_served
        link.close()
    for _, writer in held:
        writer.close()
    while any(not link.closed.is_set() for link in end.listener._strangers if link not in end.links):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    (await connected(door, "a", "p", nothing)).close()
