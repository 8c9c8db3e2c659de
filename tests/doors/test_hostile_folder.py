"""A folder that holds modules named like ours, and like those that we use: it is read, and never run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doors.evidence_checker import document_faults
from tests.doors.program import Outcome, Program, snapshot
from tests.doors.sample_repo import FILES, QUESTION, write_files

NAMES = [
    *("sitecustomize.py", "usercustomize.py", "conftest.py"),
    *("runtime/__init__.py", "runtime/errors.py", "actors/__init__.py", "serve/__init__.py", "configs/__init__.py"),
    *(
        "yaml.py",
        "ray.py",
        "msgspec.py",
        "typer.py",
        "rich.py",
        "pydantic.py",
        "tree_sitter.py",
        "json.py",
        "asyncio.py",
    ),
    *("sqlite3.py", "fastapi.py", "uvicorn.py", "psutil.py", "grpc.py", "setproctitle.py", "colorama.py"),
]
SETTINGS = ["jeeves.yaml", "configs/jeeves.yaml", ".env", "pyproject.toml", "setup.cfg", "ray_bootstrap_config.yaml"]


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """What a module of the folder writes when it is imported."""
    return tmp_path / "imported"


@pytest.fixture
def hostile(tmp_path: Path, marker: Path) -> Path:
    """A repository full of such modules, and of files that might be taken for settings."""
    code = f"with open({str(marker)!r}, 'a') as file:\n    file.write(__name__ + '\\n')\n"
    folder = write_files(tmp_path / "repo", {**FILES, **dict.fromkeys(NAMES, code)})
    write_files(folder, dict.fromkeys(SETTINGS, "state_dir: /nonsense\nray: {mode: nonsense}\nJEEVES_REASONER=magic\n"))
    return folder


def check(outcome: Outcome, hostile: Path, marker: Path, before: dict[str, str]) -> None:
    assert not marker.exists(), marker.read_text()
    outcome.answers()
    assert document_faults(outcome.document, hostile) == []
    assert outcome.document["citations"]
    assert snapshot(hostile) == before


def test_the_modules_do_write_their_mark(hostile: Path, marker: Path) -> None:
    exec(compile((hostile / "yaml.py").read_text(), "yaml.py", "exec"), {"__name__": "yaml"})
    assert marker.read_text() == "yaml\n"


@pytest.mark.long
def test_a_question_asked_inside_the_folder_runs_nothing_of_it(jeeves: Program, hostile: Path, marker: Path) -> None:
    jeeves.forks = False  # what Python imports at its start is what this is about
    before = snapshot(hostile)
    check(jeeves.run("ask", QUESTION, "--json", cwd=hostile), hostile, marker, before)
    jeeves.run("index", cwd=hostile).answers()
    jeeves.run("tool", "list_tools", cwd=hostile).answers()
    jeeves.run("doctor", cwd=hostile).answers()
    assert not marker.exists()


@pytest.mark.long
@pytest.mark.ray
def test_through_ray_too_a_question_asked_inside_the_folder_runs_nothing_of_it(
    ray_jeeves: Program, hostile: Path, marker: Path
) -> None:
    before = snapshot(hostile)
    check(ray_jeeves.run("ask", QUESTION, "--json", cwd=hostile), hostile, marker, before)


@pytest.mark.long
@pytest.mark.ray
def test_the_environment_of_another_cluster_and_of_the_folder_leads_ray_nowhere(
    ray_jeeves: Program, hostile: Path, marker: Path
) -> None:
    before = snapshot(hostile)
    env = {
        "RAY_ADDRESS": "127.0.0.1:1",
        "RAY_NAMESPACE": "theirs",
        "RAY_RUNTIME_ENV_HOOK": "runtime.errors.hook",
        "RAY_JOB_CONFIG_JSON_ENV_VAR": "{}",
        "RAY_TMPDIR": str(hostile),
    }
    check(ray_jeeves.run("ask", QUESTION, "--json", cwd=hostile, env=env), hostile, marker, before)
