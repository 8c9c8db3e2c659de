"""Chooses the tool calls for each goal. The rules reasoner plans by the kind of question.

A step may depend on an earlier one: `top_of` names steps for whose best results it is repeated, so that one round finds
a place and reads it. (Over 400 lines: the steps of all kinds of questions are kept together.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from actors.capabilities.code_analysis.agents.tool_choice import avoided_tools
from actors.capabilities.code_analysis.answers.how_to import GUIDE_LINES, MAX_GUIDES, READ_GUIDES
from actors.capabilities.code_analysis.answers.listing import type_name
from actors.capabilities.code_analysis.evidence.steps import DELEGATION_KINDS, Purpose, Step
from actors.capabilities.code_analysis.handover.critique import CritiqueOutput, critique_if_any
from actors.capabilities.code_analysis.handover.intent import intent_of
from actors.capabilities.code_analysis.handover.passes import pass_record
from actors.capabilities.code_analysis.handover.perception import memory_of, perception_if_any
from actors.capabilities.code_analysis.handover.plan import PlanOutput, plan_if_any, read_plan
from actors.capabilities.code_analysis.handover.reading import written
from actors.capabilities.code_analysis.question.action import Deed, deed_of, is_on_request
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.aspects import aspect_of
from actors.capabilities.code_analysis.question.hints import with_hint
from actors.capabilities.code_analysis.question.listing_scope import ALL, OPEN_KINDS, TYPE_KINDS, kinds_listed
from actors.capabilities.code_analysis.question.parts import asking_parts
from actors.capabilities.code_analysis.ranking.answer_order import PART
from actors.capabilities.code_analysis.session import recall
from runtime.agents.capability import StageContext, StageInput, StageResult
from runtime.agents.profile import AgentProfile
from runtime.codebase.files.words import index_terms
from runtime.codebase.knowledge.earlier_answers import EarlierAnswer
from runtime.codebase.search.named_values import VALUES
from runtime.run.goals import Goal
from runtime.run.stage_view import StageView
from runtime.tools.executor import NONE_LEFT

LOCATED_PER_STEP = 20
LISTED_PER_STEP = 40
MAX_NAMED = 4
MAX_WORDS = 6
READ_PLACES = 4
READ_LINES = 80
WHOLE_LINES = 200
TRACED_CALLS = 3
MAX_RECALLED = 2
HISTORIES = 2
COMPARED = 2
MAX_RELATED = 50
MAX_DOCUMENTS = 4
ANSWERING_PLACES = 12
MAX_PARTS = 3
HEAD_START_S = 2.0
FEASIBILITY = "feasibility"
MIN_FEASIBILITY = 40

PROFILE = AgentProfile(thresholds={FEASIBILITY: MIN_FEASIBILITY}, latency_budget_ms=30_000)


async def gather(context: StageContext, view: StageView) -> StageInput:
    """Collect the planner's input: the question, the goals that are ready, and the available tools."""
    intent = intent_of(view)
    critique = _replanned_by(view)
    hint = _hint_of(critique)
    # Only a hint of the critic's own names something; the ones that are generated say how to look.
    is_own = critique is not None and critique.because == "asked_again"
    listed = await context.tools.call("list_tools", None, {})
    tools = [entry["name"] for entry in _tools_of(listed)]
    measured = await _measured(context, view)
    avoided = avoided_tools(measured, tools)
    return StageInput(
        {
            "question": with_hint(intent.question, hint) if hint and is_own else intent.question,
            "goals": view.goals.ready,
            "round": view.goals.round_number,
            "pass": len(view.goals.finished_rounds) + _tries(view),
            "is_wider": intent.is_wider,
            "tools": [tool for tool in tools if tool not in avoided],
            "measured": measured,
            "avoided": list(avoided.values()),
            "none_left": (listed.error or "").endswith(NONE_LEFT),
            "earlier": memory_of(view).earlier_answers,
            "hint": hint or intent.hint_used,
        }
    )


async def _measured(context: StageContext, view: StageView) -> list[dict[str, Any]]:
    perceived = perception_if_any(view)
    if perceived is None or perceived.repository is None:
        return []
    return await recall.recall_tool_metrics(context, str(perceived.repository["root"]))


