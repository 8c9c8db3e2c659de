"""`jeeves validate`: every fault at once, with file and line; and pipelines drawn."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from runtime.settings import shipped_config_dir
from tests.doors.program import Program

FAULTY = """\
name: Faulty Name
max_iterations: -1
colour: red
agents:
  - name: first
    stage_order: 1
    default_next: nowhere
  - name: first
    stage_order: two
    has_llm: maybe
edge_limits:
  - {from: first, to: ghost, max_count: -1}
"""


def test_what_ships_is_valid(jeeves: Program) -> None:
    files = [*(shipped_config_dir() / "pipelines").glob("*.yaml"), shipped_config_dir() / "jeeves.yaml"]
    outcome = jeeves.run("validate", *files).answers()
    assert outcome.out.count("valid\n") == len(files)


def test_a_contract_is_told_from_a_pipeline(jeeves: Program, tmp_path: Path) -> None:
    shipped = shipped_config_dir() / "contracts" / "code_change.yaml"
    assert "contract 'code_change', 18 phases, 0 checks, valid" in jeeves.run("validate", shipped).answers().out
    checked = "    duty: verify\n    checks: [{name: x, command: 'false'}]\n"
    (tmp_path / "phase_contract.yml").write_text(shipped.read_text().replace("    duty: verify\n", checked))
    told = jeeves.run("validate", "phase_contract.yml", cwd=tmp_path)
    assert (told.status, "agents" in told.err) == (2, False)
    assert "command: a list of words is needed, such as [false]" in told.err


def test_a_model_file_is_told_with_the_bundles_of_a_replica_and_how_many_there_may_be(jeeves: Program) -> None:
    names = ("vllm_tiny", "vllm_h100_tp2", "vllm_h100_replicas", "openai")
    files = [shipped_config_dir() / "models" / f"{name}.yaml" for name in names]
    told = [line.strip() for line in jeeves.run("validate", *files).answers().out.splitlines()]
    gpu = "GPU: 1, accelerator_type:H100: 0.001"
    for line in (
        "main: tiny-model, 1 replica, each {CPU: 1}",
        f"main: Qwen/Qwen2.5-72B-Instruct-AWQ, 1 replica, each {{{gpu}, CPU: 8}} + {{{gpu}}}",
        f"large: Qwen/Qwen3-32B-FP8, 1 to 8 replicas, each {{{gpu}, CPU: 4}}",
        f"small: Qwen/Qwen3-8B, 1 to 2 replicas, each {{{gpu}, CPU: 4}}",
        "main: main at http://127.0.0.1:8000/v1",
    ):
        assert line in told, line


def test_every_fault_of_every_file_is_told_with_its_line(jeeves: Program, tmp_path: Path) -> None:
    (tmp_path / "faulty.yaml").write_text(FAULTY)
    (tmp_path / "settings.yaml").write_text("ray:\n  mode: cloud\nrubbish: 1\n")
    (tmp_path / "torn.yaml").write_text("a: [\n")
    outcome = jeeves.run("validate", "faulty.yaml", "settings.yaml", "torn.yaml", "missing.yaml", cwd=tmp_path)
    assert outcome.status == 2
    assert outcome.out == ""
    lines = outcome.err.splitlines()
    told = {match[1] for line in lines if (match := re.match(r"(faulty\.yaml:\d+|[a-z]+\.yaml)", line))}
    for line in ("faulty.yaml:1", "faulty.yaml:2", "faulty.yaml:3", "faulty.yaml:7", "faulty.yaml:9", "faulty.yaml:10"):
        assert line in told, f"{line} is not in {outcome.err}"
    for word in ("settings.yaml:2: ray.mode", "settings.yaml:3: rubbish", "torn.yaml", "missing.yaml", "ghost"):
        assert word in outcome.err
    assert "Traceback" not in outcome.err


def test_a_valid_file_is_told_beside_one_with_faults(jeeves: Program, tmp_path: Path) -> None:
    (tmp_path / "faulty.yaml").write_text("name: x\nagents: []\n")
    outcome = jeeves.run("validate", shipped_config_dir() / "jeeves.yaml", tmp_path / "faulty.yaml")
    assert outcome.status == 2
    assert "settings, valid" in outcome.out
    assert "faulty.yaml" in outcome.err


def test_a_graph_has_every_stage_and_every_way_on(jeeves: Program) -> None:
    pipeline = shipped_config_dir() / "pipelines" / "code_analysis.yaml"
    lines = jeeves.run("validate", "--graph", pipeline).answers().out.splitlines()
    assert lines[0] == "flowchart LR"
    edges = {line.strip() for line in lines}
    assert "perception --> intent" in edges
    assert 'critic -->|"route = #quot;reintent#quot;"| intent' in edges
    assert "integration --> END([end])" in edges


def test_a_graph_survives_whatever_a_rule_compares_with(jeeves: Program, tmp_path: Path) -> None:
    (tmp_path / "odd.yaml").write_text(
        "name: odd\nagents:\n  - name: a\n    stage_order: 1\n    error_next: end\n    routing_rules:\n"
        "      - {condition: 'x|y', value: true, target: clarification}\n"
        "      - {condition: c, value: 'a\"]|end', target: end}\n"
    )
    lines = jeeves.run("validate", "--graph", tmp_path / "odd.yaml").answers().out.splitlines()
    assert [line.strip() for line in lines[1:]] == [
        "a[a]",
        'a -->|"x|y = true"| CLARIFICATION([clarification])',
        'a -->|"c = #quot;a\\#quot;]|end#quot;"| END([end])',
        "a --> END([end])",
        "a -.->|error| END([end])",
    ]


NAMES = """\
name: mine
capability: code_analysis
agents:
  - name: perception
    stage_order: 1
    default_next: planner
  - name: planner
    stage_order: 2
    has_llm: true
    model_role: planner
    prompt_key: planner@3
    has_tools: true
    tool_access: read
    allowed_tools: [list_tools]
    default_next: integration
  - name: integration
    stage_order: 3
