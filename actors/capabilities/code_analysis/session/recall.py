"""Loads and stores agent memory: session turns and state (L3), and knowledge across sessions (L4).

The knowledge across sessions is earlier answers, summaries of files, and relations between symbols and files. Memory is
optional: a failed query is logged and counts as an empty result.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.evidence.facts import CodeFact, ProducedRange
from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.session.remembered import KnownFile, SessionTurn
from actors.capabilities.code_analysis.session.traversal_state import TraversalState
from runtime.agents.capability import StageContext
from runtime.codebase.citation import Citation
from runtime.codebase.codebase import Codebase
from runtime.codebase.knowledge.earlier_answers import CitedLines, EarlierAnswer, lines_sha256
from runtime.codebase.knowledge.relation import Relation
from runtime.errors import JeevesError, NoHandlerError
from runtime.run.stage_view import StageView

log = logging.getLogger(__name__)

MAX_SUMMARISED = 8
MAX_SYMBOLS_IN_SUMMARY = 8
MAX_CITED = 3
CHARS_PER_TOKEN = 4
ANSWER_CHARS = 600


async def recall_session(context: StageContext, session_id: str | None) -> dict[str, Any]:
    """Return the session's turns and traversal state: {turns, state}."""
    if session_id is None:
        return {"turns": [], "state": None}
    return dict(await context.queries.query("session.turns", {"session_id": session_id}))


def within_tokens(turns: Sequence[SessionTurn], limit_tokens: int) -> list[SessionTurn]:
    """Return the newest turns that fit into `limit_tokens`, oldest first."""
    kept: list[SessionTurn] = []
    left = limit_tokens * CHARS_PER_TOKEN
    for turn in reversed(turns):
        left -= len(turn.question) + len(turn.answer)
        if left < 0:
            break
        kept.append(turn)
    return kept[::-1]


async def recall_answers(context: StageContext, codebase: Codebase, question: str) -> list[EarlierAnswer]:
    """Return answers to similar questions whose cited lines are all unchanged, the most similar first."""
    asked = {"repo": str(codebase.root), "terms": list(analyse(question).terms)}
    found = await _query(context, "memory.recall", asked)
    answers = msgspec.convert(found.get("answers", []), list[EarlierAnswer])
    return await context.run_blocking(_unchanged, codebase, answers)


def _unchanged(codebase: Codebase, answers: Sequence[EarlierAnswer]) -> list[EarlierAnswer]:
    return [a for a in answers if a.cited and all(_is_unchanged(codebase, c) for c in a.cited)]


def _is_unchanged(codebase: Codebase, cited: CitedLines) -> bool:
    source = codebase.try_source(cited.file)
    if source is None or not 1 <= cited.start_line <= cited.end_line <= len(source.lines):
        return False
    return lines_sha256(source.lines[cited.start_line - 1 : cited.end_line]) == cited.sha256


async def recall_summaries(context: StageContext, codebase: Codebase, files: Sequence[str]) -> list[KnownFile]:
    """Return what is known of the current content of the last MAX_SUMMARISED of the files."""
    hashes = await context.run_blocking(_hashes, codebase, files[-MAX_SUMMARISED:])
    if not hashes:
        return []
    found = (await _query(context, "memory.summaries", {"hashes": list(hashes.values())})).get("summaries", {})
    known = [{"file": file, **found[sha256]} for file, sha256 in hashes.items() if sha256 in found]
    return msgspec.convert(known, list[KnownFile])


def _hashes(codebase: Codebase, files: Sequence[str]) -> dict[str, str]:
    sources = {file: codebase.try_source(file) for file in files}
    return {file: source.sha256 for file, source in sources.items() if source is not None}


