"""`jeeves doctor` looks at everything that is configured: each of its checks is seen failing, with what mends it."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.settings import Settings, load_settings
from serve.cli.commands import doctor_checks
from serve.cli.commands.doctor import TIME_LIMIT_S, run_checks
from serve.cli.commands.doctor_checks import CHECKS, Check
from tests.doors.endpoint import Endpoint, endpoint, silent_port
from tests.doors.installed import install
from tests.doors.program import QUICK_S, Program

__all__ = ["endpoint", "silent_port"]

DEPLOYMENT = "backend: openai, base_url: 'http://127.0.0.1:{port}/v1', model: m, max_model_len: 4096"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def checks_of(state: Path, **env: str) -> dict[str, Check]:
    """Run every check as the command does; the status of the command follows from them."""
    given = {"JEEVES_STATE_DIR": str(state), "JEEVES_RAY__MODE": "in_process"}
    given |= {f"JEEVES_{name}": value for name, value in env.items()}
    return {check.name: check for check in run_checks(CHECKS, load_settings(env=given), TIME_LIMIT_S)}


def fails(state: Path, name: str, problem: str, mend: str, **env: str) -> None:
    check = checks_of(state, **env)[name]
    assert (check.verdict, check.needed) == ("failed", True)
    assert problem in check.detail
    assert mend in check.mend


def model_file(tmp_path: Path, port: int, more: str = "") -> str:
    text = (
        f"{{deployments: {{main: {{{DEPLOYMENT.format(port=port)}{more}}}}}, roles: {{default: {{deployment: main}}}}}}"
    )
    (tmp_path / "models.yaml").write_text(text)
    return str(tmp_path / "models.yaml")


@pytest.mark.parametrize(
    ("env", "name", "problem", "mend"),
    [
        ({"STATE_DIR": "/proc/nowhere"}, "state folder", "cannot be", "state_dir"),
        ({"STORE__PATH": "/proc/nowhere"}, "store folder", "cannot be", "store.path"),
        (
            {"STORE__BACKEND": "postgres", "STORE__DSN": "postgresql://nobody@127.0.0.1:9/x"},
            "store runs",
            "cannot be reached",
            "docs/store.md",
        ),
        ({"CAPABILITIES": "code_analysis,other"}, "capability other", "not installed", "pip install"),
        ({"DEFAULT_PIPELINE": "nonsense"}, "pipeline nonsense", "no pipeline is named", "default_pipeline"),
        ({"WARM_PIPELINES": "nonsense"}, "pipeline nonsense", "no pipeline is named", "warm_pipelines"),
        ({"CAPABILITIES": "other"}, "pipeline code_analysis", "the settings enable other", "jeeves validate"),
        ({"MODELS__FILE": "nowhere"}, "models", "no models/nowhere.yaml", "models.file"),
        ({"REASONER": "llm"}, "models", "no model file is named", "models.file"),
        ({"RAY__MODE": "local", "RAY__NODE_IP": "203.0.113.9"}, "ray cluster", "cannot listen on", "ray.node_ip"),
        ({"RAY__MODE": "attach", "RAY__ADDRESS": "127.0.0.1:9"}, "ray cluster", "nothing answers", "ray.address"),
        ({"HTTP__HOST": "0.0.0.0"}, "http", "no loopback address", "http.host"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_what_is_configured_and_not_there_fails_with_what_mends_it(
    state: Path, env: dict[str, str], name: str, problem: str, mend: str
) -> None:
    fails(state, name, problem, mend, **env)


@pytest.mark.parametrize("status", [500, 401])
def test_an_endpoint_that_fails_or_refuses_the_key_is_told(
    state: Path, tmp_path: Path, endpoint: Endpoint, status: int
) -> None:
    (tmp_path / "key").write_text("abc")
    more = f", api_key_file: '{tmp_path / 'key'}'"
    file = model_file(tmp_path, endpoint(status), more)
    fails(state, "model main", f"answered {status}", "model file", MODELS__FILE=file)


def test_an_endpoint_that_is_dead_or_answers_is_told_as_it_is(state: Path, tmp_path: Path, endpoint: Endpoint) -> None:
    fails(state, "model main", "127.0.0.1:9", "model file", MODELS__FILE=model_file(tmp_path, 9))
    assert checks_of(state, MODELS__FILE=model_file(tmp_path, endpoint(200)))["model main"].verdict == "ok"


def test_prompts_and_pipelines_with_faults_are_told(state: Path, tmp_path: Path) -> None:
    config = tmp_path / "config"
    (config / "prompts" / "code_analysis").mkdir(parents=True)
    (config / "prompts" / "code_analysis" / "planner.3.md").write_text("no front matter")
    (config / "pipelines").mkdir()
    (config / "pipelines" / "mine.yaml").write_text(
        "name: mine\ncapability: code_analysis\nagents:\n  - {name: nobody, stage_order: 1}\n"
    )
    fails(state, "prompts code_analysis", "front matter", "jeeves validate", CONFIG_DIR=str(config))
    fails(state, "pipeline mine", "unknown agent 'nobody'", "jeeves validate mine", CONFIG_DIR=str(config))


def test_a_pipeline_of_a_capability_that_is_not_enabled_is_none_unless_the_settings_name_it(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(install(tmp_path / "site", "depot")))
    checks = checks_of(state, CAPABILITIES="depot", DEFAULT_PIPELINE="depot")
    assert [name for name in checks if name.startswith("pipeline ")] == ["pipeline depot"]
    assert checks["pipeline depot"].verdict == "ok"
    warm = {"CAPABILITIES": "depot", "DEFAULT_PIPELINE": "depot", "WARM_PIPELINES": "code_analysis"}
    fails(state, "pipeline code_analysis", "the settings enable depot", "jeeves validate", **warm)


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ("allowed_tools: [steal]", "has no steal"),
        ("domain: {open_repositories: 0}", "open_repositories"),
        ("modes: {fast: {pipeline: nowhere}}", "no pipeline is named 'nowhere'"),
    ],
)
def test_a_section_that_does_not_fit_its_capability_is_told_by_doctor_and_validate(
    state: Path, tmp_path: Path, section: str, told: str
) -> None:
    file = tmp_path / "jeeves.yaml"
    file.write_text(f"capability_settings:\n  code_analysis:\n    {section}\n")
    settings = load_settings(file, env={"JEEVES_STATE_DIR": str(state)})
    check = next(each for each in doctor_checks.check_capabilities(settings) if "code_analysis" in each.name)
    assert (check.verdict, check.needed) == ("failed", True)
    assert told in check.detail
    assert "capability_settings" in check.mend
    outcome = Program(state).run("validate", file)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(f"{file}:3: capability_settings.code_analysis")
    assert told in outcome.err


@pytest.mark.parametrize("name", ["runs/local", "sessions", "cache"])
def test_a_damaged_database_of_any_part_is_told(state: Path, name: str) -> None:
    path = state / f"{name}.sqlite"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not a database" * 500)
    fails(state, f"store {name.partition('/')[0]}", str(path), "docs/store.md" if name != "cache" else "makes it anew")


def test_a_record_of_a_warm_system_that_cannot_be_read_or_answers_nothing_is_told(state: Path) -> None:
    from serve.runtimes.warm import take_lock

    folder = state / "warm"
    folder.mkdir(parents=True)
    (folder / "record.json").write_text("{")
    lock = take_lock(load_settings(None, env={"HOME": str(state), "JEEVES_STATE_DIR": str(state)}))
    assert lock is not None
    with lock:
        fails(state, "warm system", "unreadable", "jeeves up")


def test_a_port_that_is_taken_is_told_and_needed_by_serve_alone(state: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        check = checks_of(state, HTTP__PORT=str(listener.getsockname()[1]))["http"]
    assert (check.verdict, check.needed) == ("missing", False)


def settings() -> Settings:
    return Settings(state_dir=Path("/nonsense"))


def only(found: Iterator[Check]) -> Check:
    (check,) = found
    assert check.mend
    return check


@pytest.mark.parametrize(
    ("running", "verdict"),
    [((3, 10, 9), "failed"), ((3, 11, 0), "ok"), ((3, 13, 1), "ok"), ((3, 14, 0), "failed")],
)
def test_a_python_that_is_not_tested_is_told(running: tuple[int, ...], verdict: str) -> None:
    assert only(doctor_checks.check_python(settings(), running)).verdict == verdict


def test_packages_and_programs_that_are_not_there_are_told() -> None:
    assert only(doctor_checks.check_packages(settings(), ["no-such-package"])).verdict == "missing"
    found = only(doctor_checks.check_programs(settings(), {"no-such-program": "apt-get install it"}))
    assert (found.verdict, found.needed) == ("missing", False)


def test_a_program_of_the_current_folder_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "rg").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "rg").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for path, verdict in (("bin:.", "missing"), (f"{tmp_path}/bin", "ok")):
        monkeypatch.setenv("PATH", path)
        (found,) = doctor_checks.check_programs(settings(), {"rg": "apt-get install it"})
        assert found.verdict == verdict


def test_foreign_code_is_told(tmp_path: Path) -> None:
    from actors.origin import code_tree

    (tmp_path / "foreign" / "actors").mkdir(parents=True)
    (tmp_path / "foreign" / "actors" / "__init__.py").write_text("")
    script = (
        f"import sys; sys.path[:0] = [{str(code_tree())!r}]\n"
        "from serve.cli.commands.doctor_checks import check_code\n"
        "import actors.origin\n"
        f"sys.modules['actors'].__spec__.submodule_search_locations[:] = [{str(tmp_path / 'foreign' / 'actors')!r}]\n"
        "print(list(check_code(None))[0].verdict)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stdout == "failed\n", done.stderr


@pytest.mark.long
def test_what_hangs_is_told_in_time_beside_what_does_not(silent_port: int, state: Path, tmp_path: Path) -> None:
    env = {
        "MODELS__FILE": model_file(tmp_path, silent_port),
        "RAY__MODE": "attach",
        "RAY__ADDRESS": f"127.0.0.1:{silent_port}",
        "STORE__BACKEND": "postgres",
        "STORE__DSN": f"postgresql://nobody@127.0.0.1:{silent_port}/x",
    }
    started_s = time.monotonic()
    checks = checks_of(state, **env)
    assert time.monotonic() - started_s < QUICK_S
    assert {checks[name].verdict for name in ("model main", "ray cluster")} == {"failed"}
    assert any(check.verdict == "failed" for name, check in checks.items() if name.startswith("store"))
    assert checks["state folder"].verdict == "ok"


@pytest.mark.long
def test_checks_run_beside_each_other_within_the_limit() -> None:
    together = threading.Barrier(2, timeout=30)
    never = threading.Event()

    def met(_settings: Settings) -> Iterator[Check]:
        together.wait()
        yield Check("met", "ok", "")

    def hangs(_settings: Settings) -> Iterator[Check]:
        yield Check("first", "ok", "")
        never.wait(30)

    def breaks(_settings: Settings) -> Iterator[Check]:
        yield Check(str(1 // 0), "ok", "")

    found = run_checks({"a": met, "b": met, "c": hangs, "d": breaks}, settings(), 1.0)
    never.set()
    assert [check.name for check in found] == ["met", "met", "first", "c", "d"]
    assert [check.verdict for check in found] == ["ok", "ok", "ok", "failed", "failed"]
    assert "no result within 1 s" in found[3].detail
    assert "ZeroDivisionError" in found[4].detail
