"""Assembles the answer from finished rounds, and admits only checked claims.

Every citation must lie within lines that a tool of this run returned, in a file whose content is unchanged, and contain
what it quotes. A claim with a failing citation is dropped and counted. (Over 400 lines: what decides whether a claim is
told, and in what order, is read together.)
"""

from __future__ import annotations

import functools
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from actors.capabilities.code_analysis.agents.answer_parts import answer_parts, unanswered
from actors.capabilities.code_analysis.agents.answer_trust import (
    NAMES_NOT_TOLD,
    confidence_of_relations,
    trust_of,
    undefined_names,
)
from actors.capabilities.code_analysis.agents.claim_checks import (
    holds_its_quotes,
    shows_its_lines,
    tells_true_commits,
    told_with_lines,
)
from actors.capabilities.code_analysis.agents.collected_claims import (
    Collected,
    claims_dropped,
    claims_struck,
    collected_claims,
    model_unused,
)
from actors.capabilities.code_analysis.agents.incomplete_reasons import (
    bound_reached,
    ended_because,
    failure_in,
    not_looked_for,
    remarks,
    reports_of,
)
from actors.capabilities.code_analysis.agents.unreadable_paths import folders_not_read, not_read
from actors.capabilities.code_analysis.answers.absence.no_uses import no_uses
from actors.capabilities.code_analysis.answers.composition import compose, history_reason, ranked_citations
from actors.capabilities.code_analysis.answers.confidence import SURELY_NOT
from actors.capabilities.code_analysis.answers.findings import (
    Finding,
    citation_document,
    cited_commits,
    commit_document,
)
from actors.capabilities.code_analysis.answers.places.likely_places import likely_places
from actors.capabilities.code_analysis.answers.reasoned_by import with_note
from actors.capabilities.code_analysis.answers.told_answer import citations_in_order, in_order, told_answer
from actors.capabilities.code_analysis.evidence.claims import (
    ROLES_OF_COMMITS,
    Claim,
    plain,
    render,
)
from actors.capabilities.code_analysis.evidence.commits import CommitNote
from actors.capabilities.code_analysis.evidence.facts import ProducedRange
from actors.capabilities.code_analysis.handover.answer import (
    AnswerCitation,
    AnswerCommit,
    AnswerFinding,
    AnswerOutput,
    AnswerPart,
    LeftOutClaim,
)
from actors.capabilities.code_analysis.handover.execution import execution_if_any
from actors.capabilities.code_analysis.handover.intent import intent_if_any
from actors.capabilities.code_analysis.handover.passes import last_pass, passes_of
from actors.capabilities.code_analysis.handover.perception import perception_if_any, perception_of
from actors.capabilities.code_analysis.handover.reading import read, written
from actors.capabilities.code_analysis.question.analysis import Question, analyse
from actors.capabilities.code_analysis.session import entity_graph, recall
from actors.capabilities.code_analysis.session.relation_facts import relations_of
from actors.capabilities.code_analysis.session.remembered import SessionTurn
from actors.capabilities.code_analysis.session.traversal_state import Explored, Snippet, for_session, grown, patterns_of
from runtime.agents.capability import StageContext, StageResult
from runtime.codebase.citation import Citation
from runtime.codebase.citation_check import EvidenceVerdict, ProducedRanges, check_citation
from runtime.codebase.codebase import Codebase
from runtime.errors import JeevesError
from runtime.run.stage_view import StageView

log = logging.getLogger(__name__)

TURN_ANSWER_CHARS = 600
MAX_LEFT_OUT = 20

Check = Callable[[Codebase, Citation, ProducedRanges], EvidenceVerdict]
CommitCheck = Callable[[Codebase, Claim, Sequence[CommitNote]], bool]


async def integrate(
    context: StageContext,
    view: StageView,
    check: Check = check_citation,
    check_commits: CommitCheck | None = None,
) -> StageResult:
    """Check every claim against the files and git, assemble the answer, and store the session's turn."""
    answer, turn = await assemble(context, view, check, check_commits)
    return StageResult(written(await remember_all(context, view, answer, turn)))