"""


@pytest.mark.parametrize(
    ("there", "not_there", "line", "problem"),
    [
        ("capability: code_analysis", "capability: nonsense", 2, "nonsense"),
        ("- name: integration", "- name: integrator", 16, "did you mean 'integration'"),
        ("model_role: planner", "model_role: plannr", 10, "unknown model role 'plannr'; did you mean 'planner'"),
        ("planner@3", "planner@4", 11, "there is no prompt 'planner@4'"),
        ("planner@3", "nobody", 11, "no prompt is named 'nobody'"),
        ("[list_tools]", "[list_tool]", 14, "unknown tool 'list_tool'; did you mean 'list_tools'"),
        ("    has_llm: true\n    model_role: planner\n    prompt_key: planner@3\n", "", 8, "needs has_llm: true"),
        ("    stage_order: 3", "    stage_order: 3\n    has_policies: true", 18, "no hook `policy`"),
    ],
)
def test_a_pipeline_that_names_what_is_not_there_is_not_valid(
    jeeves: Program, tmp_path: Path, there: str, not_there: str, line: int, problem: str
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(NAMES)
    assert "valid" in jeeves.run("validate", file).answers().out
    text = (
        NAMES.replace("default_next: integration", "default_next: integrator") if "integrator" in not_there else NAMES
    )
    assert there in text
    file.write_text(text.replace(there, not_there))
    outcome = jeeves.run("validate", file)
    assert (outcome.status, outcome.out) == (2, "")
    assert problem in outcome.err
    if "has_llm" not in there:
        assert f"mine.yaml:{line}:" in outcome.err


def test_names_that_are_not_there_are_told_beside_faults_of_structure(jeeves: Program, tmp_path: Path) -> None:
    text = NAMES.replace("[list_tools]", "[list_tool]").replace("planner@3", "planner@9")
    (tmp_path / "mine.yaml").write_text(text + "max_agent_hops: many\ncolour: red\nmax_iterations: -1\n")
    outcome = jeeves.run("validate", "mine.yaml", cwd=tmp_path)
    assert (outcome.status, outcome.out) == (2, "")
    for told in ("unknown tool 'list_tool'", "planner@9", "max_agent_hops", "colour", "max_iterations"):
        assert told in outcome.err, told
    # Without its name and capability nothing can be told of what a pipeline names.
    (tmp_path / "mine.yaml").write_text(text.replace("name: ", "name: 5 # ", 1))
    assert "unknown tool" not in jeeves.run("validate", "mine.yaml", cwd=tmp_path).err


def test_settings_tell_names_and_sections_at_once(jeeves: Program, tmp_path: Path) -> None:
    sections = "capability_settings:\n  code_analysis:\n    allowed_tools: [steal]\n"
    (tmp_path / "jeeves.yaml").write_text(f"default_pipeline: nowhere\n{sections}")
    outcome = jeeves.run("validate", "jeeves.yaml", cwd=tmp_path)
    assert outcome.status == 2
    for told in ("jeeves.yaml:1: default_pipeline", "'nowhere'", "jeeves.yaml:4: capability_settings", "has no steal"):
        assert told in outcome.err, told


def test_a_role_of_the_model_file_is_there(jeeves: Program, tmp_path: Path) -> None:
    (tmp_path / "models.yaml").write_text(
        "deployments:\n  main: {backend: openai, base_url: 'http://127.0.0.1:1/v1', model: m, max_model_len: 4096}\n"
        "roles:\n  default: {deployment: main}\n  cheap: {deployment: main}\n"
    )
    (tmp_path / "mine.yaml").write_text(NAMES.replace("model_role: planner", "model_role: cheap"))
    assert jeeves.run("validate", "mine.yaml", cwd=tmp_path).status == 2
    jeeves.run("validate", "mine.yaml", "--models", "models.yaml", cwd=tmp_path).answers()


def test_pipelines_model_files_and_prompts_are_found_by_name(jeeves: Program, tmp_path: Path) -> None:
    out = jeeves.run("validate", "code_analysis_hedged", "openai", "planner", "critic@2", cwd=tmp_path).answers().out
    for word in (
        "pipeline 'code_analysis_hedged'",
        "1 model, 1 role",
        "prompt planner@3",
        "prompt critic@2",
    ):
        assert word in out
    outcome = jeeves.run("validate", "nonsense", cwd=tmp_path)
    assert outcome.status == 2
    assert "neither a file nor" in outcome.err
    assert "code_analysis_small" in outcome.err


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ("default_pipeline: nonsense", "settings.yaml:1: default_pipeline: no pipeline is named 'nonsense'"),
        ("warm_pipelines: [code_analysis_small, nonsense]", "settings.yaml:1: warm_pipelines[1]"),
        ("capabilities: [code_analysis, nonsense]", "no capability 'nonsense' is installed"),
        ("reasoner: llm\nmodels: {file: nonsense}", "settings.yaml:2: models.file"),
    ],
)
def test_settings_that_name_what_is_not_there_are_not_valid(
    jeeves: Program, tmp_path: Path, settings: str, problem: str
) -> None:
    (tmp_path / "settings.yaml").write_text(f"{settings}\n")
    outcome = jeeves.run("validate", "settings.yaml", cwd=tmp_path)
    assert outcome.status == 2
    assert problem in outcome.err


def test_as_json_there_is_a_verdict_for_each_document(jeeves: Program, tmp_path: Path) -> None:
    (tmp_path / "faulty.yaml").write_text(FAULTY)
    outcome = jeeves.run("validate", "--json", "code_analysis", "faulty.yaml", cwd=tmp_path)
    assert (outcome.status, outcome.err) == (2, "")
    valid, faulty = json.loads(outcome.out)
    assert (valid["valid"], valid["kind"], valid["faults"]) == (True, "pipeline", [])
    assert not faulty["valid"]
    assert any("ghost" in fault for fault in faulty["faults"])


def test_a_graph_has_requirements_joins_fan_outs_and_the_final_stage(jeeves: Program) -> None:
    lines = {
        line.strip() for line in jeeves.run("validate", "--graph", "code_analysis_hedged").answers().out.splitlines()
    }
    for line in (
        "perception ==>|requires| intent",
        "plan_choice__join{any of}",
        "planner_quick ==> plan_choice__join",
        "planner_thorough ==> plan_choice__join",
        "plan_choice__join ==>|requires| plan_choice",
        'traverser[["traverser<br/>foreach outputs.planner.groups, 4 at once"]]',
        "traverser -.->|error| integration",
        'integration[/"integration<br/>final stage"/]',
        "integration --> END([end])",
        "critic --> integration",
    ):
        assert line in lines, line
    assert "perception --> END([end])" not in lines


def test_a_graph_has_joins_of_all_soft_order_and_answers(jeeves: Program, tmp_path: Path) -> None:
    (tmp_path / "odd.yaml").write_text(
        "name: odd\ndefault_run_mode: parallel\nclarification_resume_stage: c\nagents:\n"
        "  - {name: a, stage_order: 1}\n  - {name: b, stage_order: 2}\n"
        "  - {name: c, stage_order: 3, requires: [a, b],"
        " routing_rules: [{condition: x, value: 1, target: clarification}]}\n"
        "  - {name: d, stage_order: 4, after: [c]}\n"
    )
    lines = {
        line.strip() for line in jeeves.run("validate", "--graph", tmp_path / "odd.yaml").answers().out.splitlines()
    }
    for line in ("c__join{all of}", "c -.->|after| d", "CLARIFICATION([clarification]) -->|answered| c"):
        assert line in lines, line


@pytest.mark.parametrize("secret", [None, "postgresql://jeeves@db/jeeves"])
def test_settings_of_a_store_on_a_server_are_valid_without_its_secret(tmp_path: Path, secret: str | None) -> None:
    used = {} if secret is None else {"JEEVES_STORE__DSN": secret, "JEEVES_STORE__BACKEND": "postgres"}
    jeeves = Program(tmp_path / "state", **used)
    for name, store in (("server", "{backend: postgres}"), ("file", "{backend: sqlite}"), ("odd", "postgres")):
        (tmp_path / f"{name}.yaml").write_text(f"store: {store}\n")
    assert "settings, valid" in jeeves.run("validate", "server.yaml", cwd=tmp_path).out
    assert "settings, valid" in jeeves.run("validate", "file.yaml", cwd=tmp_path).out
    assert "odd.yaml:1: store" in jeeves.run("validate", "odd.yaml", cwd=tmp_path).err
