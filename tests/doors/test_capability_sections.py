"""Sections of capabilities in jeeves.yaml: domain settings, modes, agents, tools and the name of the product."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from actors.capabilities.code_analysis.capability import CAPABILITY
from runtime.agents.capability import load_capability, services_of
from runtime.agents.stage_runner import Agent
from runtime.bus.queries import LocalQueries
from runtime.errors import DocumentFaults, InputError, JeevesError, SettingsError, UnknownNameError
from runtime.kernel import AgentHooks, AgentProfile, Capability, StageContext, StageResult, StageView
from runtime.primitives.clock import FakeClock
from runtime.settings import Settings, load_settings
from serve.capability_sections import capability_section, check_section, earliest, lowered, mode_named, modes_of
from serve.pipeline_files import load_named_pipeline
from serve.wiring import agent_settings, system_parts
from tests.doors.installed import write
from tests.doors.program import Program


class DepotSettings(BaseModel):
    model_config = ConfigDict(extra="forbid")
    shelves: int = Field(default=3, ge=1)


async def clerk(_context: StageContext, _view: StageView) -> StageResult:
    return StageResult({})


DEPOT = Capability(
    "depot",
    agents={"clerk": AgentHooks(process=clerk, profile=AgentProfile(thresholds={"enough": 0.5}))},
    open_services=lambda settings: settings["domain"],
    settings=DepotSettings,
)


def settings_of(tmp_path: Path, text: str, env: dict[str, str] | None = None) -> Settings:
    write(tmp_path / "jeeves.yaml", text)
    return load_settings(tmp_path / "jeeves.yaml", {"JEEVES_STATE_DIR": str(tmp_path / "state"), **(env or {})})


def section(text: str, capability: str = "depot") -> str:
    """A settings file with a section."""
    return f"capabilities: [code_analysis, depot]\ncapability_settings:\n  {capability}:\n    {text}\n"


def faults(tmp_path: Path, text: str, env: dict[str, str] | None = None) -> list[str]:
    """What is wrong with a section of the depot."""
    with pytest.raises(DocumentFaults) as caught:
        check_section(settings_of(tmp_path, text, env), DEPOT)
    found: list[str] = caught.value.values["faults"]
    return found


def test_the_services_of_a_capability_are_given_its_own_settings(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, section("domain: {shelves: 5}"))
    check_section(settings, DEPOT)
    assert services_of(DEPOT, agent_settings(settings)) == DepotSettings(shelves=5)
    assert services_of(DEPOT, {}) == DepotSettings()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("domain: {shelves: 0}", ["jeeves.yaml:4", "capability_settings.depot.domain.shelves", "not 0"]),
        ("domain: {shelfs: 1}", ["jeeves.yaml:4", "capability_settings.depot.domain.shelfs"]),
        ("domain: {shelves: .nan}", ["capability_settings.depot.domain.shelves"]),
        ("allowed_tools: [steal]", ["jeeves.yaml:4", "allowed_tools", "has no steal"]),
        ("agents: {cook: {max_tokens: 3}}", ["jeeves.yaml:4", "agents", "has no cook; it has clerk"]),
        ("agents: {clerk: {thresholds: {enuogh: 1}}}", ["jeeves.yaml:4", "agent 'clerk' has no enuogh; it has enough"]),
        ("agents: {clerk: {thresholds: {enough: .nan}}}", ["jeeves.yaml:4", "thresholds.enough", "finite"]),
        ("agents: {clerk: {temperature: 3}}", ["jeeves.yaml:4", "agents.clerk.temperature", "not 3"]),
        ("modes: {fast: {pipelin: x}}", ["jeeves.yaml:4", "modes.fast.pipelin", "unknown key; known here: deadline_s"]),
        ("product: Depot", ["jeeves.yaml:4", "capability_settings.depot.product", "product_name"]),
        ('product_name: "a\\x1b[2J"', ["jeeves.yaml:4", "product_name"]),
    ],
)
def test_a_fault_is_told_with_file_line_and_key(tmp_path: Path, text: str, told: list[str]) -> None:
    (fault,) = faults(tmp_path, section(text))
    for words in told:
        assert words in fault, fault


def test_a_section_of_a_capability_that_is_not_enabled_is_a_fault(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, section("domain: {}", capability="shop"))
    assert "no capability shop is enabled; enabled: code_analysis, depot" in fault


def test_a_capability_without_settings_of_its_own_takes_none(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, section("domain: {shelves: 5}"))
    with pytest.raises(DocumentFaults, match="has no settings of its own"):
        check_section(settings, Capability("depot"))


def test_a_variable_goes_before_the_file_and_its_fault_names_it(tmp_path: Path) -> None:
    name = "JEEVES_CAPABILITY_SETTINGS__DEPOT__DOMAIN__SHELVES"
    settings = settings_of(tmp_path, section("domain: {shelves: 5}"), {name: "7"})
    assert services_of(DEPOT, agent_settings(settings)) == DepotSettings(shelves=7)
    (fault,) = faults(tmp_path, section("domain: {shelves: 5}"), {name: "many"})
    assert name in fault


def test_the_faults_of_a_section_are_told_before_any_actor_starts(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, section("domain: {open_repositories: 0}", "code_analysis"))
    with pytest.raises(DocumentFaults, match="open_repositories"):
        system_parts(settings, [load_named_pipeline(settings, "code_analysis")])


@pytest.mark.parametrize("after_s", [0, 60, 3_600])
def test_a_setting_says_when_a_run_without_an_owner_is_abandoned(tmp_path: Path, after_s: float) -> None:
    text = "{}" if after_s == 3_600 else f"supervisor: {{abandoned_after_s: {after_s}}}"
    settings = settings_of(tmp_path, text)
    assert system_parts(settings, [load_named_pipeline(settings, "code_analysis")])["abandoned_after_s"] == after_s


def test_the_settings_of_code_analysis_bound_how_many_repositories_are_open(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, section("domain: {open_repositories: 2}", "code_analysis"))
    assert services_of(CAPABILITY, agent_settings(settings))._max_open == 2


def test_settings_narrow_the_tools_of_agents_and_never_widen_them(tmp_path: Path) -> None:
    cases: list[tuple[str, set[str] | None]] = [
        ("allowed_tools: [locate, git_status, grep_search]", {"locate", "git_status"}),
        ("allowed_tools: []", set()),
        ("product_name: x", None),
    ]
    for text, allowed in cases:
        settings = settings_of(tmp_path, section(text, "code_analysis"))
        traverser = load_named_pipeline(settings, "code_analysis").stages["traverser"]
        told = {**agent_settings(settings), "vectors": None}
        agent: Any = Agent(traverser, CAPABILITY, "rules", told, FakeClock(), LocalQueries())
        assert agent._allowed == (set(traverser.allowed_tools) if allowed is None else allowed)


def test_a_section_goes_over_the_shipped_one_key_by_key(tmp_path: Path) -> None:
    text = section("modes: {quick: {deadline_s: 5}}", "code_analysis")
    merged = capability_section(settings_of(tmp_path, text), "code_analysis")
    assert merged.modes["quick"].deadline_s == 5
    assert merged.modes["quick"].pipeline == "code_analysis_small"
    assert merged.modes["reviewed"].pipeline == "code_analysis_reviewed"


def test_a_mode_names_a_pipeline_bounds_and_a_reasoner(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, "{}")
    quick = mode_named(settings, "quick")
    assert tuple(quick) == ("code_analysis_small", {"max_stages": 1, "max_reintents": 0}, 60, "rules", None)
    named = settings_of(tmp_path, section("product_name: Depot desk", "code_analysis"))
    assert tuple(mode_named(named, None)) == ("code_analysis", {}, None, None, "Depot desk")
    assert set(modes_of(settings, "code_analysis")) == {"small", "reviewed", "hedged", "quick"}


def test_bounds_of_a_caller_and_of_a_mode_can_both_only_lower(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, "{}")
    found = mode_named(settings, "quick", limits={"max_stages": 5, "max_tool_calls": 2}, deadline_s=90)
    assert found.limits == {"max_stages": 1, "max_reintents": 0, "max_tool_calls": 2}
    assert found.deadline_s == 60
    assert mode_named(settings, "quick", limits={"max_stages": 0}, deadline_s=30)[1:3] == (
        {"max_stages": 0, "max_reintents": 0},
        30,
    )


@pytest.mark.parametrize(
    ("mode", "pipeline", "text", "error", "told"),
    [
        ("fast", None, "{}", UnknownNameError, "no mode 'fast'; it has hedged, quick, reviewed, small"),
        ("quick", "code_analysis", "{}", InputError, "runs the pipeline 'code_analysis_small'; leave out"),
        ("x", None, section("modes: {x: {pipeline: nowhere}}", "code_analysis"), UnknownNameError, "nowhere"),
        ("x", None, section("modes: {x: {limits: {max_fun: 1}}}", "code_analysis"), SettingsError, "no bound max_fun"),
    ],
)
def test_a_mode_that_cannot_be_is_told(
    tmp_path: Path, mode: str, pipeline: str | None, text: str, error: type[JeevesError], told: str
) -> None:
    with pytest.raises(error, match=told):
        mode_named(settings_of(tmp_path, text), mode, pipeline)


limits = st.dictionaries(st.sampled_from("abc"), st.integers(0, 9))


@given(limits, limits)
def test_the_lower_limit_holds_for_each_bound(first: dict[str, int], second: dict[str, int]) -> None:
    both = lowered(first, second)
    assert set(both) == set(first) | set(second)
    assert all(both[name] == min(each[name] for each in (first, second) if name in each) for name in both)
    assert both == lowered(second, first)


@given(st.lists(st.none() | st.floats(0.1, 9), max_size=4))
def test_the_earliest_deadline_holds(given_s: list[float | None]) -> None:
    found: list[Any] = [each for each in given_s if each is not None]
    assert earliest(*given_s) == (min(found) if found else None)


@pytest.mark.long
def test_a_question_is_asked_in_a_mode_and_its_answer_names_mode_and_product(jeeves: Program, repo: Path) -> None:
    name = {"JEEVES_CAPABILITY_SETTINGS__CODE_ANALYSIS__PRODUCT_NAME": "Depot desk"}
    document = jeeves.ask("Where is the depot?", repo, "--mode", "quick", env=name).document
    assert (document["mode"], document["product"]) == ("quick", "Depot desk")
    shown = jeeves.run("runs", "show", document["run_id"]).out
    assert '"pipeline": "code_analysis_small"' in shown or '"pipeline":"code_analysis_small"' in shown


def test_a_mode_that_is_not_there_is_told_with_those_that_are(jeeves: Program, repo: Path) -> None:
    jeeves.run("ask", "Where is the depot?", "--repo", str(repo), "--mode", "fast").complains(2, "'fast'", "quick")


def test_a_batch_is_answered_in_a_mode(jeeves: Program, repo: Path, tmp_path: Path) -> None:
    line = f'{{"id": "a", "question": "Where is the depot?", "repo": "{repo}"}}\n'
    write(tmp_path / "in.jsonl", line)
    done = jeeves.run("batch", tmp_path / "in.jsonl", "--out", tmp_path / "out.jsonl", "--mode", "small")
    assert done.status == 0, done.err
    assert '"mode": "small"' in (tmp_path / "out.jsonl").read_text(encoding="utf-8")


def test_a_capability_that_is_broken_does_not_keep_settings_from_being_read(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, section("domain: {shelves: 0}"))
    assert mode_named(settings, "quick").pipeline == "code_analysis_small"
    with pytest.raises(SettingsError):
        load_capability("no_depot.capability:CAPABILITY", "depot")
