"""Declares the MCP tools that lead a change under contract, and those that belong to its phases."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from actors.capabilities.code_change.session.sessions import REBUILDS
from runtime.contracts.contract import END, ESCALATION
from runtime.errors import FencedError, RunStateError
from serve.mcp.changes.answer_size import MAX_TOKENS, shortened, written
from serve.mcp.changes.contract_host import ContractHost
from serve.mcp.changes.door_session import DoorSession
from serve.mcp.changes.impact import impact_of, within
from serve.mcp.changes.workspaces import WorkspaceHost
from serve.mcp.elicitation import advice
from serve.mcp.toolset import McpTool, Report, ToolAnswer
from serve.wiring import CHANGE_CONTRACT

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=20_000)]
Paths = Annotated[list[Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)]], msgspec.Meta(max_length=500)]

MAX_IMPACT_TOKENS = 4_000

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
            description="IMPLEMENT or MODIFY (the same phases); INVESTIGATE or QUESTION (nothing is written).",
        ),
    ]
    query: Annotated[str, msgspec.Meta(min_length=1, max_length=20_000, description="The person's own words.")]
    flags: Annotated[
        list[str],
        msgspec.Meta(
            max_length=20,
            description="Only if the person asks: fast (no exploration), quick (fast; no branch, no commit), "
            "no_verify, no_quality, no_doc_research, no_intervention, only_explore, only_verify, rebuild (the index), "
            "clean (delete what sessions left).",
        ),
    ] = []
    gate_level: Annotated[Literal["auto", "full"], msgspec.Meta(description="full: all phases.")] = "auto"
    recovery: Annotated[
        Literal["", "resume", "discard"],
        msgspec.Meta(description="The person's choice, when asked for."),
    ] = ""


class SubmitPhase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Holds the arguments of submit_phase.

    `data`: what `expected_payload` asks for; `compaction_count`: the last one told, one more after a compaction.
    """

    data: dict[str, Any]
    compaction_count: int | None = None


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Takes no arguments."""


class Status(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Holds the arguments of get_session_status."""

    max_tokens: Annotated[int, msgspec.Meta(ge=500, le=50_000, description="Of the answer.")] = MAX_TOKENS


class Wait(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Says how long the embedding of chunks is waited for."""

    wait_s: Annotated[float, msgspec.Meta(ge=0, le=600, description="Seconds to wait for vectors.")] = 0.0


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
    if told.get("phase") == END:
        left = f"intent {given.intent} with these flags leaves no phase to go through, so nothing is to be done"
        return {**told, "notes": [*told.get("notes", ()), left]}
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


async def _status(host: ContractHost, search: WorkspaceHost, given: Status, report: Report) -> Mapping[str, Any]:
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
    found = within(await impact_of(search, given.symbols, given.files, report), MAX_IMPACT_TOKENS)
    session = host.live
    missing = found.get("not_found", ())
    if session is not None and not found["must_verify"] and len(missing) == len(given.symbols) + len(given.files):
        await session.record("analyze_impact", [*given.files, *given.symbols], is_vain=True)
        return {**found, "note": "nothing of this is in the repository, so the call counts for nothing in the session"}
    if session is not None:
        must = [row["file"] for row in found["must_verify"]]
        besides = await session.record("analyze_impact", [*given.files, *given.symbols], must_verify=must)
        rows = [{"file": file, "reasons": [why]} for file, why in besides.items() if file not in must]
        return {**found, "must_verify": [*found["must_verify"], *rows]} if rows else found
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
        "Begin a change under contract or an investigation, or resume it (`recovery`). Follow each `instruction`; "
        "submit_phase alone leads on. Takes seconds.",
        is_read_only=False,
    ),
    ContractTool(
        "submit_phase",
        "Submit a phase",
        SubmitPhase,
        _submit,
        "Hand in what the phase expects (`expected_payload`) as `data`. It is checked against the calls you made and "
        "the files. The answer is the next phase, or `error` with every problem. Send compaction_count + 1 after your "
        "context was compacted: all summaries come back.",
        is_read_only=False,
    ),
    ContractTool(
        "get_session_status",
        "Show where the change stands",
        Status,
        _status,
        "When you have lost track: phase, instruction, what to submit, tasks, rules, summaries.",
    ),
    ContractTool(
        "check_write_target",
        "Ask whether a file may be written",
        OneFile,
        _check,
        "Ask before you write or delete a file. Yes for files you explored and new ones beside them; anything else "
        "is refused at the commit.",
        is_read_only=False,
    ),
    ContractTool(
        "add_explored_files",
        "Add explored files",
        Files,
        _explored,
        "Add files that this server's tools have shown you to those you explored.",
        is_read_only=False,
    ),
    ContractTool(
        "review_changes",
        "Review the change",
        Nothing,
        _review,
        "Required before the commit: list the files that differ from where the change began, and those that may not.",
    ),
    ContractTool(
        "analyze_impact",
        "Analyse the impact of a change",
        Impact,
        _impact,
        "Find what a change of symbols or files touches: `must_verify` (proven callers, importers, tests) and "
        "`should_verify` (likeliest mentions). In a change from IMPACT_ANALYSIS on.",
    ),
    ContractTool(
        "cleanup_stale_branches",
        "Delete branches that were left",
        Nothing,
        _clean,
        "Delete branches of sessions that nothing can resume; the person at the client is asked, not you. The answer "
        "tells the commands that bring them back, for 30 days, and the branches that stay since they are recoverable.",
        is_read_only=False,
    ),
    ContractTool(
        "sync_index",
        "Bring the index up to date",
        Wait,
        _sync,
        "Compare all files with the index by content; counts files added, changed, removed and vectors made, reused, "
        "left. Seldom needed: every search refreshes the index.",
    ),
    ContractTool(
        "update_context",
        "Refresh the summary of documents",
        Nothing,
        _context,
        "After documents were written or moved: renew the summary of those that .code-intel/context.yml names. Counts "
        "those added, changed, removed.",
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
            most = given.max_tokens if isinstance(given, Status) else MAX_TOKENS
            return told(await with_agreed(host, search, answer, report), most)
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


def told(data: Mapping[str, Any], max_tokens: int = MAX_TOKENS) -> ToolAnswer:
    """Return an answer whose text is its data as JSON, as models read it; an `error` in it makes it one."""
    shown = shortened(data, max_tokens)
    return ToolAnswer(written(shown), shown, is_error="error" in data)
