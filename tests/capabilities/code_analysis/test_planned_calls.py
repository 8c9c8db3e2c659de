"""What a model plans is what is called: targets and options, explicit reads first, whole code, and no call too many."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from actors.capabilities.code_analysis.agents.found_places import NEAR_LINES, USE_LINES, found_places
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.models.reading_order import in_reading_order
from actors.capabilities.code_analysis.models.schemas import StepOption
from actors.capabilities.code_analysis.models.step_arguments import PLANNED_TOOLS, arguments_of
from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.tools.toolset import TOOLS
from runtime.codebase.tools.read_code import read_code
from runtime.llm.messages import ModelRequest
from runtime.llm.model_file import ModelsFile
from runtime.llm.scripted import ScriptedModel
from tests.capabilities.code_analysis.model_desk import (
    ModelDesk,
    agent_of,
    by_agent,
    fact_number,
    models_file,
    planned,
    written,
)
from tests.capabilities.code_analysis.support import AnalysisHarness, cited, pipeline, write_files
from tests.capabilities.code_analysis.test_model_reasoners import GOALS_ALONE, GOOD, QUESTION

FILES = {"relay/depot.py", "depot.py", "Makefile", "docs/a.md"}


def call(tool: str, target: str, **options: str) -> dict[str, Any] | None:
    given = [StepOption(name=name, value=value) for name, value in options.items()]
    return arguments_of(tool, target, given, FILES.__contains__)


@pytest.mark.parametrize(
    ("target", "place"),
    [
        ("Depot.accept", {"symbol": "Depot.accept"}),
        ("`Depot.accept()`", {"symbol": "Depot.accept"}),
        ("Depot::accept", {"symbol": "Depot::accept"}),
        ("relay/depot.py", {"path": "relay/depot.py"}),
        ("Makefile", {"path": "Makefile"}),
        ("relay/gone.py", {"path": "relay/gone.py"}),
        ("relay/depot.py:3-9", {"path": "relay/depot.py", "start_line": 3, "end_line": 9}),
        ("relay/depot.py:3", {"path": "relay/depot.py", "start_line": 3, "end_line": 3}),
        ("relay/depot.py:9-3", {"path": "relay/depot.py", "start_line": 9, "end_line": 9}),
        ("relay/depot.py:Depot.accept", {"path": "relay/depot.py", "symbol": "Depot.accept"}),
        ("relay/depot.py#Depot", {"path": "relay/depot.py", "symbol": "Depot"}),
    ],
)
def test_code_is_read_by_symbol_by_path_and_by_lines(target: str, place: dict[str, Any]) -> None:
    assert call("read_code", target) == {"max_lines": 400, **place}


@pytest.mark.parametrize(
    ("tool", "target", "options", "arguments"),
    [
        ("locate", "retry", {"scope": "relay"}, {"query": "retry", "max_results": 20, "scope": "relay"}),
        (
            *("locate", "retry", {"kinds": "function, method", "max_results": "5"}),
            {"query": "retry", "max_results": 5, "kinds": ["function", "method"]},
        ),
        ("locate", "retry", {"max_results": "many"}, {"query": "retry", "max_results": 20}),
        ("locate", "retry", {"max_results": "101"}, {"query": "retry", "max_results": 20}),
        ("locate", "retry", {"colour": "red"}, {"query": "retry", "max_results": 20}),
        ("explore_symbol_usage", "accept()", {"max_results": "7"}, {"symbol": "accept", "max_results": 7}),
        ("map_module", "relay", {"max_depth": "2"}, {"path": "relay", "max_depth": 2}),
        ("map_module", "relay", {"max_depth": "16"}, {"path": "relay"}),
        ("map_module", "", {}, {}),
        ("trace_entry_point", "main", {"max_depth": "5"}, {"entry": "main", "max_depth": 5}),
        ("trace_entry_point", "", {}, {}),
        ("explain_code_history", "depot.py:2-4", {}, {"path": "depot.py", "start_line": 2, "end_line": 4}),
        ("explain_code_history", "Depot", {"origin": "true"}, {"symbol": "Depot", "origin": True}),
        ("find_related", "depot.py", {}, {"path": "depot.py"}),
        ("find_related", "depot.py:2-4", {}, {"path": "depot.py"}),
        ("find_related", "Depot.accept", {"max_results": "3"}, {"symbol": "Depot.accept", "max_results": 3}),
        ("git_status", ".", {}, {}),
        ("list_tools", "", {}, {}),
        ("locate", "  ", {}, None),
        ("read_code", "", {}, None),
        ("rm_rf", "/", {}, None),
        ("grep_search", "x", {}, None),
    ],
)
def test_each_tool_gets_the_arguments_that_it_declares(
    tool: str, target: str, options: dict[str, str], arguments: dict[str, Any] | None
) -> None:
    assert call(tool, target, **options) == arguments


def test_a_model_may_plan_every_tool_that_agents_have() -> None:
    assert {tool.name for tool in TOOLS if tool.exposed} == PLANNED_TOOLS


def test_what_was_read_is_not_read_again_and_a_use_is_read_with_what_it_is_in() -> None:
    facts = [
        CodeFact("definition", cited("a.py", 1, 9), name="whole"),
        CodeFact("definition", cited("a.py", 3, 4), name="part"),
        CodeFact("definition", cited("b.py", 1, 5), name="known"),
        CodeFact("caller", cited("b.py", 7), name="calls"),
        CodeFact("caller", cited("b.py", 7 + NEAR_LINES - 1), name="calls"),
        CodeFact("importer", cited("c.py", 1)),
    ]
    already = [CodeFact("code", cited("b.py", 1, 5))]
    assert found_places(facts, already) == [
        {"path": "a.py", "start_line": 1, "end_line": 9},
        {"path": "b.py", "symbol": "calls", "around": 7, "max_lines": USE_LINES},
    ]


@pytest.mark.parametrize(("apart", "read"), [(NEAR_LINES - 1, 1), (NEAR_LINES, 2), (NEAR_LINES + 1, 2)])
def test_uses_far_apart_in_one_long_definition_are_both_read(apart: int, read: int) -> None:
    uses = [CodeFact("caller", cited("b.py", line), name="calls") for line in (500, 500 + apart)]
    assert [place["around"] for place in found_places(uses, [])] == [500, 500 + apart][:read]


async def test_a_use_far_down_in_a_long_definition_is_read_with_the_lines_around_it(tmp_path: Path) -> None:
    long = "def outer():\n" + "".join(f"    step_{n} = {n}\n" for n in range(600)) + "    used()\n    return 1\n"
    root = write_files(tmp_path / "repo", {"a.py": "def used():\n    return 0\n\n\n" + long})
    desk = await AnalysisHarness.open(root, tmp_path / "state")
    model = ScriptedModel(
        [
            by_agent(
                {**GOOD, "intent": {**GOOD["intent"], "steps": [planned("explore_symbol_usage", "used", "definition")]}}
            )
        ]
    )
    await ModelDesk(desk, model).ask("Who calls `used`?")
    shown = next(request.messages[-1].content for request in model.requests if agent_of(request) == "synthesizer")
    assert "|     used()" in shown
    assert "step_599 = 599" in shown
    assert "step_300 = 300" not in shown


def test_no_more_than_two_pieces_of_a_long_definition_are_read() -> None:
    pieces = [CodeFact("definition", cited("a.py", 60 * n + 1, 60 * n + 60), name="main") for n in range(4)]
    others = [CodeFact("definition", cited("b.py", 60 * n + 1, 60 * n + 60), name="main") for n in range(2)]
    unnamed = [CodeFact("excerpt", cited("a.py", 1_000 + n)) for n in range(3)]
    places = found_places([*pieces, *others, *unnamed], [])
    assert [(place["path"], place["start_line"]) for place in places] == [
        ("a.py", 1),
        ("a.py", 61),
        ("b.py", 1),
        ("b.py", 61),
        *(("a.py", 1_000 + n) for n in range(3)),
    ]


def test_what_stands_in_code_that_is_shown_is_not_told_beside_it() -> None:
    code = CodeFact("code", cited("a.py", 1, 20), step="m0", text="x")
    beside = [
        CodeFact("definition", cited("a.py", 3, 9), name="inside"),
        CodeFact("excerpt", cited("a.py", 5, 6)),
        CodeFact("excerpt", cited("a.py", 19, 21)),
        CodeFact("caller", cited("a.py", 7), name="inside", about="used"),
        CodeFact("importer", cited("b.py", 1), about="used"),
    ]
    question = analyse("How does it work?")
    shown = in_reading_order(question, [*beside, code], ["m0"], (), wants_uses=False)
    assert [(fact.kind, fact.citation.start_line) for fact in shown] == [("code", 1), ("excerpt", 19), ("caller", 7)]
    assert shown[0].name == "inside"
    assert any(fact.kind == "importer" for fact in in_reading_order(question, beside, [], (), wants_uses=True))


def facts_shown(model: ScriptedModel) -> str:
    prompt = next(request.messages[1].content for request in model.requests if agent_of(request) == "synthesizer")
    return prompt.partition("\nFacts:\n")[2]


async def test_code_that_is_asked_for_by_name_is_whole_and_comes_before_what_searches_find(
    relay: AnalysisHarness,
) -> None:
    steps = [planned("locate", "deliver_parcel"), planned("read_code", "Depot.accept")]
    model = ScriptedModel([by_agent({**GOOD, "intent": {**GOOD["intent"], "steps": steps}})])
    await ModelDesk(relay, model).ask(QUESTION)
    shown = facts_shown(model)
    lines = (relay.root / "relay/depot.py").read_text().split("\n")
    assert shown.startswith("1. code Depot.accept (relay/depot.py:15-19)\n15| ")
    assert all(f"{number}| {lines[number - 1]}" in shown for number in range(15, 20))
    assert "\n2. code deliver_parcel (relay/van.py:6-10)" in shown


async def test_more_than_four_places_of_a_search_are_read(relay: AnalysisHarness) -> None:
    steps = [planned("locate", "parcel depot", kinds="function,method,class")]
    model = ScriptedModel([by_agent({**GOOD, "intent": {**GOOD["intent"], "steps": steps}})])
    document = await ModelDesk(relay, model).ask(QUESTION, explain=True)
    reads = next(step for step in document["explanation"]["rounds"][0]["steps"] if step["step"] == "m0_read")
    assert 4 < reads["found"] <= 8


OVERLOADS = '''"""Doors."""

from typing import overload


class Door:
    @overload
    def open(self, key: int) -> int: ...

    @overload
    def open(self, key: str) -> str: ...

    def open(self, key):
        """Open it."""
        turned = key
        return turned
'''


def test_of_overloads_the_definition_with_a_body_is_read(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    write_files(root, {"doors.py": OVERLOADS})
    desk = asyncio.run(AnalysisHarness.open(root, tmp_path / "state"))
    found = read_code(desk.services.codebase(desk.repository), symbol="Door.open")
    assert "turned = key" in found.data["text"]


async def test_a_plan_that_came_with_the_goals_is_carried_out_without_a_call(relay: AnalysisHarness) -> None:
    model = ScriptedModel([by_agent(GOOD)])
    document = await ModelDesk(relay, model).ask(QUESTION, explain=True)
    assert [agent_of(request) for request in model.requests] == ["intent", "synthesizer", "critic"]
    assert document["explanation"]["rounds"][0]["plan"]["rationale"] == "find it"


@pytest.mark.parametrize(
    "steps", [[], [planned("rm_rf", "/")], [planned("locate", " ")]], ids=["none", "no tool", "no target"]
)
async def test_a_planner_with_no_plan_to_carry_out_asks_its_own_model(
    relay: AnalysisHarness, steps: list[dict[str, Any]]
) -> None:
    model = ScriptedModel([by_agent({**GOOD, "intent": {**GOOD["intent"], "steps": steps}})])
    document = await ModelDesk(relay, model).ask(QUESTION)
    assert [agent_of(request) for request in model.requests] == ["intent", "planner", "synthesizer", "critic"]
    assert document["rules_took_over"] == []


def next_round(steps: list[dict[str, Any]]) -> Any:
    """A critic that wants another round once, with these steps, and approves after it."""
    visits: list[ModelRequest] = []

    def judge(request: ModelRequest) -> Any:
        visits.append(request)
        if len(visits) > 1:
            return GOOD["critic"]
        goals = [{"goal": "mechanism", "status": "unmet"}, {"goal": "definition", "status": "satisfied"}]
        wanted = {"verdict": "next_stage", "goals": goals, "hint": "read Depot.accept", "steps": steps}
        return {**GOOD["critic"], **wanted}

    return judge


async def test_a_further_round_takes_two_calls_and_goes_by_the_plan_of_the_critic(relay: AnalysisHarness) -> None:
    def write(request: ModelRequest) -> Any:
        number = fact_number(request, "deliver_parcel")
        return {**GOOD["synthesizer"], "claims": [written("mechanism", "It carries it.", (number, 8, 8))]}

    critic = next_round([planned("read_code", "Depot.accept", "mechanism")])
    script = by_agent({**GOOD, "critic": critic, "synthesizer": write})
    model = ScriptedModel([script])
    document = await ModelDesk(relay, model).ask(QUESTION, explain=True)
    asked = [agent_of(request) for request in model.requests]
    assert asked == ["intent", "synthesizer", "critic", "synthesizer", "critic"]
    assert document["usage"]["stages"] == 2
    prompt = model.requests[3].messages[1].content
    assert "1. code Depot.accept" in prompt
    assert " code deliver_parcel" in prompt
    assert document["terminal_reason"] == "completed"


async def test_what_searches_find_leaves_room_for_what_a_later_round_asks_for_by_name(relay: AnalysisHarness) -> None:
    def write(request: ModelRequest) -> Any:
        number = re.search(r"^(\d+)\. code .*\n(\d+)\| ", request.messages[1].content, re.MULTILINE)
        assert number is not None
        fact, line = map(int, number.groups())
        return {**GOOD["synthesizer"], "claims": [written("mechanism", "It is there.", (fact, line, line))]}

    intent = {**GOOD["intent"], "steps": [planned("locate", "parcel", "mechanism")]}
    critic = next_round([planned("read_code", "Depot.release", "mechanism")])
    script = by_agent({**GOOD, "intent": intent, "critic": critic, "synthesizer": write})
    model = ScriptedModel([script])
    document = await ModelDesk(relay, model).ask(QUESTION, explain=True, limits={"max_total_code_tokens": 100})
    first, second = (request.messages[1].content for request in model.requests if agent_of(request) == "synthesizer")
    assert "code Depot.release (relay/depot.py:21-23)\n(lines 21 to 23 of it are not shown)" in first
    assert "1. code Depot.release (relay/depot.py:21-23)\n21|     def release(" in second
    assert document["usage"]["stages"] == 2


async def test_a_planner_without_the_critics_plan_is_told_the_answer_so_far_and_the_hint(
    relay: AnalysisHarness,
) -> None:
    synthesis = {**GOOD["synthesizer"], "open_questions": ["Who owns the van?"]}
    script = by_agent({**GOOD, "intent": GOALS_ALONE, "critic": next_round([]), "synthesizer": synthesis})
    model = ScriptedModel([script])
    await ModelDesk(relay, model).ask(QUESTION)
    first, second = (request.messages[1].content for request in model.requests if agent_of(request) == "planner")
    for known in (
        "hint: read Depot.accept",
        "answered so far: This is what carries a parcel.",
        "open: Who owns the van?",
        "pass 1 for locate max_results=20 query=deliver_parcel had results",
    ):
        assert known in second
        assert known not in first
    assert "- mechanism: how it works" in second
    assert "- definition:" not in second.partition("Form:")[0]


async def test_intent_and_planner_are_told_languages_folders_files_and_the_head_of_the_readme(
    relay: AnalysisHarness,
) -> None:
    model = ScriptedModel([by_agent({**GOOD, "intent": GOALS_ALONE})])
    await ModelDesk(relay, model).ask(QUESTION)
    for request in model.requests:
        if agent_of(request) in {"intent", "planner"}:
            prompt = request.messages[1].content
            assert "languages (files): python " in prompt
            assert "folders (files): relay " in prompt
            assert "main part relay" in prompt
            assert "head of README.md:" in prompt
            assert re.search(r"^files of relay: .*van\.py", prompt, re.MULTILINE)


WITHOUT_PLAN = {name: value for name, value in GOOD["intent"].items() if name not in {"steps", "feasibility"}}
JUDGED_ALONE = {name: value for name, value in GOOD["critic"].items() if name != "steps"}


def two_models() -> ModelsFile:
    """A planner with a model of its own."""
    models = models_file()
    role = models.roles["default"].model_copy(update={"deployment": "other"})
    deployments = {**models.deployments, "other": models.deployments["main"]}
    return models.model_copy(update={"deployments": deployments, "roles": {**models.roles, "planner": role}})


async def test_agents_with_different_models_each_make_their_own_call(relay: AnalysisHarness) -> None:
    model = ScriptedModel([by_agent({**GOOD, "intent": WITHOUT_PLAN, "critic": JUDGED_ALONE})])
    document = await ModelDesk(relay, model, models=two_models(), other=model).ask(QUESTION)
    assert [agent_of(request) for request in model.requests] == ["intent", "planner", "synthesizer", "critic"]
    assert document["rules_took_over"] == []
    assert all("In the same object plan" not in request.messages[1].content for request in model.requests)


async def test_a_prompt_of_the_planners_own_is_asked(relay: AnalysisHarness) -> None:
    config = pipeline()
    agents = tuple(
        agent.model_copy(update={"prompt_key": "planner@3"}) if agent.name == "planner" else agent
        for agent in config.agents
    )
    model = ScriptedModel([by_agent(GOOD)])
    own = config.model_copy(update={"agents": agents})
    await ModelDesk(relay, model, config=own).ask(QUESTION)
    assert [agent_of(request) for request in model.requests] == ["intent", "planner", "synthesizer", "critic"]
