"""`jeeves mcp --http`: who is let in, what is refused, and that nothing is left when it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from runtime.errors import InputError, SettingsError
from serve.mcp.transports.http import MAX_BODY_BYTES, MIN_TOKEN_CHARS, HttpAddress, bearer_token, http_address
from tests.doors.mcp_site import HttpServerProcess, text_of
from tests.doors.program import Program
from tests.doors.sample_repo import FILES, write_files
from tests.doors.test_mcp_stdio import nested

TOKEN = "0123456789abcdef-token"
PING: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServerProcess]:
    """A server that asks for a token."""
    folder = tmp_path_factory.mktemp("mcp-http")
    (folder / "token").write_text(f"{TOKEN}\n")
    jeeves = Program(folder / "state", JEEVES_RAY__MODE="in_process")
    running = HttpServerProcess(jeeves, write_files(folder / "repo", FILES), "--token-file", str(folder / "token"))
    try:
        yield running
    finally:
        assert running.close() == 128 + signal.SIGTERM


def post(server: HttpServerProcess, body: Any = PING, **headers: str) -> httpx.Response:
    given = {**ACCEPT, "authorization": f"Bearer {TOKEN}", **{name.replace("_", "-"): v for name, v in headers.items()}}
    if isinstance(body, bytes):
        return httpx.post(server.url, content=body, headers={"content-type": "application/json", **given}, timeout=30)
    return httpx.post(server.url, json=body, headers=given, timeout=30)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_with_the_token_is_served_in_either_protocol(server: HttpServerProcess, mode: Any) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    from mcp.shared._httpx_utils import create_mcp_http_client

    async with (
        create_mcp_http_client(headers=headers) as http,
        Client(streamable_http_client(server.url, http_client=http), mode=mode) as client,
    ):
        assert len((await client.list_tools()).tools) >= 12
        result = await client.call_tool("find_definitions", {"name": "PostOffice"})
        assert "post/office.py" in text_of(result)


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN]
)
def test_a_caller_without_the_token_is_refused(server: HttpServerProcess, authorization: str) -> None:
    refused = post(server, authorization=authorization)
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Bearer")
    assert TOKEN not in refused.text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "127.0.0.1@evil"])
def test_a_request_for_another_host_is_refused(server: HttpServerProcess, host: str) -> None:
    assert post(server, host=host).status_code in {400, 421}


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "http://localhost.evil"])
def test_a_page_of_another_site_is_refused(server: HttpServerProcess, origin: str) -> None:
    assert post(server, origin=origin).status_code == 403


def test_a_body_of_fifty_megabytes_is_refused_and_the_server_lives_on(server: HttpServerProcess) -> None:
    try:
        status = post(server, b"x" * 50_000_000).status_code
    except httpx.TransportError:
        status = 413  # the server hung up while the rest was on its way
    assert status == 413
    assert post(server, b"x" * (MAX_BODY_BYTES + 1)).status_code == 413
    assert post(server, b"{}").status_code == 400


@pytest.mark.parametrize("body", [b"[]", b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', b'{"jsonrpc": "2.0"}'])
def test_a_body_that_is_no_single_message_is_told_so_in_words_for_a_client(
    server: HttpServerProcess, body: bytes
) -> None:
    told = post(server, body).json()["error"]["message"]
    assert told == "this body is not a JSON-RPC 2.0 message; send one message for each request, no list of them"


@pytest.mark.parametrize("body", [b"", b"garbage", b"[]", b"null", b"[" * 100_000, b"\xff\xfe", b'{"jsonrpc": "2.0"}'])
def test_what_is_no_message_is_refused(server: HttpServerProcess, body: bytes) -> None:
    assert 400 <= post(server, body).status_code < 500


@pytest.mark.parametrize("version", [{}, {"mcp_protocol_version": "2026-07-28"}])
@pytest.mark.parametrize(("levels", "status"), [(1_001, 400), (100_000, 400), (MAX_BODY_BYTES, 413)])
def test_a_body_that_is_nested_too_deep_is_refused_under_its_own_id(
    server: HttpServerProcess, version: dict[str, str], levels: int, status: int
) -> None:
    refused = post(server, nested(levels, id_first=False), **version)
    assert refused.status_code == status
    if status == 400:
        assert refused.json()["id"] == 9
    assert post(server).status_code < 500


def test_another_path_and_another_method_are_refused(server: HttpServerProcess) -> None:
    headers = {**ACCEPT, "authorization": f"Bearer {TOKEN}"}
    assert httpx.get(server.url.replace("/mcp", "/admin"), headers=headers).status_code == 404
    assert httpx.put(server.url, headers=headers).status_code == 405
    assert httpx.get(server.url, headers=headers).status_code in {400, 404, 405}


def test_an_unknown_session_is_refused(server: HttpServerProcess) -> None:
    assert post(server, mcp_session_id="forged").status_code == 404


async def test_a_client_that_hangs_up_leaves_the_server_answering(server: HttpServerProcess) -> None:
    host, port = server.url.removeprefix("http://").removesuffix("/mcp").split(":")
    for head in (
        b"POST /mcp HTTP/1.1\r\n",
        b"GET /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
        b"\x16\x03\x01\x00garbage",
    ):
        for _ in range(50):
            with socket.create_connection((host, int(port))) as connection:
                connection.sendall(head)
    assert (await asyncio.to_thread(post, server)).status_code == 400


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8701", ("127.0.0.1", 8701)),
        ("8701", ("127.0.0.1", 8701)),
        (":8701", ("127.0.0.1", 8701)),
        ("[::1]:0", ("::1", 0)),
        ("localhost:65535", ("localhost", 65535)),
    ],
)
def test_addresses_are_read(text: str, address: tuple[str, int]) -> None:
    assert http_address(text) == address


@pytest.mark.parametrize("text", ["", "localhost", "localhost:", "localhost:65536", "x:-1", "http://x:1", "x:١"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is no HOST:PORT"):
        http_address(text)


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)],
)
def test_loopback_alone_needs_no_token(host: str, is_loopback: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JEEVES_MCP_TOKEN", raising=False)
    address = HttpAddress(host, 8701)
    assert address.is_loopback is is_loopback
    if is_loopback:
        assert bearer_token(address, None) is None
    else:
        with pytest.raises(SettingsError, match="--token-file"):
            bearer_token(address, None)


@pytest.mark.parametrize("length", [MIN_TOKEN_CHARS - 1, MIN_TOKEN_CHARS, MIN_TOKEN_CHARS + 1])
def test_a_token_has_at_least_sixteen_characters(length: int, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("x" * length + "\n")
    if length < MIN_TOKEN_CHARS:
        with pytest.raises(SettingsError, match="use at least 16"):
            bearer_token(HttpAddress("127.0.0.1", 1), tmp_path / "token")
    else:
        assert bearer_token(HttpAddress("127.0.0.1", 1), tmp_path / "token") == "x" * length


@pytest.mark.parametrize("content", ["", "\n", "a token with blanks in it", "x" * 20 + "\x00", "ü" * 20])
def test_a_file_without_a_usable_token_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(content)
    with pytest.raises(SettingsError):
        bearer_token(HttpAddress("127.0.0.1", 1), tmp_path / "token")


def test_a_token_file_that_cannot_be_read_is_told_as_a_fault_of_the_call(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff" * 20)
    for name, why in (("gone", "No such file"), ("bytes", "no text in UTF-8"), (".", "no regular file")):
        with pytest.raises(SettingsError, match=why) as caught:
            bearer_token(HttpAddress("127.0.0.1", 1), tmp_path / name)
        assert caught.value.exit_status == 2
        assert "--token-file" in caught.value.message
        assert "Errno" not in caught.value.message


def test_the_token_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JEEVES_MCP_TOKEN", TOKEN)
    assert bearer_token(HttpAddress("0.0.0.0", 1), None) == TOKEN


@pytest.mark.long
def test_an_open_address_without_a_token_and_a_port_that_is_taken_are_refused(jeeves: Program, repo: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name == "PYTHONPATH"}
    jeeves.run("mcp", "--repo", repo, "--http", "0.0.0.0:0", env=environment).complains(2, "--token-file")
    jeeves.run("mcp", "--repo", repo, "--token-file", "x").complains(2, "--http")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        jeeves.run("mcp", "--repo", repo, "--http", f"127.0.0.1:{port}").complains(1, "is taken")
