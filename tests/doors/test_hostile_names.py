"""Names, texts and questions that a terminal would execute, hide or reorder: every command shows them as escapes."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from runtime.primitives.visible_text import visible
from tests.doors.program import Outcome, Program
from tests.doors.sample_repo import FILES, write_files
from tests.examples import long_but

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = "\x1b[31m\x07\x9b2J\u202eevil\u2066\u2028\u200b\U000e0041\x7f"
QUESTION = f"What does ring_bell do?{HOSTILE}"
CODE = f'def ring_bell() -> str:\n    """Rings {HOSTILE}."""\n    return "{HOSTILE}"\n'


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    return write_files(tmp_path / f"repo{HOSTILE}", {**FILES, f"bell{HOSTILE}.py": CODE, "bell.py": CODE})


def check(outcome: Outcome, *statuses: int) -> Outcome:
    assert outcome.status in statuses, f"{outcome.status}: {outcome.err}{outcome.out}"
    for text in (outcome.out, outcome.err):
        assert text == visible(text), ascii(text)
    return outcome


@pytest.mark.long
def test_answers_show_no_hidden_character_of_a_repository(jeeves: Program, hostile: Path) -> None:
    answer = check(jeeves.run("ask", QUESTION, "--repo", hostile, "--explain"), 0)
    assert "\\u202eevil" in answer.out
    document = json.loads(check(jeeves.run("ask", QUESTION, "--repo", hostile, "--json"), 0).out)
    assert document["repo"] == str(hostile)


@pytest.mark.long
def test_runs_show_no_hidden_character_of_their_requests(jeeves: Program, hostile: Path) -> None:
    check(jeeves.run("ask", QUESTION, "--repo", hostile, "--session", "tour"), 0)
    (line,) = check(jeeves.run("runs", "list"), 0).out.splitlines()
    assert f"[tour] What does ring_bell do?{visible(HOSTILE)[:8]}" in line
    check(jeeves.run("runs", "list", "--json"), 0)
    run_id = line.split()[0]
    for command in (
        ["answer"],
        ["answer", "--json"],
        ["show"],
        ["why"],
        ["why", "--json"],
        ["log"],
        ["log", "--json"],
        ["watch"],
        ["watch", "--json"],
    ):
        check(jeeves.run("runs", *command, run_id), 0)
    check(jeeves.run("runs", "log", "--session", "tour"), 0)
    check(jeeves.run("runs", "fork", run_id, "--at", "3"), 0)


@pytest.mark.long
def test_the_other_commands_show_none_either(jeeves: Program, hostile: Path, tmp_path: Path) -> None:
    check(jeeves.run("index", "--repo", hostile, "--stats"), 0)
    check(jeeves.run("index", "--repo", hostile, "--json"), 0)
    check(jeeves.run("tool", "tree_structure", "--repo", hostile), 0)
    check(jeeves.run("tool", "locate", '{"query": "ring bell"}', "--repo", hostile), 0)
    lines = tmp_path / f"in{HOSTILE}.jsonl"
    lines.write_text(json.dumps({"id": HOSTILE, "question": QUESTION, "repo": str(hostile)}) + "\n")
    check(jeeves.run("batch", lines, "--out", tmp_path / f"out{HOSTILE}.jsonl"), 0)
    check(jeeves.run("status"), 1)
    check(jeeves.run("doctor", env={"JEEVES_STATE_DIR": str(tmp_path / HOSTILE)}), 0)
    check(jeeves.run("gc", "--older-than", "0"), 0)


@pytest.mark.parametrize(
    "arguments",
    long_but(
        [
            ["ask", QUESTION, "--repo", f"/nonsense{HOSTILE}"],
            ["ask", QUESTION, "--pipeline", HOSTILE],
            ["ask", QUESTION, f"--nonsense{HOSTILE}"],
            ["ask", QUESTION, "--max-stages", HOSTILE],
            ["ask", QUESTION, HOSTILE],
            ["ask", QUESTION, "--config", f"/nonsense{HOSTILE}"],
            [HOSTILE],
            ["tool", HOSTILE],
            ["tool", "locate", f'{{"{HOSTILE}": 1}}'],
            ["validate", f"/nonsense{HOSTILE}.yaml"],
            ["validate", "hostile.yaml"],
            ["runs", "show", HOSTILE],
            ["runs", HOSTILE],
            ["simulate", "--seeds", HOSTILE],
            ["batch", "hostile.yaml", "--out", "x.jsonl"],
        ],
        0,
        2,
        6,
        8,
        11,
    ),
    ids=lambda arguments: "-".join(arguments[:1]),
)
def test_complaints_show_none(jeeves: Program, tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "hostile.yaml").write_text(f'name: "{HOSTILE}"\nagents: ["{HOSTILE}"]\n', encoding="utf-8")
    check(jeeves.run(*arguments), 1, 2)


@pytest.mark.long
def test_only_one_module_prints() -> None:
    """A print elsewhere would bypass the escapes; the standard error of the two others is a file, and a pipe."""
    allowed = {"serve/cli/output/terminal.py", "serve/cli/main.py", "serve/runtimes/daemon.py"}
    allowed.add("serve/deployed/start_system.py")
    printing = set()
    for path in (path for layer in ("serve", "actors", "runtime") for path in (ROOT / layer).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _prints(ast.unparse(node.func)):
                printing.add(path.relative_to(ROOT).as_posix())
    assert printing <= allowed
    assert "serve/cli/output/terminal.py" in printing


def _prints(called: str) -> bool:
    return called in {"print", "Console", "typer.echo", "typer.secho"} or called.endswith(
        ("stdout.write", "stderr.write", "stdout.buffer.write", "console.print")
    )
