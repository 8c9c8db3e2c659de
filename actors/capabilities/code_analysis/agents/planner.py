"""Planner: which tools to call for which goals. The rules reasoner plans from the question's kind.

A step may depend on an earlier one: `top_of` names a step whose best results it is repeated for, so that one round
finds a thing and reads it. (Over 400 lines: the steps of all kinds of questions stand together.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from actors.capabilities.code_analysis.answers.how_to import GUIDE_LINES, MAX_GUIDES, READ_GUIDES
from actors.capabilities.code_analysis.answers.listing import type_name
from actors.capabilities.code_analysis.evidence.steps import PASSED_ON_KINDS, Purpose, Step, read_steps
from actors.capabilities.code_analysis.question.action import Deed, deed_of, is_on_request
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.aspects import aspect_of
from actors.capabilities.code_analysis.question.listing_scope import ALL, OPEN_KINDS, TYPE_KINDS, kinds_listed
from runtime.agents.capability import StageContext, StageInput, StageResult
from runtime.codebase.files.words import index_terms
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
HEAD_START_S = 2.0
MIN_FEASIBILITY = 40


async def gather(context: StageContext, view: StageView) -> StageInput:
    """What the planner looks at: the question, the goals that can be worked on, and the tools there are."""
    listed = await context.tools.call("list_tools", None, {})
    tools = [entry["name"] for entry in _tools_of(listed)]
    return StageInput(
        {
            "question": view.outputs["intent"]["question"],
            "goals": msgspec.to_builtins(view.goals.ready),
            "round": view.goals.round_number,
            "pass": len(view.goals.finished_rounds) + _tries(view),
            "is_wider": bool(view.outputs["intent"].get("is_wider")),
            "tools": tools,
            "none_left": (listed.error or "").endswith(NONE_LEFT),
            "earlier": view.outputs.get("perception", {}).get("memory_context", {}).get("earlier_answers", []),
            "hint": view.outputs["intent"].get("hint_used") or view.outputs.get("critic", {}).get("replan_feedback"),
        }
    )


async def by_rules(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
    """Steps from the kind of question; a later pass, and a second try, look for each word by itself."""
    question = msgspec.convert(given.facts["question"], Question)
    goals = msgspec.convert(given.facts["goals"], list[Goal])
    steps = plan_steps(question, goals, int(given.facts["pass"]), bool(given.facts["is_wider"]))
    usable = [step for step in steps if step.tool in given.facts["tools"]]
    if usable and int(given.facts["pass"]) == 1:
        # The same question finds its places by itself.
        similar = [answer for answer in given.facts["earlier"] if answer["question"] != question.text]
        usable += _recall_steps(similar, tuple(goal.id for goal in goals))
    feasibility = _feasibility(question, usable)
    return {
        "plan_id": f"round-{given.facts['round']}",
        "steps": [msgspec.to_builtins(step) for step in usable],
        "rationale": f"a {question.kind} question, {len(question.identifiers)} names, {len(question.terms)} words",
        "target_goals": [goal.id for goal in goals],
        "stage_number": given.facts["round"],
        "feasibility_score": feasibility,
        "risk_factors": _risks(feasibility, bool(given.facts.get("none_left"))),
    }


def _recall_steps(earlier: Sequence[Mapping[str, Any]], goals: tuple[str, ...]) -> list[Step]:
    """Read again what led the answer to the most similar question, so that it can be cited in this one."""
    cited = [place for answer in earlier[:1] for place in answer["cited"]][:MAX_RECALLED]
    return [
        Step(
            f"recall{number}",
            "recall",
            "read_code",
            {"path": place["file"], "start_line": place["start_line"], "end_line": place["end_line"]},
            goals,
            "an earlier answer cites it, and its lines are unchanged",
        )
        for number, place in enumerate(cited)
    ]


def _risks(feasibility: int, none_left: bool) -> list[str]:
    if none_left:
        return [f"no tool can be called: {NONE_LEFT}"]
    return [] if feasibility >= MIN_FEASIBILITY else ["the question has few words to look for"]


def _feasibility(question: Question, usable: Sequence[Step]) -> int:
    """How likely the steps are to find something, 0 to 100: names and paths say most, then each word."""
    if not usable:
        return 0
    if question.kind == "overview":
        return 100
    return min(100, 30 + 40 * bool(question.identifiers or question.paths) + 15 * len(question.terms))


async def thoroughly(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
    """A plan that looks for each word by itself from the first round on.

    The quick planner has a head start, so that which plan is carried out depends on whether it is slow or fails, and
    not on chance.
    """
    await context.clock.sleep(HEAD_START_S)
    facts = {**given.facts, "pass": max(2, int(given.facts["pass"]))}
    return await by_rules(context, view, StageInput(facts))


async def choose(context: StageContext, view: StageView) -> StageResult:
    """Take the plan that was there first: the other planner has been called off and wrote nothing."""
    first = next(view.outputs[name] for name in ("planner_quick", "planner_thorough") if name in view.outputs)
    risks = [*first["risk_factors"], *(_weakness(first["feasibility_score"]) if first["route"] == "again" else [])]
    return StageResult({**first, "route": "go_on", "risk_factors": risks})


async def settle(context: StageContext, view: StageView, output: dict[str, Any]) -> StageResult:
    """A plan may only aim at goals that remain; one that is hardly feasible is made once more, once in each round."""
    remaining = {goal.id for goal in view.goals.remaining}
    targets = [goal for goal in output["target_goals"] if goal in remaining]
    steps = read_steps(output["steps"])
    groups = [msgspec.to_builtins(group) for group in independent_groups(steps)]
    score, tries = _score(output.get("feasibility_score")), _tries(view)
    risks = [str(risk) for risk in output.get("risk_factors") or []]
    if score < MIN_FEASIBILITY and _weak_plans_made_anew(view) == 0:
        route = "again"
    else:
        route = "go_on"
        risks += _weakness(score)
    settled = {"target_goals": targets, "groups": groups, "route": route, "tries": tries, "risk_factors": risks}
    return StageResult({**output, **settled, "feasibility_score": score})


def _weakness(score: int) -> list[str]:
    return [f"the plan has a feasibility of {score} of 100"] if score < MIN_FEASIBILITY else []


def _score(written: object) -> int:
    """The feasibility as it was written, cut to 0 to 100; 0 for what is no number."""
    if isinstance(written, bool) or not isinstance(written, int | float) or written != written:
        return 0
    return int(max(0, min(100, written)))


def _tries(view: StageView) -> int:
    """Which try of this pass it is, from 1: the transitions of the critic clear the planner's output."""
    return int(view.outputs.get("planner", {}).get("tries", 0)) + 1


