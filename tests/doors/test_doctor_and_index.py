"""`jeeves doctor` says what is there and what is missing; `jeeves index` says what it read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtime.database.sqlite_database import SqliteDatabase
from runtime.memory.sessions import SESSIONS
from runtime.primitives.clock import FakeClock
from tests.doors.endpoint import Endpoint, endpoint
from tests.doors.program import Program

__all__ = ["endpoint"]


@pytest.mark.long
def test_a_sound_installation_has_nothing_to_mend(jeeves: Program) -> None:
    outcome = jeeves.run("doctor", "--json").answers()
    checks = {check["name"]: check for check in json.loads(outcome.out)}
    assert all(check["verdict"] == "ok" for check in checks.values() if check["needed"])
    assert {"python", "ray", "state folder", "pipeline code_analysis", "own code", "warm system"} <= set(checks)
    assert checks["capability code_analysis"]["detail"] == "5 pipelines"
    assert jeeves.run("doctor").answers().out.count("\n") == len(checks)


def test_what_is_missing_is_told_with_status_1(jeeves: Program, tmp_path: Path) -> None:
    outcome = jeeves.run("doctor", "--json", env={"JEEVES_STATE_DIR": "/proc/nowhere"})
    assert outcome.status == 1
    failed = [check["name"] for check in json.loads(outcome.out) if check["needed"] and check["verdict"] != "ok"]
    assert failed == ["state folder"]


def test_each_part_of_the_store_is_looked_at_and_none_is_made(jeeves: Program, tmp_path: Path) -> None:
    state = tmp_path / "parts"
    env = {"JEEVES_STATE_DIR": str(state)}
    (state / "sessions.sqlite").parent.mkdir(parents=True)
    SESSIONS.open(SqliteDatabase(state / "sessions.sqlite", "normal"), FakeClock()).close()
    (state / "cache.sqlite").write_bytes(b"not a database, not at all" * 500)
    outcome = jeeves.run("doctor", "--json", env=env)
    checks = {check["name"]: check for check in json.loads(outcome.out)}
    told = {name: check["detail"] for name, check in checks.items() if name.startswith("store ")}
    assert (outcome.status, checks["store cache"]["verdict"]) == (1, "failed")
    assert "not a database" in told.pop("store cache")
    assert told.pop("store sessions") == "schema 3 of 3"
    assert told.pop("store runs") == "0 databases"
    assert set(told.values()) == {"not made yet"}
    parts = ("code_changes", "journal", "queues", "relations", "run_metrics", "tokens", "tool_metrics", "usage")
    assert {f"store {part}" for part in parts} == set(told)
    assert sorted(path.name for path in state.glob("*.sqlite")) == ["cache.sqlite", "sessions.sqlite"]


@pytest.mark.long
def test_each_deployment_of_the_model_file_is_checked(jeeves: Program, tmp_path: Path, endpoint: Endpoint) -> None:
    port = endpoint(200)
    endpoint_of = f"backend: openai, base_url: 'http://127.0.0.1:{port}/v1', model: m, max_model_len: 4096"
    text = (
        f"{{deployments: {{main: {{{endpoint_of}, api_key_env: MY_KEY}}}}, roles: {{default: {{deployment: main}}}}}}"
    )
    (tmp_path / "models.yaml").write_text(text, encoding="utf-8")
    env = {"JEEVES_MODELS__FILE": str(tmp_path / "models.yaml")}
    outcome = jeeves.run("doctor", env=env)
    assert outcome.status == 1
    assert "the variable MY_KEY holds no usable key" in outcome.out
    told = jeeves.run("doctor", env={**env, "MY_KEY": "abc"}).answers().out
    assert f"m at http://127.0.0.1:{port}/v1" in told
    outcome = jeeves.run("doctor", env={"JEEVES_MODELS__FILE": "nowhere"})
    assert outcome.status == 1


def test_a_pipeline_with_faults_is_told(jeeves: Program, tmp_path: Path) -> None:
    (tmp_path / "config" / "pipelines").mkdir(parents=True)
    (tmp_path / "config" / "pipelines" / "mine.yaml").write_text("name: mine\nagents: []\n")
    outcome = jeeves.run("doctor", env={"JEEVES_CONFIG_DIR": str(tmp_path / "config")})
    assert outcome.status == 1
    assert "mine.yaml" in outcome.out
    assert "jeeves validate" in outcome.out


def test_a_capability_that_is_not_installed_is_told(jeeves: Program) -> None:
    outcome = jeeves.run("doctor", "--json", env={"JEEVES_CAPABILITIES": "code_analysis,other"})
    assert outcome.status == 1
    checks = {check["name"]: check for check in json.loads(outcome.out)}
    assert checks["capability other"]["verdict"] == "failed"
    assert "not installed; installed: code_analysis" in checks["capability other"]["detail"]


def test_doctor_says_that_a_disk_is_full_or_settings_are_wrong_in_one_line(jeeves: Program) -> None:
    jeeves.run("doctor", env={"JEEVES_RAY__MODE": "cloud"}).complains(2, "JEEVES_RAY__MODE")


@pytest.mark.long
def test_files_that_did_not_change_are_not_parsed_again(jeeves: Program, repo: Path) -> None:
    def stats(*args: str) -> dict[str, int]:
        read: dict[str, int] = jeeves.run("index", "--repo", repo, "--json", *args).answers().document["stats"]
        return read

    first = stats()
    assert (first["parsed_now"], first["unchanged"], first["removed"]) == (first["files"], 0, 0)
    second = stats()
    assert (second["parsed_now"], second["unchanged"]) == (0, first["files"])
    (repo / "post" / "boxes.py").write_text("MAX_LETTERS = 4\n")
    (repo / "README.md").unlink()
    third = stats()
    assert (third["parsed_now"], third["unchanged"], third["removed"]) == (1, first["files"] - 2, 1)
    assert stats("--rebuild")["parsed_now"] == first["files"] - 1


def test_the_summary_is_plain_text_when_piped(jeeves: Program, repo: Path) -> None:
    outcome = jeeves.run("index", "--repo", repo).answers()
    assert "5 files" in outcome.out
    assert "python" in outcome.out
    assert "\x1b" not in outcome.out


@pytest.mark.long
def test_two_writers_of_one_index_wait_for_each_other(jeeves: Program, repo: Path) -> None:
    for number in range(100):
        (repo / f"wide_{number}.py").write_text("".join(f"def f{number}_{n}():\n    return {n}\n" for n in range(100)))
    started = [jeeves.start("index", "--repo", repo, "--json") for _ in range(3)]
    done = [process.communicate(timeout=100) for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], done
    stats = [json.loads(out)["stats"] for out, _ in done]
    assert sorted(stat["parsed_now"] for stat in stats) == [0, 0, 105]


@pytest.mark.long
def test_exact_counts_tell_what_was_read_how(jeeves: Program, repo: Path) -> None:
    (repo / "void.py").write_text("")
    (repo / "odd.zzz").write_text("whatever\n")
    outcome = jeeves.run("index", "--repo", repo, "--stats").answers()
    assert "unsupported 1, empty 1" in outcome.out
    assert "unsupported: odd.zzz\nempty: void.py\n" in outcome.out
    stats = jeeves.run("index", "--repo", repo, "--stats", "--json").answers().document["stats"]
    assert stats["coverage"]["failed"] == 0
    assert sum(stats["coverage"].values()) == stats["files"]
    assert stats["references"] > 0
