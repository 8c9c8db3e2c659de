"""Declares the MCP tools that lead a change under contract, and those that belong to its phases."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from actors.capabilities.code_change.session.sessions import REBUILDS
from runtime.contracts.contract import ESCALATION
from runtime.errors import FencedError, RunStateError
from serve.mcp.changes.contract_host import ContractHost
from serve.mcp.changes.door_session import DoorSession
from serve.mcp.changes.impact import impact_of
from serve.mcp.changes.workspaces import WorkspaceHost
from serve.mcp.elicitation import advice
from serve.mcp.toolset import McpTool, Report, ToolAnswer
from serve.wiring import CHANGE_CONTRACT

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=20_000)]
Paths = Annotated[list[Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)]], msgspec.Meta(max_length=500)]

# Tools that enter their own calls in the session's log.
SELF_RECORDED = frozenset(
    {
        *("start_session", "submit_phase", "get_session_status", "check_write_target", "add_explored_files"),
        *("review_changes", "analyze_impact", "sync_index", "update_context"),
    }
)


class StartSession(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Holds the arguments of start_session.

    `intent`: IMPLEMENT, MODIFY, INVESTIGATE or QUESTION; `query`: the request in the person's own words.
    """

    intent: Annotated[
        str,
        msgspec.Meta(
            min_length=1,
            max_length=40,
            description="IMPLEMENT something new or MODIFY what is there (both lead through the same phases), "
            "INVESTIGATE a cause or answer a QUESTION (both end before anything is written).",
        ),
    ]
    query: Annotated[
        str, msgspec.Meta(min_length=1, max_length=20_000, description="The request in the person's own words.")
    ]
    flags: Annotated[
        list[str],
        msgspec.Meta(
            max_length=20,
            description="Leave out unless the person asks: fast (no exploration), quick (fast, without branch and "
            "commit), no_verify, no_quality, no_doc_research, no_intervention, only_explore, only_verify, rebuild "
            "(make the index anew), clean (delete what earlier sessions left; the person is asked).",
        ),
    ] = []
    gate_level: Annotated[
        Literal["auto", "full"], msgspec.Meta(description="full: every phase, whatever you answer to its questions.")
    ] = "auto"
    recovery: Annotated[
        Literal["", "resume", "discard"],
        msgspec.Meta(description="What the person wants of a session that was left; only when an answer asks for it."),
    ] = ""


class SubmitPhase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Holds the arguments of submit_phase.

    `data`: what `expected_payload` asks for; `compaction_count`: the last one told, one more after a compaction.
    """

    data: dict[str, Any]
    compaction_count: int | None = None


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Takes no arguments."""


class Wait(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Says how long the embedding of chunks is waited for."""

    wait_s: Annotated[
        float, msgspec.Meta(ge=0, le=600, description="Seconds to wait for vectors that are still to be made.")
    ] = 0.0


class OneFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names a file by its path from the top of the repository."""

    file: Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)]