def _weak_plans_made_anew(view: StageView) -> int:
    """How many plans of this round were made a second time."""
    board = view.goals
    plans: list[Any] = [d.synthesis.get("plan") for d in board.finished_rounds if d.number == board.round_number]
    earlier = sum(int(plan.get("tries") or 1) - 1 for plan in plans if isinstance(plan, dict))
    return earlier + _tries(view) - 1


def plan_steps(question: Question, goals: list[Goal], pass_number: int, is_wider: bool = False) -> list[Step]:
    """The steps of a pass, in order, without repeats; `is_wider`: the parts of names are looked for, too."""
    by_aspect = {aspect_of(goal): goal.id for goal in goals}
    steps: list[Step] = []
    if "structure" in by_aspect:
        steps += _structure_steps(question, by_aspect["structure"])
    if "listing" in by_aspect:
        steps += _listing_steps(question, by_aspect["listing"])
    if not by_aspect.keys() <= {"structure", "listing"}:
        steps += _search_steps(question, by_aspect, pass_number, is_wider)
    return _distinct(steps)


def independent_groups(steps: Sequence[Step]) -> list[list[Step]]:
    """Steps that build on one another, together and in order; groups share nothing and may run side by side."""
    groups: list[list[Step]] = []
    for step in steps:
        joined = [group for group in groups if any(other.id in step.top_of for other in group)]
        rest = [group for group in groups if group not in joined]
        groups = [*rest, [*(other for group in joined for other in group), step]]
    order = {step.id: position for position, step in enumerate(steps)}
    in_order = [sorted(group, key=lambda step: order[step.id]) for group in groups]
    return sorted(in_order, key=lambda group: order[group[0].id])


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
    """What fits by name, and all that the file holds in which most of it stands; of a kind of code all there is."""
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
    # «all» says nothing in a search; a word by itself would be looked up as a name.
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
        words = question.terms[:MAX_WORDS] if not is_wider else _parts_of(question)
        for number, term in enumerate(words):
            searches.append(_locate(f"word{number}", "find", term, goals, LOCATED_PER_STEP))
    maps = [
        Step(f"map{number}", "structure", "map_module", {"path": path}, goals, f"the question names {path}")
        for number, path in enumerate(question.paths[:MAX_NAMED])
    ]
    guides = _guide_steps(question, goals) if question.asks_for_guidance else []
    return searches + maps + _reading_steps(question, by_aspect, tuple(step.id for step in searches)) + guides


