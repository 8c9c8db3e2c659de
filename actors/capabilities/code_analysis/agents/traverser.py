"""Carries out the plan step by step and reports facts instead of raw output.

Every range that a tool returned is recorded; the answer may cite no others. A step that fails leaves its errors in its
report, and the other steps continue.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from actors.capabilities.code_analysis.agents.context_limits import (
    capped,
    forbids,
    may_read,
    slices_cut,
    texts_cut,
    tree_cut,
)
from actors.capabilities.code_analysis.agents.explained_steps import explained_steps
from actors.capabilities.code_analysis.agents.found_places import found_places
from actors.capabilities.code_analysis.agents.retries import with_retries
from actors.capabilities.code_analysis.answers.named_types.comparison import compared
from actors.capabilities.code_analysis.answers.named_types.members import PRIVATE, VALUES, is_hidden
from actors.capabilities.code_analysis.evidence.commits import CommitNote, commits_of
from actors.capabilities.code_analysis.evidence.facts import CodeFact, ProducedRange, distinct, facts_of, ranges_of
from actors.capabilities.code_analysis.evidence.steps import Step, StepReport
from actors.capabilities.code_analysis.handover.execution import CodeRead, ContextSize, ExecutionOutput, traversed_of
from actors.capabilities.code_analysis.handover.explained import ExplainedSteps
from actors.capabilities.code_analysis.handover.intent import intent_of
from actors.capabilities.code_analysis.handover.passes import passes_of
from actors.capabilities.code_analysis.handover.perception import perception_of
from actors.capabilities.code_analysis.handover.plan import group_of, plan_of
from actors.capabilities.code_analysis.handover.reading import written
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.kinds import kind_of
from actors.capabilities.code_analysis.ranking.answer_order import in_answer_order
from actors.capabilities.code_analysis.ranking.delegation import passed_on, ranked_places
from actors.capabilities.code_analysis.ranking.relevance import Entity, is_named
from actors.capabilities.code_analysis.session import recall
from runtime.agents.capability import StageContext, StageResult
from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.search.presence.absence import Absence
from runtime.codebase.tool_registry import remembered_of
from runtime.run.stage_view import StageView

MAX_FACTS_PER_STEP = 60
# Each part of a repository has several.
MAX_FACTS_OF_OVERVIEW = 140
CODE_CHARS_PER_TOKEN = 4
MAX_RETRIES_PER_STEP = 2
# Purposes of steps that search for all of the question.
WHOLE_QUESTION = frozenset({"answer", "listing", "find"})


class StepRun(msgspec.Struct):
    """Holds a step with its results in order, their facts, and the bounds that forbade some of its calls."""

    step: Step
    results: list[ToolResult]
    facts: list[CodeFact]
    forbidden_by: list[str] = []


async def traverse(context: StageContext, view: StageView) -> StageResult:
    """Run the steps of the plan in order; in a fan-out, those of one independent group."""
    started_s = time.perf_counter()
    codebase: Codebase = context.services.codebase(perception_of(view).repository)
    steps = plan_of(view).steps if view.item is None else group_of(view.item)
    done: dict[str, StepRun] = {}
    context.tools.warm_up({step.tool for step in steps})
    question = intent_of(view).question
    files = _files_of_earlier_passes(view)
    max_retries = view.context_bounds.get("max_retries_per_step", MAX_RETRIES_PER_STEP)
    for step in steps:
        wanted = _calls(step, question, done)
        calls = _permitted(step.tool, wanted, files, view.context_bounds)
        results = [await _called(context, codebase, step.tool, given, max_retries) for given in calls]
        found = [fact for result in results for fact in _facts(step, question, result, view.context_bounds)]
        files |= {fact.citation.file for fact in found if fact.kind == "code"}
        bounds = [forbids(step.tool, view.context_bounds)] if len(calls) < len(wanted) else []
        done[step.id] = StepRun(step, results, found, bounds)
    facts = _within(distinct(fact for run in done.values() for fact in run.facts), view, steps)
    results = [result for run in done.values() for result in run.results]
    output = ExecutionOutput(
        results=[_report(run) for run in done.values()],
        facts=facts,
        code_read=_code_read(facts),
        ranges=_sorted_ranges(produced for result in results for produced in ranges_of(result)),
        commits=_each_once(commit for result in results for commit in commits_of(result)),
        files_read=sorted({fact.citation.file for run in done.values() for fact in run.facts if fact.kind == "code"}),
        context=_context_size(results, facts),
        all_succeeded=all(result.usable for result in results),
        attempt_history={
            step_id: [attempt for result in run.results for attempt in result.attempts] for step_id, run in done.items()
        },
        total_time_ms=int((time.perf_counter() - started_s) * 1000),
        meaning=_meaning(result.data.get("meaning") for result in results),
        absence=_absence(done.values()),
        part_absences=_part_absences(done.values()),
        explained=await _explained(context, view, codebase, done.values()),
    )
    return StageResult(written(output))


async def _called(
    context: StageContext, codebase: Codebase, tool: str, given: dict[str, Any], max_retries: int
) -> ToolResult:
    """Call a tool with retries; a tool that explores a symbol also gets the relations remembered of it."""
    if symbol_in := remembered_of(tool):
        remembered = await recall.recall_relations(context, codebase, [str(given.get(symbol_in, ""))])
        codebase = codebase.remembering(remembered)
    made = 0

    async def call(asked: dict[str, Any]) -> ToolResult:
        # The second call after a timeout counts as a retry itself.
        nonlocal made
        made += 1
        return await context.tools.call(tool, codebase.retrying(max_retries - made + 1), asked)

    return await with_retries(tool, given, call, max_retries)


async def gather_groups(context: StageContext, view: StageView) -> StageResult:
    """Merge the results of independent groups in the plan's order, as if one traverser had run them all."""
    groups = traversed_of(view)
    place = {step.id: number for number, step in enumerate(plan_of(view).steps)}
    found = [fact for group in groups for fact in group.facts]
    facts = _within(distinct(sorted(found, key=lambda fact: place[fact.step])), view, plan_of(view).steps)
    reports = [report for group in groups for report in group.results]
    attempts = [tried for group in groups for tried in group.attempt_history.items()]
    output = ExecutionOutput(
        results=sorted(reports, key=lambda report: place[report.step]),
        facts=facts,
        code_read=_code_read(facts),
        ranges=_sorted_ranges(produced for group in groups for produced in group.ranges),
        commits=_each_once(commit for group in groups for commit in group.commits),
        files_read=sorted({file for group in groups for file in group.files_read}),
        context=ContextSize(
            sum(group.context.raw_tokens for group in groups), sum(group.context.fact_tokens for group in groups)
        ),
        all_succeeded=all(group.all_succeeded for group in groups),
        attempt_history=dict(sorted(attempts, key=lambda tried: place[tried[0]])),
        total_time_ms=sum(group.total_time_ms for group in groups),
        meaning=_meaning(group.meaning for group in groups),
        absence=next((group.absence for group in groups if group.absence is not None), None),
        part_absences={step: absence for group in groups for step, absence in group.part_absences.items()},
        explained=_explanations_joined([group.explained for group in groups if group.explained]),
    )
    return StageResult(written(output))


