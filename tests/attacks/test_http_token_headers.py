"""Hostile Authorization headers: each is refused in its form, and none reaches a log, an answer or a run."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runtime.primitives.clock import SystemClock
from runtime.store.access_tokens import TOKENS
from runtime.store.opening import open_store
from tests.doors.http_site import MESSAGES, RUNS, Reply, Site, open_site

pytestmark = pytest.mark.long

BODY = json.dumps({"message": "Where?"}).encode()


class Guarded:
    """A site that requires tokens, one of them, and raw requests with any headers."""

    def __init__(self, site: Site, token: str) -> None:
        self.site = site
        self.token = token.encode()

    async def with_headers(self, *lines: bytes, target: bytes = RUNS.encode(), method: bytes = b"GET") -> Reply:
        head = [method + b" " + target + b" HTTP/1.1", f"Host: localhost:{self.site.port}".encode()]
        body = BODY if method == b"POST" else b""
        if body:
            head += [b"Content-Type: application/json", f"Content-Length: {len(body)}".encode()]
        sent = b"\r\n".join([*head, *lines, b"Connection: close"]) + b"\r\n\r\n" + body
        return Reply(await self.site.sends(sent))


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[Guarded]:
    async with open_site(tmp_path, told={"tokens_required": True}) as site:
        stores = open_store(site.store, SystemClock())
        yield Guarded(site, stores.part(TOKENS).create("ann", ("ask", "watch")).text)
        stores.close()


ACCEPTED = [b"Bearer %s", b"bearer %s", b"BEARER %s", b"bEaReR   %s", b"Bearer %s \t "]
REFUSED = [
    b"%s",
    b"Bearer",
    b"Bearer ",
    b"Bearer\t%s",
    b"Bearer %s,",
    b"Bearer %s %s",
    b"Bearer, %s",
    b'Bearer "%s"',
    b"Bearer Bearer %s",
    b"Token %s",
    b"Basic %s",
    b"Bearer %s\xc3\xa9",
    b"\xff\xfe %s",
    b"Bearer \xe2\x80\x8b%s",
    b"Bearer %s" + b"0" * 8_000,
    b"Bearer " + b"x" * 30_000,
    b"Bearer jeeves_" + b"0" * 16 + b"_" + b"0" * 64,
    b"Bearer jeeves_" + b"%%00" * 4 + b"_" + b"0" * 64,
]


@pytest.mark.parametrize("form", ACCEPTED)
async def test_the_scheme_is_read_in_any_case_with_blanks_as_http_has_it(guarded: Guarded, form: bytes) -> None:
    assert (await guarded.with_headers(b"Authorization: " + form % guarded.token)).status == 200


@pytest.mark.parametrize("form", REFUSED, ids=range(len(REFUSED)))
async def test_whatever_else_the_header_holds_is_refused_and_told_nowhere(
    guarded: Guarded, form: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    filled = form.replace(b"%s", guarded.token).replace(b"%%", b"%")
    with caplog.at_level(logging.DEBUG):
        reply = await guarded.with_headers(b"Authorization: " + filled, method=b"POST", target=MESSAGES.encode())
    reply.is_problem(401, "invalid_token")
    secret = guarded.token.rpartition(b"_")[2].decode()
    for told in (reply.body.decode(), repr(reply.headers), caplog.text):
        assert secret not in told
    assert guarded.site.log.runs(10) == []


async def test_two_headers_are_refused_though_both_are_good(guarded: Guarded) -> None:
    line = b"Authorization: Bearer " + guarded.token
    for other in (line, b"authorization: Basic YQ==", b"AUTHORIZATION:"):
        (await guarded.with_headers(line, other)).is_problem(400, "bad_request", "one Authorization header, not 2")
        (await guarded.with_headers(other, line)).is_problem(400, "bad_request", "one Authorization header, not 2")


@pytest.mark.parametrize("name", [b"X-Authorization", b"Proxy-Authorization", b"X-Forwarded-Authorization", b"Cookie"])
async def test_no_other_header_and_no_url_carries_a_token(guarded: Guarded, name: bytes) -> None:
    (await guarded.with_headers(name + b": Bearer " + guarded.token)).is_problem(401, "no_token")
    for query in (b"access_token=", b"token=", b"authorization=Bearer+"):
        target = RUNS.encode() + b"?" + query + guarded.token
        (await guarded.with_headers(target=target)).is_problem(401, "no_token")


async def test_an_underscore_does_not_stand_for_a_dash_nor_a_folded_line_for_one(guarded: Guarded) -> None:
    for lines in ((b"Authorization : Bearer " + guarded.token,), (b"Authorization: Bearer", b" " + guarded.token)):
        reply = await guarded.with_headers(*lines)
        assert reply.status in {400, 401}


async def test_a_body_of_a_hundred_megabytes_without_a_token_is_not_read(guarded: Guarded) -> None:
    """The refusal comes while none of the body was sent."""
    head = f"POST {MESSAGES} HTTP/1.1\r\nHost: localhost:{guarded.site.port}\r\nContent-Type: application/json\r\n"
    for token, status in ((b"", 401), (b"Authorization: Bearer " + guarded.token + b"\r\n", 413)):
        sent = head.encode() + token + b"Content-Length: 100000000\r\n\r\n"
        assert Reply(await guarded.site.sends(sent)).status == status


@pytest.mark.parametrize("body", [b'{"message": "\xff\xfe"}', b'{"message": "\xed\xa0\x80"}', b"\xef\xbb\xbf{}"])
async def test_a_body_that_is_no_utf8_is_refused_after_the_token_was_accepted(guarded: Guarded, body: bytes) -> None:
    token = f"Bearer {guarded.token.decode()}"
    reply = await guarded.site.call("POST", MESSAGES, body, Authorization=token)
    reply.is_problem(400, "bad_request", "no JSON")
    (await guarded.site.call("POST", MESSAGES, body)).is_problem(401, "no_token")


async def test_encoded_paths_and_methods_do_not_go_past_the_check(guarded: Guarded) -> None:
    for method, target in (
        (b"GET", b"/api/v1/%72uns"),
        (b"GET", b"//api/v1/runs"),
        (b"GET", b"/api/v1/runs/"),
        (b"GET", b"/health/../api/v1/runs"),
        (b"GET", b"/health%2f..%2fapi/v1/runs"),
        (b"HEAD", b"/api/v1/runs"),
        (b"get", b"/api/v1/runs"),
        (b"GET", b"http://localhost/api/v1/runs"),
        (b"DELETE", b"/api/v1/runs"),
    ):
        reply = await guarded.with_headers(method=method, target=target)
        assert reply.status in {400, 401, 421}, (method, target, reply.status)
    assert guarded.site.counted == []
