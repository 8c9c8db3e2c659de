"""Integration: assembles the answer from finished rounds, and lets through only what a machine has checked.

Every citation must lie inside lines that a tool of this run returned, in a file whose content is still the same, and
contain what it quotes. A claim with a citation that fails is left out with it, and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from actors.capabilities.code_analysis.answer import Finding, compose, ranked_citations
from actors.capabilities.code_analysis.claims import Claim
from actors.capabilities.code_analysis.facts import ProducedRange
from actors.capabilities.code_analysis.question import Question
from actors.capabilities.code_analysis.synthesizer import claims_from_facts
from runtime.capability import StageContext, StageResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.evidence import check_citation
from runtime.supervision.commands import StageView

TURN_ANSWER_CHARS = 600


async def integrate(context: StageContext, view: StageView) -> StageResult:
    """Check every claim against the files, put the answer together, remember the session's turn."""
    repository = view.outputs.get("perception", {}).get("repository")
    if repository is None:
        return StageResult(_without_repository(view))
    codebase = context.services.codebase(repository)
    claims_by_goal, ranges = _collected(view)
    checked, dropped = await context.run_blocking(_checked, codebase, claims_by_goal, ranges)
    question = msgspec.convert(view.outputs["intent"]["question"], Question)
    goals = [goal for goal in view.goals.goals if goal.status != "dropped"]
    findings = [Finding(goal, tuple(checked.get(goal.id, ()))) for goal in goals]
    citations = ranked_citations(findings)
    skipped = repository["stats"].get("skipped", {})
    output = {
        "final_response": compose(question, findings, skipped, view.ended_by),
        "citations": [msgspec.to_builtins(citation) for citation in citations],
        "findings": [finding.as_document() for finding in findings],
        "files_examined": sorted({produced.file for produced in ranges}),
        "open_goals": [goal.text for goal in view.goals.unanswered],
        "citations_dropped": dict(dropped),
        "events_logged": len(view.goals.finished_rounds),
        "memory_updated": await _remember(context, view, question, findings),
        "traversal_state_persisted": view.session_id is not None,
    }
    return StageResult(output)


def _collected(view: StageView) -> tuple[dict[str, list[Claim]], list[ProducedRange]]:
    """Claims per goal and produced ranges of all finished rounds; of a round that a bound cut short, too."""
    parts: list[dict[str, Any]] = [dict(done.synthesis) for done in view.goals.finished_rounds]
    execution = view.outputs.get("execution")
    if view.ended_by is not None and execution is not None and not _is_finished(view):
        hints = view.outputs["synthesis"]["hints_for_goals"] if "synthesis" in view.outputs else claims_from_facts(view)
        parts.append({"hints_for_goals": hints, "ranges": execution["ranges"]})
    claims: dict[str, list[Claim]] = {}
    ranges: list[ProducedRange] = []
    for part in parts:
        ranges += msgspec.convert(part.get("ranges", []), list[ProducedRange])
        for goal, found in part.get("hints_for_goals", {}).items():
            known = claims.setdefault(goal, [])
            known += [claim for claim in msgspec.convert(found, list[Claim]) if claim not in known]
    return claims, ranges


def _is_finished(view: StageView) -> bool:
    """True when the round in `outputs` has been closed by the critic."""
    return "critic" in view.outputs and bool(view.goals.finished_rounds)


def _checked(
    codebase: Codebase, claims_by_goal: dict[str, list[Claim]], ranges: Iterable[ProducedRange]
) -> tuple[dict[str, list[Claim]], Counter[str]]:
    produced: dict[str, list[tuple[int, int]]] = {}
    for made in ranges:
        produced.setdefault(made.file, []).append((made.start_line, made.end_line))
    kept: dict[str, list[Claim]] = {}
    dropped: Counter[str] = Counter()
    for goal, claims in claims_by_goal.items():
        for claim in claims:
            verdicts = [check_citation(codebase, citation, produced) for citation in claim.citations]
            bad = [verdict for verdict in verdicts if not verdict.valid]
            if bad or not claim.citations:
                dropped.update([str(verdict.reason) for verdict in bad] or ["no_citation"])
            else:
                kept.setdefault(goal, []).append(claim)
    return kept, dropped


async def _remember(context: StageContext, view: StageView, question: Question, findings: list[Finding]) -> bool:
    if view.session_id is None:
        return False
    leads = [claim for finding in findings for claim in finding.claims if claim.role == "lead"]
    turn = {
        "question": question.text,
        "answer": " ".join(claim.text for claim in leads)[:TURN_ANSWER_CHARS],
        "at_ms": context.clock.now_ms(),
        "repo": str(view.metadata["repo"]),
        "files": tuple(dict.fromkeys(claim.citations[0].file for claim in leads)),
        "symbols": tuple(dict.fromkeys(claim.subject for claim in leads if claim.subject)),
    }
    await context.queries.query("session.append", {"session_id": view.session_id, "turn": turn})
    return True


def _without_repository(view: StageView) -> dict[str, Any]:
    return {
        "final_response": "Nothing was looked at: the run ended before the repository was opened.",
        "citations": [],
        "findings": [],
        "files_examined": [],
        "open_goals": [goal.text for goal in view.goals.unanswered],
        "citations_dropped": {},
        "events_logged": 0,
        "memory_updated": False,
        "traversal_state_persisted": False,
    }