def _meaning(shares: Iterable[float | None]) -> float | None:
    """Return the least share of the pieces that a search could compare by meaning; None if none did."""
    return min((share for share in shares if share is not None), default=None)


def _absence(runs: Iterable[StepRun]) -> Absence | None:
    """Return what the search for the whole question found to be nowhere; None without such a search."""
    found = (run.results[0].data.get("absence") for run in runs if run.step.purpose in WHOLE_QUESTION and run.results)
    absence = next(filter(None, found), None)
    return None if absence is None else msgspec.convert(absence, Absence)


async def _explained(
    context: StageContext, view: StageView, codebase: Codebase, runs: Iterable[StepRun]
) -> ExplainedSteps | msgspec.UnsetType:
    """Record how the tools came to their results, if the answer is to be explained."""
    if not view.metadata.get("explain"):
        return msgspec.UNSET
    called = [(run.step, result) for run in runs for result in run.results if result.usable]
    return await context.run_blocking(explained_steps, codebase, called)


def _explanations_joined(explained: Sequence[ExplainedSteps]) -> ExplainedSteps | msgspec.UnsetType:
    if not explained:
        return msgspec.UNSET
    places = [place for one in explained for place in one.places]
    return ExplainedSteps(places, [proof for one in explained for proof in one.proofs])


def _part_absences(runs: Iterable[StepRun]) -> dict[str, Absence]:
    """Return what the search for each part of the question found to be nowhere, by its step."""
    searched = ((run.step.id, run.results[0].data) for run in runs if run.step.purpose == "part" and run.results)
    return {step: msgspec.convert(data["absence"], Absence) for step, data in searched if data.get("absence")}