class Files(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names files by their paths from the top of the repository."""

    files: Paths


class Impact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names the symbols and the files that will change."""

    symbols: Annotated[list[str], msgspec.Meta(max_length=20)] = []
    files: Annotated[list[str], msgspec.Meta(max_length=20)] = []


# Phase and step → the guide that comes with the phase.
GUIDES: Mapping[tuple[str, int | None], str] = {
    ("DOCUMENT_RESEARCH", 3): "document_research.md",
    ("READY", 12): "task_planning.md",
    ("POST_IMPL_VERIFY", 15): "verification.md",
    ("VERIFY_INTERVENTION", 16): "intervention.md",
    ("QUALITY_REVIEW", 18): "quality_review.md",
    ("USER_ESCALATION", None): "user_escalation.md",
}

Run = Callable[[ContractHost, WorkspaceHost, Any, Report], Awaitable[Mapping[str, Any]]]


class ContractTool(NamedTuple):
    """Describes one tool of a change: its name, its arguments, what it does and what it tells the model."""

    name: str
    title: str
    parameters: type[msgspec.Struct]
    run: Run
    description: str
    is_read_only: bool = True


async def _start(host: ContractHost, search: WorkspaceHost, given: StartSession, report: Report) -> Mapping[str, Any]:
    more, not_in_force = await search.documents.beginning() if search.documents is not None else ((), [])
    flags = [*given.flags, *(flag for flag in more if flag not in given.flags)]
    told = dict(await host.start(given.intent, given.query, flags, given.gate_level, given.recovery))
    if told.pop(REBUILDS, False):
        await search.rebuild(report)
    if "error" in told or "recovery_available" in told:
        return told
    notes = [*told.get("notes", ()), *host.beginning(), *not_in_force]
    return {**_with_rules(told, host.session()), **({"notes": notes} if notes else {})}


def _with_rules(told: Mapping[str, Any], session: DoorSession) -> dict[str, Any]:
    return {**told, **({"project_rules": dict(session.rules)} if session.rules else {})}


async def _submit(host: ContractHost, search: WorkspaceHost, given: SubmitPhase, report: Report) -> Mapping[str, Any]:
    told = await host.session().submit(given.data, given.compaction_count)
    if told["phase"] != ESCALATION:
        return told
    said = await advice(str(told.get("question", "")))
    if said is None or (said.goes_on and not said.text.strip()):
        return told
    return await host.session().answer(said.text, goes_on=said.goes_on)


async def _status(host: ContractHost, search: WorkspaceHost, given: Nothing, report: Report) -> Mapping[str, Any]:
    if host.live is not None:
        return _with_rules(await host.live.status(), host.live)
    return await host.left_over()


async def _check(host: ContractHost, search: WorkspaceHost, given: OneFile, report: Report) -> Mapping[str, Any]:
    return await host.session().check_write_target(given.file)


async def _explored(host: ContractHost, search: WorkspaceHost, given: Files, report: Report) -> Mapping[str, Any]:
    return await host.session().add_explored_files(given.files)


async def _review(host: ContractHost, search: WorkspaceHost, given: Nothing, report: Report) -> Mapping[str, Any]:
    return await host.session().review_changes()


async def _impact(host: ContractHost, search: WorkspaceHost, given: Impact, report: Report) -> Mapping[str, Any]:
    if not given.symbols and not given.files:
        problem = "symbols, files: both are empty; name what will change"
        return {"error": {"code": "payload_mismatch", "problems": [problem]}}
    found = await impact_of(search, given.symbols, given.files, report)
    session = host.live
    if session is not None:
        must = [row["file"] for row in found["must_verify"]]
        await session.record("analyze_impact", [*given.files, *given.symbols], must_verify=must)
    return found


async def _sync(host: ContractHost, search: WorkspaceHost, given: Wait, report: Report) -> Mapping[str, Any]:
    return await search.sync(given.wait_s, report)


async def _context(host: ContractHost, search: WorkspaceHost, given: Nothing, report: Report) -> Mapping[str, Any]:
    if search.documents is None:
        raise RunStateError("this server keeps no summary of documents; start it with --tools all")
    return await search.documents.update(report)


async def _clean(host: ContractHost, search: WorkspaceHost, given: Nothing, report: Report) -> Mapping[str, Any]:
    return await host.clean_up()


CONTRACT_TOOLS = (
    ContractTool(
        "start_session",
        "Start a change",
        StartSession,
        _start,
        "Begin a change under contract (or an investigation), or go on with one that was left (`recovery`: resume). "
        "The answer says the phase, what to do and what to submit; from then on follow `instruction` and call only "
        "submit_phase to get on; steps that are not needed are passed over: their numbers leave gaps. Takes a second.",
        is_read_only=False,
    ),
    ContractTool(
        "submit_phase",
        "Submit a phase",
        SubmitPhase,
        _submit,
        "Hand in what the current phase expects (`expected_payload` of the last answer, in `data`). It is checked: "
        "tools you name must have been called, evidence must be real. The answer is the next phase, or `error` with "
        "every problem and the same phase again. Send compaction_count + 1 when your context was compacted: the "
        "summaries of all phases come back.",
        is_read_only=False,
    ),
    ContractTool(
        "get_session_status",
        "Show where the change stands",
        Nothing,
        _status,
        "Ask where the change stands: phase, instruction, what to submit, tasks, rules, summaries. Use it "
        "whenever you have lost track. Free.",
    ),
    ContractTool(
        "check_write_target",
        "Ask whether a file may be written",
        OneFile,
        _check,
        "Ask before you write or delete a file in a change. Yes for files that you explored and for new ones beside "
        "them; anything else is refused at the commit.",
        is_read_only=False,
    ),
    ContractTool(
        "add_explored_files",
        "Add explored files",
        Files,
        _explored,
        "Add files to those that you explored, after this server's tools have shown them to you in this session.",
        is_read_only=False,
    ),
    ContractTool(
        "review_changes",
        "Review the change",
        Nothing,
        _review,
        "List every file that differs from where the change began, and which of them may not be in it. Read the lines "
        "with git or read_code. Required before the commit.",
    ),
    ContractTool(
        "analyze_impact",
        "Analyse the impact of a change",
        Impact,
        _impact,
        "Find what a change of symbols or files touches: `must_verify` (proven callers, importers, tests), with what "
        "proves it, and `should_verify` (likeliest mentions by name and documents, a dozen at most; `more` counts the "
        "rest). A second or so for each symbol.",
    ),
    ContractTool(
        "cleanup_stale_branches",
        "Delete branches that were left",
        Nothing,
        _clean,
        "Delete the branches of earlier sessions that nothing can resume, if the person at the client agrees: they are "
        "asked, not you. Each head is kept for 30 days, and the command that brings it back is told.",
        is_read_only=False,
    ),
    ContractTool(
        "sync_index",
        "Bring the index up to date",
        Wait,
        _sync,
        "Compare every file with the index by its content, and count: files added, changed and removed; chunks whose "
        "vectors were embedded by this call, reused, or are left to be made. Seldom needed: every search brings the "
        "index up to date by itself, and vectors are made in the background.",
    ),
    ContractTool(
        "update_context",
        "Refresh the summary of documents",
        Nothing,
        _context,
        "Read the documents that .code-intel/context.yml names once more and renew the summary in it: what each is "
        "about. Counts those added, changed and removed. Use it after documents were written or moved.",
        is_read_only=False,
    ),
)


def contract_tools(host: ContractHost, search: WorkspaceHost) -> list[McpTool]:
    """Return the records of the tools of a change, which run on these hosts."""
    return [
        McpTool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            parameters=tool.parameters,
            run=_run_of(tool, host, search),
            kind="contract",
            is_read_only=tool.is_read_only,
        )
        for tool in CONTRACT_TOOLS
    ]


