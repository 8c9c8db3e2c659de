"""The simulated world: time, a network that may fail, processes that stop, wake and die."""

from __future__ import annotations

import asyncio

import pytest

from runtime.errors import FencedError, StateStorageError
from runtime.primitives.ids import MessageId, RunId, StageKey
from runtime.simulator.faults import Fault, FaultPlan
from runtime.simulator.resending_process import Speaker
from runtime.simulator.storage import Disk, DiskJournal, WriteBehind
from runtime.simulator.world import START_MS, Message, Process, WallClock, World
from runtime.supervision.events import CancelRequested, Event

RUN = RunId("r-1")


class Listener(Process):
    """Writes down what it hears, and when."""

    def __init__(self, world: World, address: str = "ear") -> None:
        super().__init__(world, address)
        self.heard: list[tuple[int, str]] = []
        world.processes[address] = self

    def receive(self, message: Message) -> None:
        self.heard.append((self.world.now_ms - START_MS, message.body))


def world_with(plan: FaultPlan | None = None) -> World:
    world = World(plan or FaultPlan(), lambda fault: None)
    world.schedule(60_000, None, world.end_soon)
    return world


def say(world: World, *bodies: str) -> None:
    for body in bodies:
        world.send(Message(MessageId(body), "word", "mouth", "ear", body))


def heard(world: World) -> list[str]:
    ear = world.processes["ear"]
    assert isinstance(ear, Listener)
    world.run()
    return [body for _, body in ear.heard]


def test_things_happen_in_the_order_of_their_times() -> None:
    world = world_with()
    order: list[int] = []
    for delay_ms in (30, 10, 20, 10):
        world.schedule(delay_ms, None, order.append, (delay_ms,))
    world.run()
    assert order == [10, 10, 20, 30]


@pytest.mark.parametrize(
    ("fault", "arrives"),
    [
        (Fault("drop"), ["b"]),
        (Fault("double", 500), ["a", "b", "a"]),
        (Fault("delay", 500), ["b", "a"]),
        (Fault("reorder", 10), ["b", "a"]),
    ],
)
def test_the_plan_says_what_becomes_of_a_message(fault: Fault, arrives: list[str]) -> None:
    world = world_with(FaultPlan(at_message={1: fault}))
    Listener(world)
    say(world, "a", "b")
    assert heard(world) == arrives
    assert world.faults == {fault.kind: 1}


def test_a_bus_that_crashes_loses_what_is_on_its_way_and_what_is_sent_while_it_is_down() -> None:
    world = world_with()
    Listener(world)
    say(world, "on its way")
    world.crash_bus(100)
    say(world, "too early")
    world.schedule(99, None, say, (world, "still too early"))
    world.schedule(101, None, say, (world, "later"))
    assert heard(world) == ["later"]


def test_a_second_crash_keeps_the_bus_down_for_its_own_time() -> None:
    world = world_with()
    Listener(world)
    world.crash_bus(100)
    world.schedule(50, None, world.crash_bus, (100,))
    world.schedule(120, None, say, (world, "too early"))
    world.schedule(160, None, say, (world, "later"))
    assert heard(world) == ["later"]


def test_a_stopped_process_goes_on_with_what_piled_up_and_a_dead_one_does_not() -> None:
    world = world_with()
    ear = Listener(world)
    order: list[str] = []
    ear.after(10, order.append, "timer")
    ear.stop()
    say(world, "message")
    world.schedule(500, None, ear.wake)
    world.schedule(600, None, ear.die)
    ear.after(700, order.append, "after death")
    world.schedule(700, None, say, (world, "after death"))
    assert heard(world) == ["message"]
    assert order == ["timer"]


def test_a_world_in_which_nothing_ends_is_said_to_be_stuck() -> None:
    world = World(FaultPlan(), lambda fault: None)
    ear = Listener(world)

    def again() -> None:
        ear.after(10, again)

    again()
    world.run()
    assert world.is_stuck
    assert not_stuck()


def not_stuck() -> bool:
    world = world_with()
    world.run()
    return not world.is_stuck


def test_faults_strike_at_their_step() -> None:
    struck: list[Fault] = []
    plan = FaultPlan(at_step={2: Fault("crash_bus", 5)})
    world = World(plan, struck.append)
    for _ in range(3):
        world.schedule(1, None, lambda: None)
    world.run()
    assert struck == [Fault("crash_bus", 5)]


def test_a_speaker_says_it_again_until_it_is_acknowledged() -> None:
    world = world_with()
    ear, mouth = Listener(world), Speaker(world, "mouth")
    mouth.say(MessageId("m"), "word", "ear", "hello")

    def arrived() -> None:
        mouth.hear(MessageId("m"))

    world.schedule(2_000, None, arrived)
    world.run()
    assert [at_ms // 100 for at_ms, _ in ear.heard] == [0, 5, 15]


def test_the_wall_clock_jumps_and_the_world_does_not() -> None:
    world = world_with()
    clock = WallClock(world)
    world.wall_skew_ms = -5_000
    assert (clock.now_ms(), clock.monotonic_s()) == (START_MS - 5_000, START_MS / 1000)
    with pytest.raises(NotImplementedError):
        asyncio.run(clock.sleep(1))


def event(seq: int) -> Event:
    return Event(RUN, seq, 0, CancelRequested())


def test_the_disk_fails_before_or_after_it_wrote() -> None:
    world = world_with(FaultPlan(at_write={1: Fault("store_error"), 2: Fault("store_lie")}))
    disk = Disk(world)
    for _ in range(2):
        with pytest.raises(StateStorageError):
            disk.append("p", event(1))
    assert disk.kept(RUN) == [event(1)]
    disk.append("p", event(2))


def test_a_disk_that_is_down_does_nothing_and_comes_back() -> None:
    world = world_with()
    disk = Disk(world)
    journal = DiskJournal(world, disk)
    disk.crash(100)
    for action in (
        lambda: disk.append("p", event(1)),
        lambda: disk.events(RUN),
        lambda: disk.take_over("x"),
        lambda: disk.check_owner(1),
        disk.unfinished,
        lambda: journal.begin(StageKey(RUN, 1), "a"),
    ):
        with pytest.raises(StateStorageError):
            action()
    world.run()
    disk.append("p", event(1))


def test_a_disk_without_fencing_notes_what_it_should_have_refused() -> None:
    fenced, loose = Disk(world_with()), Disk(world_with(), is_fenced=False)
    for disk in (fenced, loose):
        assert [disk.take_over(name) for name in "ab"] == [1, 2]
    with pytest.raises(FencedError):
        fenced.append("p", event(1), 1)
    loose.append("p", event(1), 1)
    assert (len(fenced.deposed_writes), len(loose.deposed_writes)) == (0, 1)


def test_what_is_written_behind_reaches_the_disk_later_or_is_lost_with_its_process() -> None:
    world = world_with()
    disk = Disk(world)
    kept, lost = WriteBehind(disk, world), WriteBehind(disk, world)
    kept.append("p", event(1))
    lost.append("p", Event(RunId("r-2"), 1, 0, CancelRequested()))
    assert kept.events(RUN) == [event(1)]
    assert disk.kept(RUN) == []
    lost.lose()
    world.run()
    assert disk.kept(RUN) == [event(1)]
    assert disk.kept(RunId("r-2")) == []