def _calls(step: Step, question: Question, done: dict[str, StepRun]) -> list[dict[str, Any]]:
    """Return the argument sets of a step: its own, or one for each of the best places that earlier steps found."""
    if not step.top_of:
        return [step.arguments]
    facts = [fact for step_id in step.top_of if step_id in done for fact in done[step_id].facts]
    if step.in_order:
        already = [fact for run in done.values() for fact in run.facts if fact.kind == "code"]
        return [{**step.arguments, **place} for place in found_places(facts, already)][: step.count]
    calls: list[dict[str, Any]] = []
    if step.as_ranked:
        places = in_answer_order(distinct(facts))[: step.count]
        return [{**step.arguments, **_filled(step, _place_of(place.fact))} for place in places]
    ranked = ranked_places(question, distinct(facts))
    if step.passed_on:
        delegate = passed_on(ranked[0], facts) if ranked else None
        return [] if delegate is None else [{**step.arguments, **_filled(step, _place_of(delegate))}]
    for entity in of_names(question, ranked) if step.named_only and question.identifiers else ranked:
        place = entity.as_document()
        values = _filled(step, place)
        if all(values.values()) and values not in calls:
            calls.append(values)
    return [{**step.arguments, **values} for values in calls[: step.count]]


def _filled(step: Step, place: Mapping[str, Any]) -> dict[str, Any]:
    return {parameter: place.get(field) for parameter, field in step.fill.items()}


def _place_of(fact: CodeFact) -> dict[str, Any]:
    cited = fact.citation
    return {"name": fact.name, "file": cited.file, "start_line": cited.start_line, "end_line": cited.end_line}


def _permitted(
    tool: str, calls: list[dict[str, Any]], files: set[str], bounds: Mapping[str, int]
) -> list[dict[str, Any]]:
    """Return the calls within the context bounds; reads beyond the limit of files are left out."""
    within = [given for call in calls if (given := capped(tool, call, bounds)) is not None]
    if tool != "read_code":
        return within
    kept: list[dict[str, Any]] = []
    read = set(files)
    for given in within:
        if given.get("path") is None or may_read(given["path"], read, bounds):
            kept.append(given)
            read |= {given["path"]} if given.get("path") else set()
    return kept


def _facts(step: Step, question: Question, result: ToolResult, bounds: Mapping[str, int]) -> list[CodeFact]:
    found = facts_of(step, result)
    if step.purpose == "members":
        return _members(step, question, found, result.truncated, bounds)
    if step.tool == "map_module":
        return tree_cut(found[:MAX_FACTS_PER_STEP], bounds)
    limit = MAX_FACTS_OF_OVERVIEW if step.tool == "describe_folder" else MAX_FACTS_PER_STEP
    return slices_cut(_some_of_each_kind(found, limit), bounds)


def _members(
    step: Step, question: Question, found: list[CodeFact], is_cut: bool, bounds: Mapping[str, int]
) -> list[CodeFact]:
    """Return all members of the compared types, or none: a part cannot show what a type does not define.

    Of a type that is not compared, members say what they do, and a part is better than none. A step that maps a file,
    rather than a name in it, keeps the rest of the file too; if the members are incomplete, its facts only describe the
    structure of the file.
    """
    own = members_of(found, question.identifiers)
    if not kind_of(question).names_each:
        return _described(own, found, is_cut, bounds)
    whole = [] if is_cut or len(tree_cut(own, bounds)) < len(own) else own
    if step.named_only:
        return whole
    kept = tree_cut(found[:MAX_FACTS_PER_STEP], bounds)
    if not whole:
        return [msgspec.structs.replace(fact, purpose="structure") for fact in kept]
    places = {fact.place for fact in whole}
    return [*(fact for fact in kept if fact.place not in places), *whole]


def _described(
    members: Sequence[CodeFact], found: Sequence[CodeFact], is_cut: bool, bounds: Mapping[str, int]
) -> list[CodeFact]:
    """Return members with what they say of themselves, else as they are declared, as far as the limit of a map allows.

    What a type does goes before the values it holds. Each has `more` where not all are there.
    """
    declared = {fact.place: fact for fact in found if fact.kind == "definition"}
    told = []
    for fact in sorted(members, key=lambda fact: fact.symbol_kind in VALUES):
        whole = declared[fact.place]
        said = {"docstring": whole.docstring} if whole.docstring else {"signature": fact.signature or whole.signature}
        told.append(msgspec.structs.replace(fact, **said))
    kept = tree_cut(told, bounds)
    return [msgspec.structs.replace(fact, more=is_cut or len(kept) < len(told)) for fact in kept]