def serving_deed(question: Question) -> Deed | None:
    """What is asked to be done whenever a request comes in; None for any other question."""
    deed = deed_of(question.text) if question.kind == "how" and not question.identifiers else None
    return deed if deed is not None and is_on_request(deed) else None


def _guide_steps(question: Question, goals: tuple[str, ...]) -> list[Step]:
    """Find the parts of documents that speak of it, and read the best."""
    lines = {"path": "file", "start_line": "start_line", "end_line": "end_line"}
    short, why = {"max_lines": GUIDE_LINES}, "what the documentation says"
    found = _locate("guides", "documents", question.topic or question.text, goals, MAX_GUIDES, ["section"])
    return [found, Step("guide", "guidance", "read_code", short, goals, why, (found.id,), READ_GUIDES, lines)]


def _parts_of(question: Question) -> tuple[str, ...]:
    """The question's words and the parts of its names, each once."""
    parts = [part for name in question.identifiers for part in index_terms(name).split()]
    return tuple(dict.fromkeys((*question.terms, *parts)))[: 2 * MAX_WORDS]


def _reading_steps(question: Question, by_aspect: Mapping[str, str], found_by: tuple[str, ...]) -> list[Step]:
    """Read the best of what the searches found, and ask who uses it and what it uses."""
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
    inner = _inner_steps(goals, (*found_by, whole.id, best.id)) if question.kind in PASSED_ON_KINDS else []
    return [*steps, *named, best, *follow, *inner]


def _inner_steps(goals: tuple[str, ...], found_by: tuple[str, ...]) -> list[Step]:
    """Where the best place only passes its work on: read what it passes it to, and follow the calls of that."""
    why, whole = "the best place passes its work on to it", {"max_lines": WHOLE_LINES}
    place = {"path": "file", "symbol": "name"}
    code = Step("inner", "passed_on_code", "read_code", whole, goals, why, found_by, 1, place, passed_on=True)
    entry, deep = {"entry": "name"}, {"max_depth": 1}
    calls = Step("inner_calls", "passed_on_calls", "trace_entry_point", deep, goals, why, found_by, 1, entry)
    return [code, msgspec.structs.replace(calls, passed_on=True)]


def _comparing_steps(goals: tuple[str, ...], found_by: tuple[str, ...]) -> list[Step]:
    """Read both, and ask for all members and for the calls of each."""
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
    """Commits of the paths and things that are asked about; and what changed together with them."""
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
            # A reason is looked for where the search led; who changed a thing is told of that thing alone.
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