def _replanned_by(view: StageView) -> CritiqueOutput | None:
    """Return the critique that sent the run back to the planner; None where there is none."""
    critique = critique_if_any(view)
    return critique if critique is not None and critique.route == "replan" else None


def _hint_of(critique: CritiqueOutput | None) -> str | None:
    if critique is None:
        return None
    return critique.replan_feedback or critique.refine_intent_hint or None


async def by_rules(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
    """Plan steps by the kind of question; later passes and second tries also search for each word."""
    question = msgspec.convert(given.facts["question"], Question)
    goals = msgspec.convert(given.facts["goals"], list[Goal])
    steps = plan_steps(question, goals, int(given.facts["pass"]), bool(given.facts["is_wider"]))
    usable = [step for step in steps if step.tool in given.facts["tools"]]
    if usable and int(given.facts["pass"]) == 1:
        # An identical question finds its places without a recall.
        earlier = msgspec.convert(given.facts["earlier"], list[EarlierAnswer])
        similar = [answer for answer in earlier if answer.question != question.text]
        usable += _recall_steps(similar, tuple(goal.id for goal in goals))
    feasibility = _feasibility(question, usable)
    plan = PlanOutput(
        plan_id=f"round-{given.facts['round']}",
        steps=usable,
        rationale=f"a {question.kind} question, {len(question.identifiers)} names, {len(question.terms)} words",
        target_goals=[str(goal.id) for goal in goals],
        stage_number=given.facts["round"],
        feasibility_score=feasibility,
        risk_factors=[
            *_risks(feasibility, _enough(context), bool(given.facts.get("none_left"))),
            *given.facts.get("avoided", ()),
        ],
    )
    return written(plan)


def _recall_steps(earlier: Sequence[EarlierAnswer], goals: tuple[str, ...]) -> list[Step]:
    """Build steps that reread the lines cited by the most similar earlier answer, so that they can be cited."""
    cited = [place for answer in earlier[:1] for place in answer.cited][:MAX_RECALLED]
    return [
        Step(
            f"recall{number}",
            "recall",
            "read_code",
            {"path": place.file, "start_line": place.start_line, "end_line": place.end_line},
            goals,
            "an earlier answer cites it, and its lines are unchanged",
        )
        for number, place in enumerate(cited)
    ]


def _enough(context: StageContext) -> float:
    """Return the feasibility, of 100, below which a plan is made once more."""
    return context.profile.thresholds.get(FEASIBILITY, MIN_FEASIBILITY)


def _risks(feasibility: int, enough: float, none_left: bool) -> list[str]:
    if none_left:
        return [f"no tool can be called: {NONE_LEFT}"]
    return [] if feasibility >= enough else ["the question has few words to look for"]


def _feasibility(question: Question, usable: Sequence[Step]) -> int:
    """Rate how likely the steps are to succeed, 0 to 100: names and paths count most, then each word."""
    if not usable:
        return 0
    if question.kind == "overview":
        return 100
    return min(100, 30 + 40 * bool(question.identifiers or question.paths) + 15 * len(question.terms))


async def thoroughly(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
    """Plan with a search for each word from the first round on.

    The quick planner gets a head start of HEAD_START_S, so that the choice depends on whether it is slow or fails, and
    not on chance.
    """
    await context.clock.sleep(HEAD_START_S)
    facts = {**given.facts, "pass": max(2, int(given.facts["pass"]))}
    return await by_rules(context, view, StageInput(facts))


async def choose(context: StageContext, view: StageView) -> StageResult:
    """Take the plan that was ready first; the other planner was cancelled and has no output."""
    made = (plan_if_any(view, name) for name in ("planner_quick", "planner_thorough"))
    first = next(plan for plan in made if plan is not None)
    risks = [*first.risk_factors, *([_weakness(first.feasibility_score)] if first.route == "again" else [])]
    return StageResult(written(msgspec.structs.replace(first, route="go_on", risk_factors=risks)))


async def settle(context: StageContext, view: StageView, output: dict[str, Any]) -> StageResult:
    """Restrict a plan to remaining goals; replan once per round when its feasibility is too low."""
    remaining = {goal.id for goal in view.goals.remaining}
    targets = [goal for goal in output.get("target_goals") or [] if isinstance(goal, str) and goal in remaining]
    score = _score(output.get("feasibility_score"))
    plan = read_plan("planner", {**output, "target_goals": targets, "feasibility_score": score})
    is_weak = score < _enough(context)
    is_again = is_weak and _replans_of_round(view) == 0
    settled = msgspec.structs.replace(
        plan,
        groups=independent_groups(plan.steps),
        route="again" if is_again else "go_on",
        tries=_tries(view),
        risk_factors=[*plan.risk_factors, *([_weakness(score)] if is_weak and not is_again else [])],
    )
    return StageResult(written(settled))


def _weakness(score: int) -> str:
    return f"the plan has a feasibility of {score} of 100"


def _score(written: object) -> int:
    """Read a feasibility score, limited to 0 to 100; 0 when it is no number."""
    if isinstance(written, bool) or not isinstance(written, int | float) or written != written:
        return 0
    return int(max(0, min(100, written)))


def _tries(view: StageView) -> int:
    """Return the number of this try in its pass, from 1: the critic's transitions clear the planner's output."""
    earlier = plan_if_any(view)
    return 1 if earlier is None else earlier.tries + 1


def _replans_of_round(view: StageView) -> int:
    """Count the plans of this round that were made again."""
    board = view.goals
    plans = [pass_record(done).plan for done in board.finished_rounds if done.number == board.round_number]
    return sum((plan.tries or 1) - 1 for plan in plans) + _tries(view) - 1


def plan_steps(question: Question, goals: list[Goal], pass_number: int, is_wider: bool = False) -> list[Step]:
    """Return the steps of a pass in order, without repeats; `is_wider` also searches for parts of names."""
    by_aspect = {aspect_of(goal): goal.id for goal in goals}
    steps: list[Step] = []
    if "answer" in by_aspect:
        steps += _answer_steps(question, by_aspect["answer"], pass_number, is_wider)
    if "structure" in by_aspect:
        steps += _structure_steps(question, by_aspect["structure"])
    if "listing" in by_aspect:
        steps += _listing_steps(question, by_aspect["listing"])
    if not by_aspect.keys() <= {"answer", "structure", "listing"}:
        steps += _search_steps(question, by_aspect, pass_number, is_wider)
    return _distinct(steps)


def independent_groups(steps: Sequence[Step]) -> list[list[Step]]:
    """Group steps that depend on one another, in order; different groups may run in parallel."""
    groups: list[list[Step]] = []
    for step in steps:
        joined = [group for group in groups if any(other.id in step.top_of for other in group)]
        rest = [group for group in groups if group not in joined]
        groups = [*rest, [*(other for group in joined for other in group), step]]
    order = {step.id: position for position, step in enumerate(steps)}
    in_order = [sorted(group, key=lambda step: order[step.id]) for group in groups]
    return sorted(in_order, key=lambda group: order[group[0].id])


def _answer_steps(question: Question, goal: str, pass_number: int, is_wider: bool) -> list[Step]:
    """Build steps that search for the whole question, its parts, its names and its documents, and read the best."""
    goals = (goal,)
    searches = [_locate("answer", "answer", question.text, goals, ANSWERING_PLACES)]
    for number, part in enumerate(asking_parts(question.text)[:MAX_PARTS]):
        searches.append(_locate(f"{PART}{number}", "part", part, goals, ANSWERING_PLACES))
    for number, name in enumerate(question.identifiers[:MAX_NAMED]):
        searches.append(_locate(f"name{number}", "find", name, goals, MAX_NAMED))
    if pass_number > 1:
        for number, term in enumerate(_words(question, is_wider)):
            searches.append(_locate(f"word{number}", "find", term, goals, MAX_NAMED))
    lines = {"path": "file", "start_line": "start_line", "end_line": "end_line"}
    found_by = tuple(step.id for step in searches)
    why = "read the best places"
    read = Step("read", "read", "read_code", {"max_lines": READ_LINES}, goals, why, found_by, READ_PLACES, lines)
    return [*searches, msgspec.structs.replace(read, as_ranked=True)]


def _structure_steps(question: Question, goal: str) -> list[Step]:
    paths = question.paths or (".",)
    steps = [
        Step(f"map{n}", "structure", "map_module", {"path": path}, (goal,), f"what is in {path}")
        for n, path in enumerate(paths)
    ]
    for name in ("README.md", "README.rst", "README"):
        head, why = {"path": name, "max_lines": 40}, "what it says of itself"
        steps.append(Step(f"read_{name}", "structure", "read_code", head, (goal,), why))
    return steps


def _listing_steps(question: Question, goal: str) -> list[Step]:
    """Build steps that search for entries and map the best files; of a kind of code, locate everything."""
    if kinds := sorted(kinds_listed(question)):
        return [
            Step(
                f"kinds{number or ''}",
                "all_of_kind",
                "locate",
                {"query": ALL, "max_results": LISTED_PER_STEP, "kinds": kinds, **({"scope": path} if path else {})},
                (goal,),
                f"all of the kind {' or '.join(kinds)}",
            )
            for number, path in enumerate(question.paths[:1] or ("",))
        ]
    # «all» has no effect in a search; a single word would be looked up as a name.
    query = f"all {question.topic}"
    found = _locate("list", "listing", query, (goal,), LISTED_PER_STEP)
    types = _locate("types", "listing", query, (goal,), LISTED_PER_STEP, sorted(TYPE_KINDS))
    documents = _locate("documents", "documents", query, (goal,), MAX_DOCUMENTS, ["section"])
    why = "all of the file that fits best"
    file = Step("file", "listing", "map_module", {}, (goal,), why, ("list",), 2, {"path": "file"})
    lines = {"path": "file", "start_line": "start_line", "end_line": "end_line"}
    short = {"max_lines": READ_LINES}
    why = "what documents list"
    steps = [found, types, file, documents]
    steps.append(Step("sections", "listed", "read_code", short, (goal,), why, ("documents",), MAX_DOCUMENTS, lines))
    if name := type_name(question):
        more = {"symbol": name, "max_results": MAX_RELATED}
        why = f"what is declared on top of {name}"
        steps.append(Step("heirs", "heirs", "explore_symbol_usage", more, (goal,), why))
    return steps


def _search_steps(question: Question, by_aspect: Mapping[str, str], pass_number: int, is_wider: bool) -> list[Step]:
    goals = tuple(by_aspect.values())
    searches = [_locate("find", "find", question.topic or question.text, goals, LOCATED_PER_STEP)]
    if question.kind == "extend" and question.deed_terms:
        searches.append(_locate("thing", "find", question.subject, goals, LOCATED_PER_STEP))
        searches.append(_locate("open", "find", question.subject, goals, LOCATED_PER_STEP, OPEN_KINDS))
    for number, name in enumerate(question.identifiers[:MAX_NAMED]):
        searches.append(_locate(f"name{number}", "find", name, goals, LOCATED_PER_STEP))
    for number, name in enumerate(question.perhaps_names[:MAX_NAMED]):
        searches.append(_locate(f"perhaps{number}", "find", name, goals, LOCATED_PER_STEP))
    if (deed := serving_deed(question)) is not None:
        query = f"handle dispatch http request {' '.join(sorted(deed.others))}"
        found = _locate("serve", "serving", query, goals, LOCATED_PER_STEP)
        searches.append(msgspec.structs.replace(found, arguments={**found.arguments, "kinds": ["function", "method"]}))
    if "configuration" in by_aspect:
        query = f"{question.subject} setting configuration default"
        searches.append(_locate("config", "settings", query, (by_aspect["configuration"],), LOCATED_PER_STEP))
        goal = (by_aspect["configuration"],)
        searches.append(_locate("values", "values", question.subject, goal, LOCATED_PER_STEP, sorted(VALUES)))
    if pass_number > 1:
        for number, term in enumerate(_words(question, is_wider)):
            searches.append(_locate(f"word{number}", "find", term, goals, LOCATED_PER_STEP))
    maps = [
        Step(f"map{number}", "structure", "map_module", {"path": path}, goals, f"the question names {path}")
        for number, path in enumerate(question.paths[:MAX_NAMED])
    ]
    guides = _guide_steps(question, goals) if question.asks_for_guidance else []
    return searches + maps + _reading_steps(question, by_aspect, tuple(step.id for step in searches)) + guides


def serving_deed(question: Question) -> Deed | None:
    """Return the action of a «how» question that runs on each request; None for other questions."""
    deed = deed_of(question.text) if question.kind == "how" and not question.identifiers else None
    return deed if deed is not None and is_on_request(deed) else None


def _guide_steps(question: Question, goals: tuple[str, ...]) -> list[Step]:
    """Build steps that search documents for sections about the subject and read the best ones."""
    lines = {"path": "file", "start_line": "start_line", "end_line": "end_line"}
    short, why = {"max_lines": GUIDE_LINES}, "what the documentation says"
    found = _locate("guides", "documents", question.topic or question.text, goals, MAX_GUIDES, ["section"])
    return [found, Step("guide", "guidance", "read_code", short, goals, why, (found.id,), READ_GUIDES, lines)]


def _words(question: Question, is_wider: bool) -> tuple[str, ...]:
    """Return the words that a later pass searches for one by one."""
    words = _parts_of(question) if is_wider else question.terms[:MAX_WORDS]
    return () if words == (question.text.strip(),) else words


def _parts_of(question: Question) -> tuple[str, ...]:
    """Return the question's words and the parts of its names, each once."""
    parts = [part for name in question.identifiers for part in index_terms(name).split()]
    return tuple(dict.fromkeys((*question.terms, *parts)))[: 2 * MAX_WORDS]


def _reading_steps(question: Question, by_aspect: Mapping[str, str], found_by: tuple[str, ...]) -> list[Step]:
    """Build steps that read the best places from the searches and explore their uses and calls."""
    goals = tuple(by_aspect.values())
    lines = {"path": "file", "start_line": "start_line", "end_line": "end_line"}
    short, all_lines = {"max_lines": READ_LINES}, {"max_lines": WHOLE_LINES}
    symbol, why = {"path": "file", "symbol": "name"}, "read all of what fits best"
    read = Step("read", "read", "read_code", short, goals, "read the best places", found_by, READ_PLACES, lines)
    whole = Step("whole", "read", "read_code", all_lines, goals, why, found_by, 1, symbol)
    reads = [read, whole] if "mechanism" in by_aspect and question.kind != "compare" else [read]
    steps = [*reads, *history_steps(question, by_aspect, found_by)]
    if question.kind == "compare":
        steps += _comparing_steps(goals, found_by)
    if "tests" in by_aspect and question.asks("tested"):
        goal, why = (by_aspect["tests"],), "which tests belong to it"
        more = {"max_results": MAX_RELATED}
        steps.append(Step("tests", "tests", "find_related", more, goal, why, found_by, 1, symbol))
    used = tuple(
        by_aspect[aspect] for aspect in ("usage", "tests", "mechanism", "configuration") if aspect in by_aspect
    )
    if not used:
        return steps
    names = question.identifiers or (question.perhaps_names if question.kind == "configured" else ())
    named = [
        Step(f"use{number}", "usage", "explore_symbol_usage", {"symbol": name}, used, f"who uses {name}")
        for number, name in enumerate(names[:2])
    ]
    why, deep = "who uses the best place", {"max_depth": TRACED_CALLS}
    best = Step("use", "usage", "explore_symbol_usage", {}, used, why, found_by, 1, {"symbol": "name"})
    traced = Step("trace", "flow", "trace_entry_point", deep, used, "follow its calls", found_by)
    follow = [msgspec.structs.replace(traced, fill={"entry": "name"})] if question.shows_flow else []
    delegate = _delegate_steps(goals, (*found_by, whole.id, best.id)) if question.kind in DELEGATION_KINDS else []
    return [*steps, *named, best, *follow, *delegate]


def _delegate_steps(goals: tuple[str, ...], found_by: tuple[str, ...]) -> list[Step]:
    """Build steps that read the delegate of the best place, if it only delegates, and follow its calls."""
    why, whole = "the best place passes its work on to it", {"max_lines": WHOLE_LINES}
    place = {"path": "file", "symbol": "name"}
    code = Step("inner", "passed_on_code", "read_code", whole, goals, why, found_by, 1, place, passed_on=True)
    entry, deep = {"entry": "name"}, {"max_depth": 1}
    calls = Step("inner_calls", "passed_on_calls", "trace_entry_point", deep, goals, why, found_by, 1, entry)
    return [code, msgspec.structs.replace(calls, passed_on=True)]


def _comparing_steps(goals: tuple[str, ...], found_by: tuple[str, ...]) -> list[Step]:
    """Build steps that read both compared entities, with all members and the calls of each."""
    why, all_lines, deep = "what each of them has", {"max_lines": WHOLE_LINES}, {"max_depth": TRACED_CALLS}
    lines = {"path": "file", "start_line": "start_line", "end_line": "end_line"}
    symbol, entry = {"path": "file", "symbol": "name"}, {"entry": "name"}
    steps = [
        Step("pair", "read", "read_code", all_lines, goals, "read both", found_by, COMPARED, lines),
        Step("members", "members", "map_module", {}, goals, why, found_by, COMPARED, symbol),
        Step("calls", "calls", "trace_entry_point", deep, goals, why, found_by, COMPARED, entry),
    ]
    return [msgspec.structs.replace(step, named_only=True) for step in steps]


def history_steps(question: Question, by_aspect: Mapping[str, str], found_by: tuple[str, ...]) -> list[Step]:
    """Build steps for the commits of the question's paths and entities, and for files that change with them."""
    steps: list[Step] = []
    symbol = {"path": "file", "symbol": "name", "start_line": "start_line"}
    paths = () if question.identifiers else question.paths[:MAX_NAMED]
    if "history" in by_aspect:
        goal, origin = (by_aspect["history"],), {"origin": True} if question.asks_for_origin else {}
        places = (".",) if question.is_of_whole else paths
        steps += [
            Step(f"history{n}", "history", "explain_code_history", {"path": path}, goal, f"who changed {path}")
            for n, path in enumerate(places)
        ]
        if not places:
            # A «why» question accepts any place found; the others need the commits of the named entity itself.
            is_named = question.kind != "why"
            count = HISTORIES if question.kind == "changed" and question.identifiers else 1
            why = "who changed the best place"
            best = Step("history", "history", "explain_code_history", origin, goal, why, found_by, count, symbol)
            steps.append(msgspec.structs.replace(best, named_only=is_named))
    if "together" in by_aspect:
        goal, more = (by_aspect["together"],), {"max_results": MAX_RELATED}
        steps += [
            Step(f"together{n}", "together", "find_related", {"path": path, **more}, goal, f"what changes with {path}")
            for n, path in enumerate(paths)
        ]
        if not paths:
            why, file = "what changes with the best place", {"path": "file"}
            best = Step("together", "together", "find_related", more, goal, why, found_by, 1, file)
            steps.append(msgspec.structs.replace(best, named_only=True))
    return steps


def _locate(
    step_id: str, purpose: Purpose, query: str, goals: tuple[str, ...], max_results: int, kinds: Sequence[str] = ()
) -> Step:
    asked: dict[str, Any] = {"query": query, "max_results": max_results, **({"kinds": list(kinds)} if kinds else {})}
    return Step(step_id, purpose, "locate", asked, goals, f"find '{query[:60]}'")


def _distinct(steps: list[Step]) -> list[Step]:
    seen: set[bytes] = set()
    kept = []
    for step in steps:
        key = msgspec.msgpack.encode((step.tool, step.arguments, step.top_of, step.fill))
        if key not in seen:
            seen.add(key)
            kept.append(step)
    return kept


def _tools_of(result: Any) -> list[dict[str, Any]]:
    return list(result.data.get("tools", [])) if result.usable else []