async def keep_answer(
    context: StageContext, codebase: Codebase, question: str, claims: Sequence[Claim], session_id: str | None = None
) -> bool:
    """Store an answer's lead claims with the hashes of the cited lines; return whether they were stored.

    `session_id`: the session that it was asked in; the answer is forgotten when that is deleted.
    """
    primary_claims = [claim for claim in claims if claim.role == "lead" and claim.citations][:MAX_CITED]
    terms = analyse(question).terms
    if not primary_claims or not terms:
        return False
    cited = await context.run_blocking(_cited_lines, codebase, [claim.citations[0] for claim in primary_claims])
    text = " ".join(claim.text for claim in primary_claims)[:ANSWER_CHARS]
    answer = EarlierAnswer(question, terms, text, cited, session_id=session_id or "")
    body = {"repo": str(codebase.root), "answer": msgspec.to_builtins(answer)}
    return await _store(context, "memory.keep_answer", body)


def _cited_lines(codebase: Codebase, citations: Sequence[Citation]) -> tuple[CitedLines, ...]:
    kept = []
    for citation in citations:
        source = codebase.try_source(citation.file)
        if source is not None:
            lines = source.lines[citation.start_line - 1 : citation.end_line]
            kept.append(CitedLines(citation.file, citation.start_line, citation.end_line, lines_sha256(lines)))
    return tuple(kept)


async def keep_summaries(context: StageContext, facts: Sequence[CodeFact], ranges: Sequence[ProducedRange]) -> bool:
    """Store summaries of files from the facts, by the hash of the content that was read."""
    summaries: dict[str, dict[str, Any]] = {}
    hash_of = {produced.file: produced.content_sha256 for produced in ranges}
    for fact in facts:
        sha256 = hash_of.get(fact.citation.file, "")
        if fact.kind not in {"definition", "module"} or not sha256 or not fact.name:
            continue
        summary = summaries.setdefault(sha256, {"summary": "", "symbols": []})
        if fact.kind == "module":
            summary["summary"] = fact.docstring[:200]
        elif fact.name not in summary["symbols"] and len(summary["symbols"]) < MAX_SYMBOLS_IN_SUMMARY:
            summary["symbols"].append(fact.name)
    first = dict(list(summaries.items())[:MAX_SUMMARISED])
    return bool(first) and await _store(context, "memory.keep_summaries", {"summaries": first})


async def recall_relations(context: StageContext, codebase: Codebase, names: Sequence[str]) -> list[Relation]:
    """Return the relations of the named symbols that any session recorded, the newest first."""
    if not names:
        return []
    found = await _query(context, "memory.relations", {"repo": str(codebase.root), "names": list(names)})
    return msgspec.convert(found.get("relations", []), list[Relation])


async def keep_relations(context: StageContext, codebase: Codebase, relations: Sequence[Relation]) -> bool:
    """Store the relations that a run's facts show, for all sessions on this repository."""
    if not relations:
        return False
    body = {"repo": str(codebase.root), "relations": msgspec.to_builtins(relations)}
    return await _store(context, "memory.keep_relations", body)


async def recall_tool_metrics(context: StageContext, root: str) -> list[dict[str, Any]]:
    """Return the record of each tool on the repository at `root`, with the fields of `ToolMetric`."""
    return list((await _query(context, "memory.tool_metrics", {"scope": root})).get("tools", []))


async def keep_state(context: StageContext, view: StageView, state: TraversalState) -> bool:
    """Store the session's traversal state; False without a session."""
    if view.session_id is None:
        return False
    body = {"session_id": view.session_id, "state": msgspec.to_builtins(state)}
    return await _store(context, "session.keep_state", body)


async def _query(context: StageContext, query: str, body: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return dict(await context.queries.query(query, dict(body)))
    except NoHandlerError:
        return {}
    except JeevesError as error:
        log.warning("memory.not_recalled", extra={"run_id": context.key.run_id, "query": query, "error": error.message})
        return {}


async def _store(context: StageContext, query: str, body: Mapping[str, Any]) -> bool:
    try:
        await context.queries.query(query, dict(body))
    except NoHandlerError:
        return False
    except JeevesError as error:
        log.warning("memory.not_kept", extra={"run_id": context.key.run_id, "query": query, "error": error.message})
        return False
    return True