def _run_of(tool: ContractTool, host: ContractHost, search: WorkspaceHost) -> Callable[..., Awaitable[ToolAnswer]]:
    async def run(given: msgspec.Struct, report: Report) -> ToolAnswer:
        try:
            answer = await with_documents(search, with_guide(await tool.run(host, search, given, report)))
            return told(await with_agreed(host, search, answer, report))
        except FencedError as error:
            return told({"error": {"code": "taken_over", "problems": [error.message]}})

    return run


async def with_documents(search: WorkspaceHost, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an answer with the documents that the project names, where they are to be read."""
    if data.get("phase") != "DOCUMENT_RESEARCH" or "error" in data or search.documents is None:
        return data
    found = dict(await search.documents.research())
    notes = [*data.get("notes", ()), *found.pop("notes", ())]
    return {**data, **found, **({"notes": notes} if notes else {})}


async def with_agreed(
    host: ContractHost, search: WorkspaceHost, data: Mapping[str, Any], report: Report
) -> Mapping[str, Any]:
    """Return an answer with what earlier changes for a like query turned out to mean, where a query is to be framed."""
    if data.get("phase") != "QUERY_FRAME" or "error" in data or host.live is None or search.map is None:
        return data
    hit = await search.map.hit(str((await host.live.status())["query"]), report)
    return data if hit is None or not hit.agreed.is_allowed else {**data, "agreed_symbols": hit.symbols()}


def with_guide(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an answer with the guide of its phase, unless it tells of an error: the phase was told before then."""
    name = GUIDES.get((str(data.get("phase")), data.get("step")))
    if name is None or "error" in data:
        return data
    return {**data, "guide": (CHANGE_CONTRACT.parent / "guides" / name).read_text("utf-8")}


def told(data: Mapping[str, Any]) -> ToolAnswer:
    """Return an answer whose text is its data as JSON, as models read it; an `error` in it makes it one."""
    return ToolAnswer(json.dumps(data, ensure_ascii=False, indent=1), dict(data), is_error="error" in data)
