"""`jeeves mcp` over pipes: what clients send that is no message, how a session ends, and what it leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from serve.mcp.transports.stdio import MAX_MESSAGE_BYTES
from tests.doors.mcp_site import PATIENCE_S, RawClient, raw_client
from tests.doors.program import Program

ROOT = Path(__file__).parent.parent.parent
# Clients kill what outlives two seconds; a loaded machine that runs tests is given more.
ENDS_WITHIN_S = 10.0
# A call is killed after this long; a server that waited for it would take as long to end.
CALL_LIMIT_S = 30.0
BUSY_CPU_S = 1.5
PING = {"jsonrpc": "2.0", "id": 7, "method": "ping"}


def call(client: RawClient, number: int, tool: str, **arguments: object) -> None:
    client.request(number, "tools/call", name=tool, arguments=arguments)


def alive(pids: set[int]) -> set[int]:
    return {pid for pid in pids if Path(f"/proc/{pid}/stat").exists() and not is_zombie(pid)}


def is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z"
    except OSError:
        return True


def none_left(pids: set[int], within_s: float) -> bool:
    ends_s = time.monotonic() + within_s
    while alive(pids):
        if time.monotonic() > ends_s:
            return False
        time.sleep(0.02)
    return True


def cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def searching(client: RawClient, before_s: dict[int, float]) -> set[int]:
    """The server's processes, once one of them is at work on a call: it has burnt more than starting takes."""
    ends_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < ends_s:
        children = client.children()
        if any(cpu_s(pid) - before_s.get(pid, 0.0) > BUSY_CPU_S for pid in children):
            return children
        time.sleep(0.02)
    raise AssertionError("no process took the call up")


@pytest.mark.long
def test_the_end_of_input_ends_the_server_and_all_that_it_started(jeeves: Program, repo: Path) -> None:
    with raw_client(jeeves, repo) as client:
        client.initialize()
        call(client, 1, "locate", query="PostOffice")
        assert "post/office.py" in json.dumps(client.answer(1))
        children = client.children()
        assert children
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.ended_within(ENDS_WITHIN_S) == 0
        assert none_left(children, ENDS_WITHIN_S)


@pytest.mark.long
def test_requests_before_the_end_of_input_are_answered(jeeves: Program, repo: Path) -> None:
    with raw_client(jeeves, repo) as client:
        client.send(PING)
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.answer(7)["result"] == {}
        assert client.ended_within(ENDS_WITHIN_S) == 0


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_the_server_and_all_that_it_started(jeeves: Program, repo: Path, number: signal.Signals) -> None:
    with raw_client(jeeves, repo) as client:
        client.initialize()
        call(client, 1, "locate", query="PostOffice")
        client.answer(1)
        children = client.children()
        client.process.send_signal(number)
        assert client.ended_within(ENDS_WITHIN_S) in (128 + number, -number)
        assert none_left(children, ENDS_WITHIN_S)


@pytest.mark.long
def test_a_client_that_dies_in_the_middle_of_a_call_leaves_nothing(jeeves: Program, repo: Path) -> None:
    (repo / "slow.txt").write_text(f"{'a' * 4_000}!\n" * 50)
    with raw_client(jeeves, repo) as client:
        client.initialize()
        call(client, 1, "git_status")
        client.answer(1)
        before_s = {pid: cpu_s(pid) for pid in client.children()}
        call(client, 2, "search_text", patterns=["(a+)+$"], regex=True)
        children = searching(client, before_s)
        for pipe in (client.process.stdout, client.process.stdin):
            assert pipe is not None
            pipe.close()
        # How soon is tested above, at rest; here the search burns a processor, and alone would take thirty seconds.
        assert client.ended_within(CALL_LIMIT_S / 2) == 0
        assert none_left(children, CALL_LIMIT_S / 2)


def nested(levels: int, *, id_first: bool) -> bytes:
    """A call whose arguments lie in one another so many levels deep; those hold an id of their own."""
    params = b'"method":"tools/call","params":{"name":"locate","arguments":{"id":4,"query":' + b"[" * levels
    params += b"]" * levels + b"}}"
    return b'{"jsonrpc":"2.0","id":9,' + params + b"}" if id_first else b"{" + params + b',"jsonrpc":"2.0","id":9}'


NO_MESSAGES: list[tuple[bytes, int, object]] = [
    (b"hello", -32700, None),
    (b"\xff\xfe\x00", -32700, None),
    (b'{"jsonrpc": "2.0"', -32700, None),
    (b'{"jsonrpc": "2.0", "id": 3, "method": 4}', -32600, 3),
    (b'{"jsonrpc": "1.0", "id": "x", "method": "ping"}', -32600, "x"),
    (b'{"jsonrpc": "2.0", "id": true, "method": 4}', -32600, None),
    (b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}', -32600, None),
    (b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}', -32600, None),
    (b'{"jsonrpc": "2.0", "id": [1], "method": "notifications/initialized"}', -32600, None),
    (b"[]", -32600, None),
    (b"null", -32600, None),
    (b"[" * 100_000, -32700, None),
    (b'{"id": 5, "text": "\\ud800"}', -32600, 5),
    (nested(100_000, id_first=True), -32700, 9),
    (nested(1_001, id_first=True), -32700, 9),
    (nested(1_001, id_first=False), -32700, 9),
    (nested(300, id_first=False), -32600, 9),
    (b'{"jsonrpc": "2.0", "id": 9, "method": "ping", ', -32700, 9),
    (b'{"id": 9, "result": ' + b"[" * 100_000, -32700, None),
]