async def remember_all(
    context: StageContext,
    view: StageView,
    answer: AnswerOutput,
    turn: SessionTurn | None,
    *,
    with_answer: bool = True,
) -> AnswerOutput:
    """Store the turn, the traversal state, the answer and summaries of files; the answer records what was stored.

    `with_answer`: whether other sessions may use the answer. Claims that `answer` no longer cites are not stored, nor
    those of a model that no judge has confirmed.
    """
    kept_turn = await remember(context, view, turn)
    perceived = perception_if_any(view)
    if perceived is None or perceived.repository is None:
        return msgspec.structs.replace(answer, memory_updated=kept_turn, traversal_state_persisted=False)
    codebase = context.services.codebase(perceived.repository)
    collected = collected_claims(view)
    held, _, _ = await context.run_blocking(_checked, codebase, collected, check_citation)
    cited = {citation.place for citation in answer.citations}
    checked = [
        claim
        for held_claims in held.values()
        for claim in held_claims
        if all((c.file, c.start_line, c.end_line) in cited for c in claim.citations)
        and all(commit.short in answer.final_response for commit in claim.commits)
        # What a model wrote is known only once a judge has seen its lines.
        and (collected.draft is None or claim.judged)
    ]
    kept_answer = False
    if with_answer and view.ended_by is None and not answer.partial and answer.status != "not_found":
        kept_answer = await recall.keep_answer(context, codebase, _question(view).text, checked, view.session_id)
    execution = execution_if_any(view)
    found = [] if execution is None else execution.facts
    kept_facts = await recall.keep_summaries(context, found, collected.ranges)
    kept_facts |= await recall.keep_relations(context, codebase, relations_of(found, collected.ranges))
    state = grown(for_session(perceived.traversal_state, view.session_id), _explored(view, answer))
    named = _question(view)
    state = msgspec.structs.replace(
        state, graph=entity_graph.grown(state.graph, checked, named.identifiers or named.paths)
    )
    kept_state = await recall.keep_state(context, view, state)
    is_updated = kept_turn or kept_answer or kept_facts
    return msgspec.structs.replace(answer, memory_updated=is_updated, traversal_state_persisted=kept_state)


def _explored(view: StageView, answer: AnswerOutput) -> Explored:
    """Summarise what this run touched, for the session's traversal state."""
    passes, execution, intent = passes_of(view), execution_if_any(view), intent_if_any(view)
    claims = [claim for found in collected_claims(view).claims.values() for claim in found]
    files_read = {file for done in passes for file in done.files_read}
    files_read |= set() if execution is None else set(execution.files_read)
    return Explored(
        intent="" if intent is None else intent.intent,
        files=tuple(file for file in answer.files_examined if file in files_read),
        symbols=tuple(entity.name for done in passes for entity in done.entities if entity.name),
        pending_files=tuple(dict.fromkeys(cited.file for cited in answer.citations if cited.file not in files_read)),
        pending_symbols=tuple(claim.subject for claim in claims if claim.role == "step" and claim.subject),
        snippets=tuple(Snippet(*cited.place, cited.quote) for cited in answer.citations),
        calls=tuple(f"{claim.source} -> {claim.subject}" for claim in claims if claim.role == "step" and claim.source),
        passes=len(passes),
        tokens=sum(done.context.fact_tokens for done in passes),
        scope=next(iter(_question(view).paths), ""),
        patterns=patterns_of(answer.files_examined),
        languages=tuple(sorted(perception_of(view).stats.by_language)),
    )


async def assemble(
    context: StageContext,
    view: StageView,
    check: Check = check_citation,
    check_commits: CommitCheck | None = None,
) -> tuple[AnswerOutput, SessionTurn | None]:
    """Build the answer from checked claims, and the session's turn; nothing is stored yet."""
    perceived = perception_if_any(view)
    if perceived is None or perceived.repository is None:
        nothing = without_answer(view, "Nothing was looked at: the run ended before the repository was opened.")
        return msgspec.structs.replace(nothing, status="not_found", confidence=0.0), None
    codebase = context.services.codebase(perceived.repository)
    collected = collected_claims(view)
    checked, dropped, left_out = await context.run_blocking(_checked, codebase, collected, check, check_commits)
    if collected.unreadable:
        dropped["unreadable"] = collected.unreadable
    question = _question(view)
    goals = [goal for goal in view.goals.goals if goal.status != "dropped"]
    findings = [Finding(goal, tuple(checked.get(goal.id, ()))) for goal in goals]
    citations = citations_in_order(in_order(findings)) if collected.draft else ranked_citations(findings)
    # When nothing was found, name a bound that forbade searching: «not found» would claim too much.
    ended_by = view.ended_by or (None if citations else bound_reached(view))
    is_empty = not citations and not cited_commits(findings)
    trusted = await _trusted(context, view, codebase, question, findings, collected, ended_by, is_empty=is_empty)
    is_found, confidence = trusted.is_found, trusted.confidence
    if citations and not is_found:
        findings = await context.run_blocking(
            likely_places, findings, question.terms, functools.partial(holds_its_quotes, codebase)
        )
        citations = ranked_citations(findings)
    skipped = perceived.stats.skipped
    parts = answer_parts(view, question, findings, collected, confidence, is_found=is_found)
    answer = _composed(view, question, findings, skipped, ended_by, collected, trusted, parts)
    unread = folders_not_read(perceived.stats.notes)
    unread += await context.run_blocking(_not_read, codebase, question, findings, citations)
    answer = "\n\n".join((answer, *unread))
    commits = [commit_document(commit) for commit in cited_commits(findings)]
    output = AnswerOutput(
        final_response=with_note(answer, view.outputs, model_unused(view)),
        citations=read("integration", list(map(citation_document, citations)), list[AnswerCitation]),
        commits=read("integration", commits, list[AnswerCommit]),
        parts=parts,
        findings=read("integration", [finding.as_document() for finding in findings], list[AnswerFinding]),
        files_examined=sorted({produced.file for produced in collected.ranges}),
        open_goals=[goal.text for goal in view.goals.unanswered],
        partial=bool(view.failures) or last_pass(view).route == "complete_limit",
        confidence=confidence,
        status="answered" if is_found else "not_found",
        ended_because=ended_because(view),
        bound=bound_reached(view),
        citations_dropped=dict(dropped),
        claims_left_out=left_out[:MAX_LEFT_OUT] or msgspec.UNSET,
        claims_dropped=claims_dropped(view) or msgspec.UNSET,
        claims_struck=claims_struck(view) or msgspec.UNSET,
        model_unused=model_unused(view) or msgspec.UNSET,
        events_logged=len(view.goals.finished_rounds),
    )
    return output, _turn(context, view, question, findings)


