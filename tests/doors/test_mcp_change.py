"""A change under contract by the official client, on a real package's source: led through it, killed, resumed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Container, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from mcp.client.client import Client as SdkClient
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult, TextContent

from serve.runtimes.warm import WarmRecord, WarmRuntime
from tests.capabilities.code_change.capacity import tree_of
from tests.capabilities.code_change.played_agent import git
from tests.doors.mcp_site import HttpServerProcess, RawClient, Site, http_session, stdio_session
from tests.doors.program import Program

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]

UTILS = (Path(str(click.__file__)).parent / "utils.py").read_text()
(FOUND,) = re.finditer(r"def (_?make_default_short_help)\(help: str, max_length: int = 45\) -> str:", UTILS)
NAME, OLD = FOUND.group(1), FOUND.group()
NEW = OLD.replace("45", "60")
QUERY = f"Let {NAME} show 60 characters by default"
Call = Callable[..., dict[str, Any]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    shutil.copytree(Path(str(click.__file__)).parent, root / "click", ignore=shutil.ignore_patterns("__pycache__"))
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "A Tester")
    git(root, "config", "user.email", "tester@example.org")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "the package")
    return root.resolve()


@pytest.fixture(params=["stdio", "http"])
def site(request: pytest.FixtureRequest, jeeves: Program, project: Path) -> Iterator[Site]:
    session = stdio_session if request.param == "stdio" else http_session
    opened = Site(session(jeeves, project, "--tools", "all"))
    yield opened
    opened.close()


class Client:
    """Plays the agent: it calls tools as a model would, and submits what the phase expects."""

    def __init__(self, call: Call, root: Path) -> None:
        self._call = call
        self.root = root
        self.told: dict[str, Any] = {}

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self._call(tool, **arguments)

    def start(self, **fields: Any) -> dict[str, Any]:
        self.told = self.call("start_session", intent="MODIFY", query=QUERY, **fields)
        return self.told

    def submit(self, **data: Any) -> dict[str, Any]:
        self.told = self.call("submit_phase", data=data)
        return self.told

    def step(self) -> dict[str, Any]:
        step = self.told["step"]
        told: dict[str, Any] = getattr(self, f"_step_{step}")()
        assert "error" not in told, told["error"]
        return told

    def finish(self) -> dict[str, Any]:
        while self.told["phase"] != "SESSION_COMPLETE":
            self.step()
        return self.told

    def _step_3(self) -> dict[str, Any]:
        self.call("search_files", pattern="**/*.md")
        return self.submit(documents_reviewed=[], tools_used=["search_files"], summary="the package has no documents")

    def _step_4(self) -> dict[str, Any]:
        symbol = {"value": NAME, "quote": NAME}
        action = {"value": "modify", "quote": f"Let {NAME} show 60 characters"}
        return self.submit(action_type=action, target_symbols=[symbol], tools_used=[], summary="raise a default")

    def _step_5(self) -> dict[str, Any]:
        self.call("find_definitions", name=NAME)
        self.call("explore_symbol_usage", symbol=NAME)
        self.call("read_code", path="click/utils.py", start_line=50, end_line=110)
        self.call("read_code", path="click/core.py", start_line=1, end_line=60)
        self.call("read_code", path="click/formatting.py", start_line=1, end_line=60)
        return self.submit(
            explored_files=["click/utils.py", "click/core.py", "click/formatting.py"],
            findings=["core calls it with limits of its own"],
            tools_used=["find_definitions", "explore_symbol_usage", "read_code"],
            summary="the default is used where no limit is given",
        )

    def _step_6(self) -> dict[str, Any]:
        return self.submit(needs_more_information=True, reason="there may be a second default")

    def _step_7(self) -> dict[str, Any]:
        self.call("semantic_search", query="short help text of a command cut to a length")
        return self.submit(search_results=["core has another"], tools_used=["semantic_search"], summary="core limits")

    def _step_8(self) -> dict[str, Any]:
        return self.submit(has_unverified_hypotheses=False, reason="all read")

    def _step_10(self) -> dict[str, Any]:
        return self.submit(needs_impact_analysis=True, reason="callers")

    def _step_11(self) -> dict[str, Any]:
        found = self.call("analyze_impact", symbols=[NAME])
        told = self.call("get_session_status")
        assert told["must_verify"] == [row["file"] for row in found["must_verify"]]
        assert "click/core.py" in told["must_verify"]
        rows = [{"file": file, "finding": "passes a limit of its own"} for file in told["must_verify"]]
        return self.submit(impact_summary=rows, tools_used=["analyze_impact"], summary="nobody relies on 45")

    def _step_12(self) -> dict[str, Any]:
        items = [{"item": "60 in click/utils.py", "status": "pending"}]
        task = {"id": "t1", "description": "the default", "status": "pending", "checklist": items}
        return self.submit(tasks=[task], tools_used=[], summary="one task")

    def _step_13(self) -> dict[str, Any]:
        assert self.call("check_write_target", file="click/utils.py")["permitted"] is True
        assert self.call("check_write_target", file="click/types.py")["permitted"] is False
        path = Path(self.told["workspace"]) / "click" / "utils.py"
        text = path.read_text()
        path.write_text(text.replace(OLD, NEW))
        line = text[: text.index(OLD)].count("\n") + 1
        item = {"item": "60 in click/utils.py", "status": "done", "evidence": f"click/utils.py:{line}"}
        return self.submit(task_id="t1", checklist=[item], tools_used=["check_write_target"], summary="done")

    def _step_14(self) -> dict[str, Any]:
        return self.submit(summary="60 by default")

    def _step_15(self) -> dict[str, Any]:
        workspace = self.told["workspace"]
        script = f"import click.utils as u; assert len(u.{NAME}('word ' * 30)) > 45"
        environment = {**os.environ, "PYTHONPATH": workspace}
        done = subprocess.run([sys.executable, "-c", script], cwd=workspace, env=environment, check=False)
        return self.submit(passed=done.returncode == 0, details="tried", tools_used=[], summary="longer texts pass")

    def _step_17(self) -> dict[str, Any]:
        files = [row["file"] for row in self.call("review_changes")["files"]]
        assert files == ["click/utils.py"]
        message = "Show 60 characters of short help by default"
        return self.submit(
            reviewed_files=files, commit_message=message, tools_used=["review_changes"], summary="one line"
        )

    def _step_18(self) -> dict[str, Any]:
        return self.submit(quality_score=9, issues=[], tools_used=[], summary="good")

    def _step_19(self) -> dict[str, Any]:
        return self.submit(summary="Short help shows 60 characters by default.")


def calls_of(site: Site) -> Call:
    def call(tool: str, **arguments: Any) -> dict[str, Any]:
        told = site.call(tool, **arguments).structured_content
        assert isinstance(told, dict)
        return told

    return call


def is_merged(root: Path) -> bool:
    return NEW in (root / "click" / "utils.py").read_text() and git(root, "branch", "--show-current") == "main"


@pytest.mark.parametrize("is_dirty", [False, True])
def test_a_client_is_led_through_a_whole_change(site: Site, project: Path, is_dirty: bool) -> None:
    if is_dirty:
        (project / "click" / "types.py").write_text("mine\n")
    client = Client(calls_of(site), project)
    client.start()
    assert client.finish()["outcome"] == "completed"
    assert is_merged(project)
    # What the agent's own run compiled stays where it is, in no commit.
    left = [line for line in git(project, "status", "--porcelain").splitlines() if "__pycache__" not in line]
    assert [line.split()[0] for line in left] == (["M"] if is_dirty else [])
    assert "Show 60 characters" in git(project, "log", "--format=%s", "--no-merges", "-1")


def test_during_a_session_tools_are_bound_to_the_phase_and_without_one_they_are_free(site: Site, project: Path) -> None:
    client = Client(calls_of(site), project)
    assert "error" not in client.call("semantic_search", query="short help")
    assert client.call("get_session_status")["phase"] == "NONE"
    client.start()
    assert client.call("semantic_search", query="short help")["error"]["code"] == "out_of_phase"
    assert client.call("submit_phase", data={"x": 1})["error"]["code"] == "payload_mismatch"


def raw_calls(client: RawClient) -> Call:
    numbers = iter(range(1, 10_000))

    def call(tool: str, **arguments: Any) -> dict[str, Any]:
        number = next(numbers)
        client.request(number, "tools/call", name=tool, arguments=arguments)
        told: dict[str, Any] = client.answer(number)["result"]["structuredContent"]
        return told

    return call


class UnluckyClient(Client):
    """Plays an agent that passes through what others leave out: an old branch, a hypothesis, failing verifications."""

    def __init__(self, call: Call, root: Path, failed: list[int]) -> None:
        super().__init__(call, root)
        self.failed = failed

    def _step_2(self) -> dict[str, Any]:
        return self.submit(choice="continue", tools_used=[], summary="it is somebody's")

    def _step_8(self) -> dict[str, Any]:
        return self.submit(has_unverified_hypotheses=True, reason="core may rely on 45")

    def _step_9(self) -> dict[str, Any]:
        row = {"hypothesis": "core relies on 45", "confirmed": False, "withdrawn": True, "evidence": "click/core.py:1"}
        return self.submit(hypotheses_verified=[row], tools_used=[], summary="it does not")

    def _step_12(self) -> dict[str, Any]:
        items = [{"item": "60 in click/utils.py", "status": "pending"}]
        tasks = [{"id": "t1", "description": "the default", "status": "pending", "checklist": items}]
        for number in range(len(self.failed)):
            tasks[-1]["status"] = "completed"
            mend = {"fixes": f"t{number + 1}", "revert_reason": "the script failed"}
            tasks.append(
                {"id": f"t{number + 2}", "description": "mend", "status": "pending", "checklist": items, **mend}
            )
        return self.submit(tasks=tasks, tools_used=[], summary="all tasks")

    def _step_13(self) -> dict[str, Any]:
        assert self.call("check_write_target", file="click/utils.py")["permitted"] is True
        path = Path(self.told["workspace"]) / "click" / "utils.py"
        path.write_text(path.read_text().replace(OLD, NEW))
        text = path.read_text()
        evidence = f"click/utils.py:{text[: text.index(NEW)].count(chr(10)) + 1}"
        item = {"item": "60 in click/utils.py", "status": "done", "evidence": evidence}
        task = self.told["next_task"]["id"]
        return self.submit(task_id=task, checklist=[item], tools_used=["check_write_target"], summary="done")

    def _step_15(self) -> dict[str, Any]:
        if len(self.failed) == 3:
            return super()._step_15()
        self.failed.append(len(self.failed))
        return self.submit(passed=False, details="the script failed", tools_used=[], summary="it fails")

    def _step_16(self) -> dict[str, Any]:
        return self.submit(
            prompt_used="intervention", action_taken="read the callers again", tools_used=[], summary="anew"
        )


def killed_through(
    jeeves: Program, project: Path, make: Callable[[Call], Client], after: Container[int] = range(100)
) -> list[int]:
    """Lead a change to its end with a server that is killed after those steps; the steps that were taken."""
    steps: list[int] = []
    told: dict[str, Any] = {}
    while told.get("phase") != "SESSION_COMPLETE":
        raw = RawClient(jeeves, project, "--tools", "all")
        try:
            raw.initialize()
            client = make(raw_calls(raw))
            if steps:
                assert client.start()["recovery_available"] is True
            told = client.start(**({"recovery": "resume"} if steps else {}))
            assert "error" not in told, told
            is_killed = False
            while not is_killed and told["phase"] != "SESSION_COMPLETE":
                steps.append(told["step"])
                is_killed = told["step"] in after
                told = client.step()
        finally:
            os.kill(raw.process.pid, signal.SIGKILL)
            raw.process.communicate()
    return steps


def test_a_server_that_is_killed_after_every_step_is_resumed_and_the_change_ends_the_same(
    jeeves: Program, project: Path
) -> None:
    steps = killed_through(jeeves, project, lambda call: Client(call, project))
    assert steps == [3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 17, 18, 19]
    assert is_merged(project)
    assert git(project, "branch", "--list", "llm_task_*") == ""


def test_a_kill_after_the_steps_that_only_trouble_leads_to_loses_nothing(jeeves: Program, project: Path) -> None:
    git(project, "branch", "llm_task_old")
    failed: list[int] = []
    steps = killed_through(jeeves, project, lambda call: UnluckyClient(call, project, failed), {2, 9, 16})
    assert steps[:8] == [2, 3, 4, 5, 6, 7, 8, 9]
    assert steps[8:] == [10, 11, *([12, 13, 14, 15] * 3), 16, 12, 13, 14, 15, 17, 18, 19]
    assert is_merged(project)
    assert git(project, "branch", "--list", "llm_task_*").split() == ["llm_task_old"]


def test_a_second_server_is_told_that_a_session_is_live(jeeves: Program, project: Path) -> None:
    first = HttpServerProcess(jeeves, project, "--tools", "all")
    second = RawClient(jeeves, project, "--tools", "all")
    site = Site(stdio_session(jeeves, project, "--tools", "all"))
    try:
        Client(calls_of(site), project).start()
        second.initialize()
        answer = Client(raw_calls(second), project).start()
        assert answer["error"]["code"] == "session_live"
    finally:
        site.close()
        first.close()
        second.process.kill()
        second.process.communicate()


@pytest.mark.parametrize(
    ("action", "agree", "is_deleted"),
    [("accept", True, True), ("accept", False, False), ("decline", True, False), ("cancel", True, False)],
)
def test_the_person_at_the_client_is_asked_before_left_branches_are_deleted(
    jeeves: Program, project: Path, action: Any, agree: bool, is_deleted: bool
) -> None:
    git(project, "branch", "llm_task_old")
    asked = []

    async def person(_context: object, parameters: Any) -> ElicitResult:
        asked.append(parameters.message)
        return ElicitResult(action=action, content={"agree": agree} if action == "accept" else None)

    site = Site(stdio_session(jeeves, project, "--tools", "all", elicitation_callback=person))
    try:
        client = Client(calls_of(site), project)
        assert client.start()["stale_branches"] == ["llm_task_old"]
        told = client.submit(choice="delete", tools_used=[], summary="they are old")
    finally:
        site.close()
    assert asked == ["Delete the branches of earlier sessions: llm_task_old?"]
    assert ("error" not in told) is is_deleted
    assert (git(project, "branch", "--list", "llm_task_old") == "") is is_deleted


def test_a_person_who_never_answers_holds_nothing_up(jeeves: Program, project: Path) -> None:
    git(project, "branch", "llm_task_old")

    async def person(_context: object, _parameters: Any) -> ElicitResult:
        await asyncio.Event().wait()
        raise AssertionError

    # Since the protocol of 2026-07-28 a call ends with its question, so that nothing of the server waits.
    site = Site(stdio_session(jeeves, project, "--tools", "all", elicitation_callback=person, mode="legacy"))
    try:
        client = Client(calls_of(site), project)
        client.start()
        payload = {"data": {"choice": "delete", "tools_used": [], "summary": "they are old"}}
        with pytest.raises(MCPError, match=r"[Tt]imed out"):
            site.run(site.client.call_tool("submit_phase", payload, read_timeout_seconds=2.0))
        assert client.call("get_session_status")["phase"] == "BRANCH_INTERVENTION"
        assert client.submit(choice="continue", tools_used=[], summary="left")["phase"] == "DOCUMENT_RESEARCH"
    finally:
        site.close()
    assert git(project, "branch", "--list", "llm_task_old") != ""


def test_two_clients_of_one_server_do_not_share_a_session(jeeves: Program, project: Path) -> None:
    server = HttpServerProcess(jeeves, project, "--tools", "all")

    @contextlib.asynccontextmanager
    async def joined() -> AsyncIterator[SdkClient]:
        async with SdkClient(server.url, mode="legacy") as client:
            yield client

    sites = [Site(joined()), Site(joined())]
    try:
        first, second = (Client(calls_of(site), project) for site in sites)
        first.start()
        first.step()
        # Who has no session reads freely, and leaves no trace in the other's.
        assert "error" not in second.call("semantic_search", query="short help")
        assert second.start()["error"]["code"] == "session_live"
        assert second.start(recovery="resume")["step"] == 4
        assert first.call("submit_phase", data={})["error"]["code"] == "taken_over"
        second.finish()
        assert is_merged(project)
    finally:
        for site in sites:
            site.close()
        server.close()


def test_a_client_that_connects_anew_for_each_call_goes_on_with_its_session(jeeves: Program, project: Path) -> None:
    server = HttpServerProcess(jeeves, project, "--tools", "all")

    async def called(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        async with SdkClient(server.url, mode="legacy") as once:
            return dict((await once.call_tool(tool, arguments)).structured_content or {})

    def call(tool: str, **arguments: Any) -> dict[str, Any]:
        return asyncio.run(called(tool, arguments))

    try:
        client = Client(call, project)
        client.start()
        client.finish()
        assert is_merged(project)
    finally:
        server.close()


def queries_of(record: WarmRecord) -> int:
    status = asyncio.run(WarmRuntime(record, record.code_version).status())
    return int(status["bus"]["counts"]["query"])


@pytest.mark.ray
def test_the_warm_system_hosts_a_change_which_outlives_its_host_and_the_system(
    ray_jeeves: Program, project: Path
) -> None:
    ray_jeeves.run("up").answers()
    site = Site(stdio_session(ray_jeeves, project, "--tools", "all"))
    try:
        client = Client(calls_of(site), project)
        client.start()
        client.step()
        record = msgspec.json.decode((ray_jeeves.state_dir / "warm" / "record.json").read_bytes(), type=WarmRecord)
        before = queries_of(record)
        client.call("get_session_status")
        # The tool is permitted by the session's host, and answered there; asking for the count is a query, too.
        assert queries_of(record) >= before + 3
        daemon = record.pid
        (host,) = (pid for pid in tree_of(daemon) if b"ServiceActor" in Path(f"/proc/{pid}/cmdline").read_bytes())
        os.kill(host, signal.SIGKILL)
        while client.told["step"] != 13:
            client.step()
        ray_jeeves.run("down").answers()
        assert client.finish()["outcome"] == "completed"
        assert is_merged(project)
    finally:
        site.close()
        ray_jeeves.run("down")


def test_what_init_writes_is_offered_as_prompts_too(site: Site) -> None:
    listed = {prompt.name: prompt for prompt in site.run(site.client.list_prompts()).prompts}
    guides = {"document_research", "intervention", "quality_review", "task_planning", "user_escalation", "verification"}
    assert set(listed) == {"code", "outcome"} | guides
    (argument,) = listed["code"].arguments or []
    assert (argument.name, argument.required) == ("request", True)
    code = site.run(site.client.get_prompt("code", {"request": "--fast Let it retry"}))
    (message,) = code.messages
    assert isinstance(message.content, TextContent)
    assert message.content.text.startswith("The request: --fast Let it retry")
    guide = site.run(site.client.get_prompt("verification"))
    assert "# Verifying a change" in str(guide.messages[0].content)
    for name in ("nothing", "code"):
        with pytest.raises(MCPError, match=r"there are code|request"):
            site.run(site.client.get_prompt(name))
