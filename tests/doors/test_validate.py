"""`jeeves validate`: every fault at once, with file and line; and pipelines drawn."""

from __future__ import annotations

import re
from pathlib import Path

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