class _Trusted(NamedTuple):
    """Holds how far an answer is trusted: whether it is found, or may be there all the same, and is good.

    `undefined`: the names of the question, if nothing bears any of them.
    """

    is_found: bool
    may_be_there: bool
    confidence: float | None
    undefined: tuple[str, ...]


async def _trusted(
    context: StageContext,
    view: StageView,
    codebase: Codebase,
    question: Question,
    findings: Sequence[Finding],
    collected: Collected,
    ended_by: str | None,
    *,
    is_empty: bool,
) -> _Trusted:
    """Return whether it is found, how likely the answer is good, and the question's names if nothing bears them."""
    trust = trust_of(view, collected, is_empty=is_empty)
    undefined: tuple[str, ...] = ()
    is_of_relations = collected.draft is None and trust is None and ended_by is None
    if is_of_relations and not is_empty:
        undefined = await context.run_blocking(undefined_names, codebase, question, findings)
        trust = NAMES_NOT_TOLD if undefined else None
    # Claims that a judge left standing are an answer, however unsure of the whole it is.
    is_found = trust is None or trust.is_found or (collected.draft is not None and not is_empty)
    confidence = trust.confidence if trust is not None else None
    if is_of_relations and trust is None:
        confidence = confidence_of_relations(question, findings)
    may_be_there = trust is not None and trust.presence >= SURELY_NOT
    return _Trusted(is_found, may_be_there, confidence, undefined)


def _not_read(
    codebase: Codebase, question: Question, findings: Sequence[Finding], citations: Sequence[Citation]
) -> list[str]:
    """Say which paths that the question names were not read."""
    told = "\n".join(render(claim) for finding in findings for claim in finding.claims)
    return not_read(codebase, question.text, told, [citation.file for citation in citations])


def _composed(
    view: StageView,
    question: Question,
    findings: Sequence[Finding],
    skipped: Mapping[str, int],
    ended_by: str | None,
    collected: Collected,
    trusted: _Trusted,
    parts: Sequence[AnswerPart],
) -> str:
    """Word the answer: a model's as it wrote it, otherwise by the rules."""
    draft, failure = collected.draft, failure_in(view)
    if draft is None:
        reasons = missing_reasons(view)
        execution = execution_if_any(view)
        facts = [] if execution is None else execution.facts
        return compose(
            *(question, findings, skipped, ended_by, remarks(view), reasons, failure),
            is_found=trusted.is_found,
            may_be_there=trusted.may_be_there,
            confidence=trusted.confidence,
            unanswered=unanswered(parts) if trusted.is_found else (),
            absence=None if execution is None else execution.absence,
            undefined=trusted.undefined,
            unused=no_uses(question.identifiers, facts, reports_of(view)),
        )
    claims = in_order(findings)
    ended = [f"This answer is partial: {failure}."] if failure is not None else []
    ended += [f"This answer is partial: the run was ended by a bound ({ended_by})."] if ended_by is not None else []
    of_its_making = ended or (remarks(view) if claims else [])
    was_struck = bool(claims_struck(view)) or bool(collected.claims)
    understood = intent_if_any(view)
    readings = [] if understood is None else understood.ambiguities
    told = (claims, draft.open_questions, draft.contradictions, readings)
    return told_answer(*told, was_struck, skipped, of_its_making)


