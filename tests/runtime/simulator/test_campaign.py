"""The simulator as a whole: repeatable, clean as the kernel is, and able to fail."""

from __future__ import annotations

import msgspec
import pytest

from runtime.errors import SettingsError
from runtime.simulator.campaign import Report, prepare, run_campaign, run_seed
from runtime.simulator.simulated_system import PROTECTIONS, System

ALL_FAULTS = {
    "drop",
    "double",
    "delay",
    "reorder",
    "crash_agent",
    "crash_after_effect",
    "crash_bus",
    "crash_supervisor",
    "crash_after_append",
    "crash_store",
    "store_error",
    "store_lie",
    "journal_error",
    "journal_lie",
    "stop_supervisor",
    "clock_jump",
    "reconnect",
    "second_answer",
    "stranger",
    "late_answer",
}


@pytest.fixture(scope="module")
def report() -> Report:
    return run_campaign(0, 1_000)


def without_times(report: Report) -> Report:
    return msgspec.structs.replace(report, duration_s=0.0, seeds_per_s=0.0)


@pytest.mark.long
def test_a_thousand_seeds_are_clean(report: Report) -> None:
    assert report.failures == ()
    assert (report.seeds, report.violations, report.broken) == (1_000, 0, None)
    assert report.runs >= 1_000


@pytest.mark.long
def test_every_kind_of_fault_strikes(report: Report) -> None:
    assert set(report.faults) == ALL_FAULTS
    assert min(report.faults.values()) >= 2


@pytest.mark.long
def test_most_runs_are_compared_with_their_twins_in_full(report: Report) -> None:
    assert report.compared["full"] > 0.6 * report.runs
    assert sum(report.compared.values()) == report.runs


@pytest.mark.long
def test_the_same_seeds_give_the_same_report() -> None:
    first, second = run_campaign(7, 40, "journal"), run_campaign(7, 40, "journal")
    assert first.violations > 0
    assert msgspec.json.encode(without_times(first)) == msgspec.json.encode(without_times(second))


@pytest.mark.long
def test_a_seed_alone_fails_as_it_does_in_a_campaign() -> None:
    for failure in run_campaign(0, 30, "dedup").failures:
        assert failure in run_seed(failure.seed, "dedup").failures


def test_a_seed_repeats_the_same_events_to_the_byte() -> None:
    def logs() -> list[bytes]:
        scenario, _, plan = prepare(11)
        system = System(scenario, plan)
        system.run()
        return [msgspec.msgpack.encode(system.disk.kept(run.run_id)) for run in scenario.runs]

    assert logs() == logs()


@pytest.mark.parametrize("protection", PROTECTIONS)
def test_a_kernel_without_a_protection_is_caught(protection: str) -> None:
    caught = next((seed for seed in range(1_000) if run_seed(seed, protection).failures), None)
    assert caught is not None, f"1000 seeds without '{protection}' and nothing was violated"


def test_ranges_are_half_open() -> None:
    seen: list[int] = []
    assert run_campaign(3, 6, on_seed=seen.append).seeds == 3
    assert seen == [3, 4, 5]
    assert run_campaign(5, 5).seeds == 0


def test_an_unknown_protection_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"no protection is named 'luck'; there are dedup, fencing, .*join"):
        run_campaign(0, 1, "luck")


@pytest.mark.long
def test_a_report_keeps_a_hundred_failures_and_counts_all() -> None:
    report = run_campaign(0, 80, "reserve")
    kept = len(report.failures)
    assert kept == min(100, report.violations)
    assert report.violations == sum(len(run_seed(seed, "reserve").failures) for seed in range(80))


def test_a_world_that_has_come_to_rest_leaves_nothing_for_the_garbage_collector() -> None:
    scenario, twin, plan = prepare(3)
    system = System(scenario, plan)
    system.run()
    for one in (system, twin):
        one.dismantle()
        assert vars(one) == {}
