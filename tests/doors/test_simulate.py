"""`jeeves simulate`: a report for people and for programs; exit status 1 when something was violated."""

from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from runtime.errors import SettingsError
from serve.cli.commands.simulate import seed_range, simulate

app = typer.Typer()
app.command()(simulate)
program = CliRunner()


@pytest.mark.long
def test_clean_seeds_are_told_and_the_status_is_zero() -> None:
    outcome = program.invoke(app, ["--seeds", "0:15"])
    assert outcome.exit_code == 0
    assert outcome.stdout.startswith("15 seeds with ")
    assert "violations: 0\n" in outcome.stdout
    assert "drop " in outcome.stdout


@pytest.mark.long
def test_the_json_report_has_seeds_violations_faults_and_failures() -> None:
    outcome = program.invoke(app, ["--seeds", "0:30", "--json", "--break", "reserve"])
    assert outcome.exit_code == 1
    report = json.loads(outcome.stdout)
    assert (report["seeds"], report["broken"]) == (30, "reserve")
    assert report["violations"] >= len(report["failures"]) > 0
    assert set(report["failures"][0]) == {"seed", "invariant", "detail"}
    assert report["faults"]["drop"] > 0


@pytest.mark.long
def test_violations_are_told_with_their_seeds() -> None:
    outcome = program.invoke(app, ["--seeds", "0:60", "--break", "journal"])
    assert outcome.exit_code == 1
    assert "with 'journal' switched off" in outcome.stdout
    assert "  seed " in outcome.stdout


@pytest.mark.parametrize("text", ["", "5", "a:b", "5:3", ":", "1:2:3", "-1:3", "1.5:2", "²:5"])
def test_seeds_that_are_no_range_are_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="--seeds takes A:B"):
        seed_range(text)


def test_a_range_may_be_empty() -> None:
    assert seed_range("3:3") == (3, 3)
    assert program.invoke(app, ["--seeds", "3:3"]).exit_code == 0


def test_an_unknown_protection_is_refused() -> None:
    outcome = program.invoke(app, ["--seeds", "0:1", "--break", "luck"])
    assert isinstance(outcome.exception, SettingsError)