def _question(view: StageView) -> Question:
    """Return the question as intent read it; analysed anew when intent was not reached."""
    intent = intent_if_any(view)
    return analyse(perception_of(view).normalized_input) if intent is None else intent.question


def missing_reasons(view: StageView) -> dict[str, str]:
    """Map aspects to the reason why nothing was found for them, where the steps give one."""
    steps = reports_of(view)
    reasons: dict[str, str] = {}
    for aspect, tool in (("history", "explain_code_history"), ("together", "find_related")):
        reports = [step for step in steps if step.tool == tool]
        if reports:
            reasons[aspect] = history_reason(reports)
    return reasons | not_looked_for(view)


def _checked(
    codebase: Codebase, collected: Collected, check: Check, check_commits: CommitCheck | None = None
) -> tuple[dict[str, list[Claim]], Counter[str], list[LeftOutClaim]]:
    """Return the claims that hold, count the dropped citations or claims by reason, and name those claims."""
    produced: dict[str, list[ProducedRange]] = {}
    for made in collected.ranges:
        produced.setdefault(made.file, []).append(made)
    kept: dict[str, list[Claim]] = {}
    dropped: Counter[str] = Counter()
    left_out: list[LeftOutClaim] = []
    by_model = collected.draft is not None
    for goal, claims in collected.claims.items():
        for told in claims:
            claim = told_with_lines(codebase, told)
            verdicts = [_verdict(codebase, citation, produced, check) for citation in claim.citations]
            bad = [str(verdict.reason) for verdict in verdicts if not verdict.valid]
            if any(plain(citation.file) != citation.file for citation in claim.citations):
                bad.append("name_like_a_mark")
            if not bad and claim.code and not shows_its_lines(codebase, claim):
                bad = ["code_missing"]
            if not bad and not holds_its_quotes(codebase, claim, collected.asked, by_model=by_model):
                bad = ["quote_missing"]
            if not bad and not (check_commits or tells_true_commits)(codebase, claim, collected.commits):
                bad = ["commit_not_produced"]
            if not claim.citations and not (claim.commits and claim.role in ROLES_OF_COMMITS):
                bad = bad or ["no_citation"]
            if bad:
                dropped.update(bad)
                left_out.append(LeftOutClaim(claim.text, [citation.mark for citation in claim.citations], bad))
            else:
                kept.setdefault(goal, []).append(claim)
    return kept, dropped, left_out


def _verdict(
    codebase: Codebase, citation: Citation, produced: Mapping[str, Sequence[ProducedRange]], check: Check
) -> EvidenceVerdict:
    """Check a citation against each version of its file that a tool read.

    A claim need not carry the file's hash: it is taken from the range that a tool returned.
    """
    around = [
        made
        for made in produced.get(citation.file, ())
        if made.start_line <= citation.start_line and citation.end_line <= made.end_line
    ]
    verdict = None
    for sha256 in dict.fromkeys(made.content_sha256 for made in around):
        if citation.content_sha256 in ("", sha256):
            spans = [(made.start_line, made.end_line) for made in around if made.content_sha256 == sha256]
            read = msgspec.structs.replace(citation, content_sha256=sha256)
            verdict = check(codebase, read, {citation.file: spans})
            if verdict.valid:
                return verdict
    return verdict or check(codebase, citation, {})


def _turn(context: StageContext, view: StageView, question: Question, findings: list[Finding]) -> SessionTurn | None:
    if view.session_id is None:
        return None
    primary_claims = [
        claim for finding in findings for claim in finding.claims if claim.role == "lead" and claim.citations
    ]
    return SessionTurn(
        question=question.text,
        answer=" ".join(claim.text for claim in primary_claims)[:TURN_ANSWER_CHARS],
        at_ms=context.clock.now_ms(),
        repo=str(view.metadata["repo"]),
        files=tuple(dict.fromkeys(claim.citations[0].file for claim in primary_claims)),
        symbols=tuple(dict.fromkeys(claim.subject for claim in primary_claims if claim.subject)),
    )


async def remember(context: StageContext, view: StageView, turn: SessionTurn | None) -> bool:
    """Store a session turn and return whether that succeeded; a failure is logged and does not stop the answer."""
    if view.session_id is None or turn is None:
        return False
    asked = {"session_id": view.session_id, "turn": msgspec.structs.asdict(turn)}
    try:
        await context.queries.query("session.append", asked)
    except JeevesError as error:
        log.warning("session.turn_not_kept", extra={"run_id": context.key.run_id, "error": error.message})
        return False
    return True


def without_answer(view: StageView, why: str) -> AnswerOutput:
    """Build the output of a run without an answer, with the reason as its text."""
    left = [goal.text for goal in view.goals.unanswered]
    return AnswerOutput(final_response=why, citations=[], open_goals=left, partial=True)