@pytest.mark.long
def test_what_is_no_message_is_answered_and_passed_over(jeeves: Program, repo: Path) -> None:
    with raw_client(jeeves, repo) as client:
        client.initialize()
        for line, code, number in NO_MESSAGES:
            client.send(line)
            refused = client.line()
            assert (refused["error"]["code"], refused["id"]) == (code, number), line[:40]
        client.send(b"   ")
        client.send(PING)
        assert client.answer(7)["result"] == {}


@pytest.mark.long
def test_a_message_of_fifty_megabytes_is_refused_and_the_next_one_answered(jeeves: Program, repo: Path) -> None:
    with raw_client(jeeves, repo) as client:
        client.initialize()
        call(client, 5, "locate", query="x" * 50_000_000)
        refused = client.answer(5)
        assert f"at most {MAX_MESSAGE_BYTES}" in refused["error"]["message"]
        assert memory_bytes(client.process.pid) < 400_000_000
        client.send(PING)
        assert client.answer(7)["result"] == {}


@pytest.mark.long
@pytest.mark.parametrize("id_first", [True, False])
def test_a_message_that_is_too_long_is_refused_under_its_own_id(jeeves: Program, repo: Path, id_first: bool) -> None:
    with raw_client(jeeves, repo) as client:
        client.initialize()
        client.send(nested(MAX_MESSAGE_BYTES, id_first=id_first))
        refused = client.answer(9)
        assert f"at most {MAX_MESSAGE_BYTES}" in refused["error"]["message"]


def memory_bytes(pid: int) -> int:
    found = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(found.split()[1]) * 1024


@pytest.mark.long
def test_standard_output_holds_messages_alone_even_when_debugging(jeeves: Program, repo: Path) -> None:
    with raw_client(jeeves, repo, JEEVES_DEBUG="1") as client:
        client.initialize()
        client.send(b"garbage")
        call(client, 1, "locate", query="PostOffice")
        call(client, 2, "nothing")
        client.answer(1)  # reads each line as JSON
        client.answer(2)
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.process.stdout is not None
        assert client.process.stdout.read() == b""


def test_a_client_that_speaks_the_old_protocol_is_served(jeeves: Program, repo: Path) -> None:
    with raw_client(jeeves, repo) as client:
        told = client.initialize()["result"]
        assert told["protocolVersion"] == "2025-06-18"
        assert told["serverInfo"]["name"] == "jeeves"
        client.request(1, "tools/list")
        assert len(client.answer(1)["result"]["tools"]) >= 12


@pytest.mark.long
def test_progress_is_told_while_the_index_is_made_and_only_rises(jeeves: Program, repo: Path) -> None:
    for number in range(1_500):
        (repo / f"many_{number}.py").write_text("".join(f"def f_{number}_{n}():\n    return {n}\n" for n in range(15)))
    with raw_client(jeeves, repo) as client:
        client.initialize()
        client.request(
            1, "tools/call", name="locate", arguments={"query": "PostOffice"}, _meta={"progressToken": "first"}
        )
        told = []
        while "method" in (message := client.line()):
            told.append(message["params"])
        assert "post/office.py" in json.dumps(message)
    assert {each["progressToken"] for each in told} == {"first"}
    done = [each["progress"] for each in told]
    assert done
    assert done == sorted(set(done))
    assert "indexing: " in told[0]["message"]


@pytest.mark.long
def test_a_repository_that_is_gone_is_told_and_the_server_lives_on(jeeves: Program, repo: Path) -> None:
    with raw_client(jeeves, repo) as client:
        client.initialize()
        repo.rename(repo.with_name("moved"))
        call(client, 1, "locate", query="PostOffice")
        result = client.answer(1)["result"]
        assert result["isError"]
        assert "Traceback" not in json.dumps(result)
        repo.with_name("moved").rename(repo)
        call(client, 2, "locate", query="PostOffice")
        assert not client.answer(2)["result"].get("isError")


def test_a_folder_that_is_not_there_is_refused_before_the_first_message(jeeves: Program, repo: Path) -> None:
    outcome = jeeves.run("mcp", "--repo", repo / "nowhere")
    outcome.complains(2, "does not exist")


@pytest.mark.long
def test_the_server_answers_its_first_messages_without_ray_and_the_code_index() -> None:
    script = (
        "import sys, serve.mcp.running\n"
        "heavy = {'ray', 'numpy', 'tree_sitter', 'runtime.codebase', 'serve.wiring'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.long
def test_no_call_of_a_search_tool_starts_ray(jeeves: Program, repo: Path) -> None:
    with raw_client(jeeves, repo) as client:
        client.initialize()
        call(client, 1, "locate", query="PostOffice")
        client.answer(1)
        programs = {Path(os.readlink(f"/proc/{pid}/exe")).name for pid in client.children()}  # noqa: PTH115
        assert not programs & {"raylet", "gcs_server"}