def _some_of_each_kind(facts: Sequence[CodeFact], limit: int) -> list[CodeFact]:
    """Return at most `limit` facts in order; kinds take turns, so that none is crowded out."""
    if len(facts) <= limit:
        return list(facts)
    turns: dict[str, int] = {}
    numbered: list[tuple[int, int]] = []
    for number, fact in enumerate(facts):
        turns[fact.kind] = turns.get(fact.kind, 0) + 1
        numbered.append((turns[fact.kind], number))
    return [facts[number] for number in sorted(number for _, number in sorted(numbered)[:limit])]


def of_names(question: Question, ranked: Sequence[Entity]) -> list[Entity]:
    """Return the places that bear a name of the question; in a comparison, the best of each name first."""
    named = [entity for entity in ranked if is_named(entity.name, question.identifiers)]
    if not kind_of(question).names_each:
        return named
    firsts = compared(question.identifiers, named)
    return [*firsts, *(entity for entity in named if entity not in firsts)]


def members_of(facts: Sequence[CodeFact], names: Sequence[str]) -> list[CodeFact]:
    """Return the members of the named types, without docstrings and signatures except a `private` mark."""
    kinds = {fact.name: fact.symbol_kind for fact in facts if fact.kind == "definition"}
    owned = [fact for fact in facts if fact.kind == "definition" and is_named(_owner(fact), names)]
    return [
        msgspec.structs.replace(
            fact, docstring="", signature=PRIVATE if is_hidden(fact, kinds.get(_owner(fact), "")) else ""
        )
        for fact in owned
    ]


def _owner(fact: CodeFact) -> str:
    return fact.name.rpartition(".")[0]


def _files_of_earlier_passes(view: StageView) -> set[str]:
    """Return the files that earlier passes of this query read."""
    return {file for done in passes_of(view) for file in done.files_read}


def _code_read(facts: Sequence[CodeFact]) -> list[CodeRead]:
    """Record each text of code that is passed on."""
    return [CodeRead(fact.citation.file, fact.citation.start_line, len(fact.text)) for fact in facts if fact.text]


def _code_of_earlier_passes(view: StageView) -> dict[tuple[str, int], int]:
    """Map (file, first line) to the characters of code that earlier passes of this query passed on."""
    passed_chars: dict[tuple[str, int], int] = {}
    for read in (read for done in passes_of(view) for read in done.code_read):
        place = (read.file, read.start_line)
        passed_chars[place] = max(read.chars, passed_chars.get(place, 0))
    return passed_chars


def _within(facts: list[CodeFact], view: StageView, steps: Sequence[Step]) -> list[CodeFact]:
    """Cut texts of code where the query's budget ends; text that an earlier pass already passed on is counted once."""
    known = _code_of_earlier_passes(view)
    budget_tokens = view.context_bounds.get("max_total_code_tokens", 12_000)
    left_chars = budget_tokens * CODE_CHARS_PER_TOKEN - sum(known.values())
    return texts_cut(facts, left_chars, known, {step.id for step in steps if step.in_order})


def _context_size(results: Sequence[ToolResult], facts: Sequence[CodeFact]) -> ContextSize:
    """Estimate the tokens of the tools' output and of the facts passed on in its place, both as JSON."""
    raw = sum(len(msgspec.json.encode((result.data, result.citations))) for result in results)
    return ContextSize(raw // CODE_CHARS_PER_TOKEN, len(msgspec.json.encode(facts)) // CODE_CHARS_PER_TOKEN)


def _each_once(commits: Iterable[CommitNote]) -> list[CommitNote]:
    """Return every commit that a tool returned, each once: an answer may mention no others."""
    return list({commit.hash: commit for commit in commits}.values())


def _report(run: StepRun) -> StepReport:
    return StepReport(
        step=run.step.id,
        tool=run.step.tool,
        status=run.results[0].status if run.results else "empty",
        calls=len(run.results),
        attempts=sum(len(result.attempts) for result in run.results),
        found=sum(len(result.citations) for result in run.results),
        truncated=any(result.truncated for result in run.results),
        is_shallow=any(result.data.get("boundary") for result in run.results),
        errors=[result.error for result in run.results if result.error],
        forbidden_by=run.forbidden_by,
    )


def _sorted_ranges(ranges: Iterable[ProducedRange]) -> list[ProducedRange]:
    return sorted(set(ranges), key=lambda made: (made.file, made.start_line, made.end_line, made.content_sha256))
