"""Requests from other sites' pages, under foreign names, of shapes that servers and proxies read differently."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.doors.http_site import MESSAGES, RUNS, Reply, Site, open_site

pytestmark = pytest.mark.long


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened
        assert (await opened.call("GET", "/health")).status == 200


LINE = f"POST {MESSAGES} HTTP/1.1\r\n"
HOST = "Host: localhost\r\nConnection: close\r\n"
JSON = "Content-Type: application/json\r\n"


OURS = ["localhost", "LOCALHOST", "localhost.", "127.0.0.1", "[::1]", "localhost:8700", "[::1]:9"]
FOREIGN = [
    *(
        "evil.example",
        "evil.example:8700",
        "localhost.evil.example",
        "localhost@evil.example",
        "evil.example@localhost",
    ),
    *("127.0.0.1.evil.example", "127.0.0.2", "0.0.0.0", "[::]", "localhost:x", "localhost/", "local\thost", "[::1"),
    *("localhost,evil.example", "localhost evil.example", "\xff", "0x7f000001", "2130706433"),
]


async def test_the_loopback_names_are_hosts_of_the_service(site: Site) -> None:
    for host in OURS:
        assert (await site.call("GET", "/ready", Host=host)).status == 200, host


async def test_a_foreign_host_is_refused_at_every_path(site: Site) -> None:
    for path in ("/health", "/ready", "/metrics", "/openapi.json", "/nowhere", "/api/v1/runs"):
        for host in FOREIGN:
            (await site.call("GET", path, Host=host)).is_problem(421, "foreign_host", "http.allowed_hosts")


async def test_a_host_of_the_settings_is_one_of_the_service(tmp_path: Path) -> None:
    async with open_site(tmp_path, told={"hosts": ("Jeeves.example",)}) as site:
        assert (await site.call("GET", "/ready", Host="jeeves.example:8700")).status == 200
        (await site.call("GET", "/ready", Host="other.example")).is_problem(421, "foreign_host", "jeeves.example")


@pytest.mark.parametrize(
    "hosts", ["", "Host: localhost\r\nHost: evil.example\r\n", "Host: localhost\r\nHost: localhost\r\n"]
)
@pytest.mark.parametrize("version", ["1.0", "1.1"])
async def test_a_request_has_one_host(site: Site, hosts: str, version: str) -> None:
    reply = Reply(await site.sends(f"GET /ready HTTP/{version}\r\nConnection: close\r\n{hosts}\r\n".encode()))
    reply.is_problem(400, "bad_host")


@pytest.mark.parametrize(
    ("target", "status"),
    [
        *(("http://evil.example/health", 421), ("http://localhost/health", 200), ("HTTP://LOCALHOST:1/health", 200)),
        *(("http://localhost@evil.example/health", 421), ("http:///health", 421), ("http://localhost", 404)),
    ],
)
async def test_the_host_of_an_absolute_target_counts(site: Site, target: str, status: int) -> None:
    assert Reply(await site.sends(f"GET {target} HTTP/1.1\r\n{HOST}\r\n".encode())).status == status


ORIGINS = [
    *("http://evil.example", "null", "", "https://localhost.evil.example", "http://localhost:1", "http://localhost"),
    *("file://", "http://127.0.0.1:8700", "chrome-extension://abc"),
]


async def test_the_page_of_another_origin_may_not_ask(site: Site) -> None:
    body = json.dumps({"message": "Where?"})
    for origin in ORIGINS:
        head = f"{LINE}Host: localhost:8700\r\nConnection: close\r\nOrigin: {origin}\r\n{JSON}"
        reply = Reply(await site.sends(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()))
        reply.is_problem(403, "foreign_origin")
        assert "access-control-allow-origin" not in reply.headers
    assert site.log.runs(10) == []


async def test_a_page_of_the_service_itself_may_ask(site: Site) -> None:
    reply = await site.call("GET", "/ready", Host="localhost:8700", Origin="http://localhost:8700")
    assert reply.status == 200
    assert "access-control-allow-origin" not in reply.headers


async def test_a_preflight_of_another_origin_is_refused(site: Site) -> None:
    headers = {"Origin": "http://evil.example", "Access_Control_Request_Method": "POST"}
    (await site.call("OPTIONS", MESSAGES, **headers)).is_problem(403, "foreign_origin")


async def test_a_body_that_a_foreign_form_could_send_is_refused(site: Site) -> None:
    for kind in ("text/plain", "", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp"):
        reply = await site.call("POST", MESSAGES, {"message": "x"}, Content_Type=kind)
        reply.is_problem(415, "unsupported_media_type")


SHAPES = {
    "two lengths": (f"{LINE}{HOST}{JSON}Content-Length: 4\r\nContent-Length: 5\r\n\r\n{{}}  ", 400),
    "the same length twice": (f"{LINE}{HOST}{JSON}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{{}}", 400),
    "length and chunks": (f"{LINE}{HOST}{JSON}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n", 400),
    "chunks and length": (f"{LINE}{HOST}{JSON}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "a signed length": (f"{LINE}{HOST}{JSON}Content-Length: +5\r\n\r\n{{}}   ", 400),
    "a length of many digits": (f"{LINE}{HOST}{JSON}Content-Length: {'9' * 30}\r\n\r\n{{}}", 400),
    "a large length": (f"{LINE}{HOST}{JSON}Content-Length: 9223372036854775807\r\n\r\n{{}}", 413),
    "chunks": (f"{LINE}{HOST}{JSON}Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n", 411),
    "chunks of no size": (f"{LINE}{HOST}{JSON}Transfer-Encoding: chunked\r\n\r\nZZ\r\n", 400),
    "chunks of endless size": (f"{LINE}{HOST}{JSON}Transfer-Encoding: chunked\r\n\r\n{'F' * 20}\r\n", 400),
    "an unknown encoding": (f"{LINE}{HOST}{JSON}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400),
    "a hidden encoding": (f"{LINE}{HOST}{JSON}Transfer-Encoding : chunked\r\nContent-Length: 2\r\n\r\n{{}}", 400),
    "a GET with a body": (f"GET /health HTTP/1.1\r\n{HOST}{JSON}Content-Length: 2\r\n\r\n{{}}", 400),
    "a folded header": (f"GET /health HTTP/1.1\r\n{HOST}X: a\r\n b\r\n\r\n", 400),
    "a NUL in a header": (f"GET /health HTTP/1.1\r\n{HOST}X: a\0b\r\n\r\n", 400),
    "bare line feeds": ("GET /health HTTP/1.1\nHost: localhost\n\n", 400),
    "a name in Latin-1": (f"GET /health HTTP/1.1\r\n{HOST}\xff: x\r\n\r\n", 400),
    "a tunnel": (f"CONNECT evil.example:80 HTTP/1.1\r\n{HOST}\r\n", 400),
    "all of the server": (f"OPTIONS * HTTP/1.1\r\n{HOST}\r\n", 400),
    "an unknown method": (f"BREW /health HTTP/1.1\r\n{HOST}\r\n", 400),
    "HTTP/2": ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "HTTP/0.9": ("GET /health\r\n\r\n", 400),
    "TLS": ("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
}


async def test_a_request_that_could_be_read_in_two_ways_is_refused(site: Site) -> None:
    for name, (data, status) in SHAPES.items():
        reply = Reply(await site.sends(data.encode("latin-1")))
        assert (reply.status, reply.headers["content-type"]) == (status, "application/problem+json"), name
    assert site.log.runs(10) == []


async def test_requests_in_a_row_are_answered_in_their_order(site: Site) -> None:
    one = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    other = b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answer = await site.sends(one * 3 + other)
    assert [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]] == [200, 200, 200, 404]


async def test_a_request_after_a_refused_one_is_not_read(site: Site) -> None:
    hidden = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head = f"{LINE}Host: localhost\r\n{JSON}Content-Length: 2000000\r\n\r\n"
    answer = await site.sends(head.encode() + hidden)
    assert answer.count(b"HTTP/1.1 ") == 1
    Reply(answer).is_problem(413, "body_too_large")


BODIES = [
    *(b"", b"{", b"[]", b"null", b"1", b'"x"', b"\xff\xfe", b'{"message": "\xff"}', b"{}{}", b"\xef\xbb\xbf{}"),
    *(b'{"message": NaN}', b'{"message": Infinity}', b'{"message":"a","message":"b"}', b'{"limits":{"a":1,"a":2}}'),
    *(b"[" * 100_000, b'{"message":' + b"[" * 100 + b"]" * 100 + b"}", b'{"deadline_s":' + b"9" * 5_000 + b"}"),
    *('{"message":"x"}'.encode("utf-16"), b'{"message":"\\ud800"}', b'{"message":"x","deadline_s":1e999}'),
    b'{"message":"x","limits":{"max_agent_hops":99999999999999999999}}',
]


async def test_a_body_that_is_no_plain_json_is_refused(site: Site) -> None:
    for body in BODIES:
        reply = await site.call("POST", MESSAGES, body)
        assert reply.status in {400, 422}, body[:40]
        assert reply.headers["content-type"] == "application/problem+json"
    assert site.log.runs(10) == []


WRONG: list[dict[str, Any]] = [
    *({"deadline_s": value} for value in ("5", True, False, [5], {"s": 5}, "")),
    *({"limits": {"max_agent_hops": value}} for value in ("1", True, 1.0, 1.5, None, -1)),
    *({"wait": value} for value in ("true", 1, 0, "yes", None)),
    *({name: value} for name in ("message", "repo", "session_id", "pipeline", "mode") for value in (1, True, ["x"])),
]


async def test_a_value_of_another_type_is_refused_and_not_converted(site: Site) -> None:
    for fields in WRONG:
        (await site.ask(**{"message": "Where?", **fields})).is_problem(422, "bad_input", next(iter(fields)))
    bodies: list[tuple[str, dict[str, Any]]] = [
        *(("fork", {"at": value}) for value in ("1", True, 1.0)),
        *(("resume", body) for body in ({"approved": "yes"}, {"approved": 1}, {"text": 1}, {"data": "x"})),
        *((action, {"reason": 1}) for action in ("cancel", "pause")),
    ]
    for path, body in bodies:
        run = await site.ask("why?", wait=True)
        reply = await site.call("POST", f"{RUNS}/{run.run_id}/{path}", body)
        assert (reply.status, reply.json["code"]) == (422, "bad_input"), (path, body, reply.body)
    assert (await site.ask("Where?", deadline_s=5, limits={"max_agent_hops": 9})).status == 200
    assert (await site.ask("Where?", deadline_s=5.5, wait=True)).status == 200


@pytest.mark.parametrize("value", ["+5", "%205", "5.0", "1_0", "0x5", "%D9%A5", "", "5e0"])
async def test_a_number_of_the_query_is_digits_alone(site: Site, value: str) -> None:
    (await site.call("GET", f"{RUNS}?limit={value}")).is_problem(422, "bad_input", "limit")
    run = await site.ask("Where?")
    refused = await site.call("GET", f"{RUNS}/{run.run_id}/events?after={value}")
    assert (refused.status, refused.json["code"]) == (422, "bad_input")


async def test_no_text_holds_the_character_zero(site: Site) -> None:
    nul = "a\0b"
    told = "U+0000"
    for name in ("message", "repo", "session_id", "pipeline", "mode", "run_mode", nul):
        (await site.ask(**{"message": "Where?", name: nul})).is_problem(400, "bad_request", told)
    (await site.ask("Where?", limits={nul: 1})).is_problem(400, "bad_request", told)
    assert site.log.runs(9) == []
    run = await site.ask("why?", wait=True)
    path = f"{RUNS}/{run.run_id}"
    for action, body in (
        *(("resume", body) for body in ({"text": nul}, {"data": {"a": [{"b": nul}]}}, {"data": {nul: 1}})),
        *((action, {"reason": nul}) for action in ("cancel", "pause")),
    ):
        (await site.call("POST", f"{path}/{action}", body)).is_problem(400, "bad_request", told)
    for place in (f"{path}%00", f"{RUNS}?before=%00", f"{path}/events?after=%00"):
        assert (await site.call("GET", place)).status in (404, 422), place
    assert (await site.call("POST", f"{path}/interrupts/%00", {"text": "x"})).status in (404, 409, 422)
    assert (await site.ask("Where is \\u0000 written?")).status == 200


@pytest.mark.parametrize("depth", [63, 64, 65])
async def test_json_may_be_nested_just_so_deep(site: Site, depth: int) -> None:
    lists = depth - 1
    reply = await site.call("POST", MESSAGES, b'{"message":' + b"[" * lists + b"]" * lists + b"}")
    reply.is_problem(400 if depth > 64 else 422, "bad_request" if depth > 64 else "bad_input")


async def test_a_run_of_a_strange_name_is_not_found(site: Site) -> None:
    for run_id in ("%00", "%ff", "a%2fb", "..%2f..", "a" * 101, "%e2%80%ae", "r-none"):
        assert (await site.call("GET", f"/api/v1/runs/{run_id}")).status == 404


@pytest.mark.parametrize(
    ("number", "is_taken"),
    [
        (str(2**64 - 1), True),
        (str(2**64), False),
        (str(-(2**63)), True),
        (str(-(2**63) - 1), False),
        ("9" * 5_000, False),
        ("1e308", True),
        ("1e309", False),
        ("-1e999", False),
        ("0.1", True),
    ],
)
async def test_a_number_that_cannot_be_recorded_is_refused_at_the_door(site: Site, number: str, is_taken: bool) -> None:
    run = await site.ask("why?", wait=True)
    body = f'{{"text": "that", "data": {{"n": [{number}]}}}}'.encode()
    reply = await site.call("POST", f"{RUNS}/{run.run_id}/resume", body)
    if is_taken:
        assert reply.status == 200
    else:
        reply.is_problem(400, "bad_request", "number" if len(number) < 4_000 else "digits")
    shown = await site.call("GET", f"{RUNS}/{run.run_id}")
    assert shown.status == 200
    assert shown.json["run_id"] == run.run_id


async def test_half_a_character_in_an_escape_is_refused_and_nothing_breaks(site: Site) -> None:
    run = await site.ask("why?", wait=True)
    for body in (
        rb'{"text": "a\ud800"}',
        rb'{"text": "a", "data": {"x": "\udfff"}}',
        rb'{"text": "a", "data": {"\ud800": 1}}',
    ):
        reply = await site.call("POST", f"{RUNS}/{run.run_id}/resume", body)
        assert reply.status in {400, 422}, (body, reply.status, reply.body)
    for field in ("message", "repo", "session_id", "pipeline", "mode"):
        body = b'{"message": "Where?", "%s": "a\\ud800"}' % field.encode()
        reply = await site.call("POST", MESSAGES, body.replace(b'"message": "Where?", "message"', b'"message"'))
        assert reply.status in {400, 404, 422}, (field, reply.status, reply.body)


async def test_a_method_that_a_path_lacks_is_told_before_its_body_is_read(site: Site) -> None:
    for method, path in (("TRACE", MESSAGES), ("PUT", RUNS), ("POST", "/health"), ("DELETE", f"{RUNS}/r-1")):
        reply = await site.call(method, path, b"{" * 10, Content_Length="1000000000")
        reply.is_problem(405, "method_not_allowed")
        assert method not in reply.headers["allow"]


async def test_a_last_event_that_is_none_is_refused_also_beside_another(site: Site) -> None:
    run = await site.ask("Where?")
    for path in (f"{RUNS}/{run.run_id}/events", f"{RUNS}/{run.run_id}/events?after=1"):
        (await site.call("GET", path, Last_Event_ID="x1")).is_problem(422, "bad_input", "Last-Event-ID")


@pytest.mark.parametrize("before", ["0", "5", "~", "x~", "5~%0A", "5~" + "s" * 200, "+5~"])
async def test_a_place_that_no_page_of_sessions_gave_is_refused(site: Site, before: str) -> None:
    reply = await site.call("GET", f"/api/v1/chat/sessions?before={before}")
    reply.is_problem(422, "bad_input", "which no page of sessions gave")
