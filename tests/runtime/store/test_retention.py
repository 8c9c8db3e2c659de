"""What goes with time and what never goes, at each limit and on both backends, also while a supervisor is at work."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from runtime.codebase.knowledge.relation import Relation
from runtime.codebase.knowledge.relation_store import RELATIONS
from runtime.effects.journal import EffectKey
from runtime.memory.cache import CACHE
from runtime.memory.sessions import SESSIONS, Turn
from runtime.memory.tool_metrics import TOOL_METRICS, ToolUse
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import RunId, StageKey
from runtime.queues.work_table import WorkerId
from runtime.store.event_rows import LARGE_BYTES
from runtime.store.opening import Stores, has_database, open_run_log, open_store, run_log_names
from runtime.store.options import StoreOptions
from runtime.store.parts import all_parts
from runtime.store.retention import Sweep, Swept
from runtime.store.run_log import Entry, RunLog
from runtime.store.run_log_part import RUNS_AT_ONCE
from runtime.store.sql_journal import JOURNAL
from runtime.store.sql_work_queue import WORK_QUEUES
from runtime.store.sql_work_table import OldTasks
from runtime.supervision.events import CancelRequested, Event, StageSucceeded
from serve.contributions import store_parts
from tests.runtime.store.conftest import BACKENDS

CUTOFF_MS = 1_000_000
PARTS = all_parts(store_parts())
COUNTED = (
    "runs",
    "logs",
    "journals",
    "sessions",
    "cached",
    "relations",
    "dead_letters",
    "abandoned_tasks",
    "code_changes",
    "tokens",
)
AGES = [(CUTOFF_MS - 1, True), (CUTOFF_MS, False), (CUTOFF_MS + 1, False)]


class Attic:
    """A store, opened and swept; its clock stands."""

    def __init__(self, options: StoreOptions) -> None:
        self.options = options
        self.clock = FakeClock(CUTOFF_MS * 2)
        self._opened: list[Stores] = []

    def log(self, name: str = "local") -> RunLog:
        return open_run_log(self.options, name)

    def stores(self) -> Stores:
        self._opened.append(open_store(self.options, self.clock))
        return self._opened[-1]

    def close(self) -> None:
        for stores in self._opened:
            stores.close()

    def sweep(self, dry_run: bool = False) -> Swept:
        return Sweep(self.options, PARTS, self.clock, CUTOFF_MS, dry_run, "batch-").run()

    def dry_then_real(self) -> Swept:
        """What a sweep took, which a dry one before it foretold without taking anything."""
        foretold, again = self.sweep(dry_run=True), self.sweep(dry_run=True)
        assert foretold == again
        swept = self.sweep()
        assert without_bytes(swept) == foretold
        return swept


def without_bytes(swept: Swept) -> Swept:
    return Swept(swept.counts)


@pytest.fixture(params=BACKENDS)
def attic(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Attic]:
    if request.param == "sqlite":
        made = Attic(StoreOptions(str(tmp_path), durability="normal"))
        yield made
        made.close()
        return
    dsn = request.getfixturevalue("postgres").dsn
    schema = f"t_{secrets.token_hex(4)}"
    made = Attic(StoreOptions("", "postgres", dsn, "normal", schema))
    yield made
    made.close()
    with psycopg.connect(dsn, autocommit=True) as db:
        for (name,) in db.execute("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)", (schema,)):
            db.execute(f'DROP SCHEMA "{name}" CASCADE')


def write(log: RunLog, run_id: str, at_ms: int, ends: bool = True) -> RunId:
    log.append_all(
        [Entry("p", Event(RunId(run_id), seq, at_ms, CancelRequested()), ends and seq == 2) for seq in (1, 2)]
    )
    return RunId(run_id)


def test_a_store_in_which_nothing_is_has_nothing_to_go_and_nothing_is_made(attic: Attic) -> None:
    assert attic.dry_then_real() == Swept(dict.fromkeys(COUNTED, 0))
    assert run_log_names(attic.options) == []
    assert not any(has_database(attic.options, name) for name in ("sessions", "journal", "queues", "cache"))


@pytest.mark.parametrize(("at_ms", "goes"), AGES)
def test_finished_runs_go_by_their_last_event(attic: Attic, at_ms: int, goes: bool) -> None:
    log = attic.log()
    run_id = write(log, "r-1", at_ms)
    assert attic.dry_then_real().counts["runs"] == goes
    assert bool(log.events(run_id)) is not goes
    log.close()


def test_a_run_that_is_not_over_never_goes_and_its_journal_stays(attic: Attic) -> None:
    log, stores = attic.log(), attic.stores()
    journal = stores.part(JOURNAL)
    keys = {name: EffectKey(RunId(name), 1, 0, 1, "h") for name in ("r-open", "r-over", "r-gone")}
    for name, key in keys.items():
        if name != "r-gone":
            write(log, name, CUTOFF_MS + 9 if name == "r-over" else 1, ends=name == "r-over")
        journal.begin(StageKey(RunId(name), 1), "me")
        journal.intend(key, 1)
        journal.done(key, b"result")
    swept = attic.dry_then_real()
    assert (swept.counts["runs"], swept.counts["journals"]) == (0, 2)
    assert [name for name, key in keys.items() if journal.find(key)] == ["r-open"]
    assert {row.run_id for row in log.runs(9)} == {"r-open", "r-over"}
    log.close()


@pytest.mark.parametrize(("at_ms", "goes"), AGES)
def test_sessions_go_by_their_newest_turn(attic: Attic, at_ms: int, goes: bool) -> None:
    stores = attic.stores()
    sessions = stores.part(SESSIONS)
    sessions.append("s", Turn("a?", "a", 1))
    sessions.append("s", Turn("b?", "b", at_ms))
    assert attic.dry_then_real().counts["sessions"] == goes
    assert len(sessions.turns("s")) == (0 if goes else 2)


@pytest.mark.parametrize(("at_ms", "goes"), AGES)
def test_cached_results_go_by_their_last_use(attic: Attic, at_ms: int, goes: bool) -> None:
    stores = attic.stores()
    cache = stores.part(CACHE)
    cache.put("k", b"v", at_ms)
    assert attic.dry_then_real().counts["cached"] == goes
    assert (cache.get("k", at_ms) is None) is goes


@pytest.mark.parametrize(("at_ms", "goes"), AGES)
def test_relations_go_by_when_they_were_shown_last(attic: Attic, at_ms: int, goes: bool) -> None:
    attic.clock = FakeClock(at_ms)
    relations = attic.stores().part(RELATIONS)
    relations.keep("r", [Relation("f", "a.py", "calls", "g", "b.py", 1, 1, "f00")])
    assert attic.dry_then_real().counts["relations"] == goes
    assert relations.count("r") == (not goes)


@pytest.mark.parametrize(("at_ms", "goes"), AGES)
def test_counts_of_tools_go_by_when_they_were_counted_up_last(attic: Attic, at_ms: int, goes: bool) -> None:
    attic.clock = FakeClock(at_ms)
    metrics = attic.stores().part(TOOL_METRICS)
    metrics.add("r", [ToolUse("locate", "ok", 1, 1)])
    assert attic.dry_then_real().counts["cached"] == goes
    assert len(metrics.of("r")) == (not goes)


def test_the_large_values_of_a_run_go_with_it_and_those_of_another_stay(attic: Attic) -> None:
    log = attic.log()
    key, large = StageKey(RunId("r"), 1), {"text": "x" * (LARGE_BYTES + 1)}
    for name, at_ms in (("r-old", 1), ("r-new", CUTOFF_MS)):
        event = Event(RunId(name), 1, at_ms, StageSucceeded(key, large))
        log.append_all([Entry("p", event, ends=True)])
    assert attic.dry_then_real().counts["runs"] == 1
    (event,) = log.events(RunId("r-new"))
    assert isinstance(event.payload, StageSucceeded)
    assert event.payload.output == large
    log.close()


@pytest.mark.parametrize(("at_ms", "goes"), AGES)
async def test_dead_letters_go_by_when_they_died(attic: Attic, at_ms: int, goes: bool) -> None:
    attic.clock = FakeClock(at_ms)
    queue = attic.stores().part(WORK_QUEUES)
    await queue.register_worker(WorkerId("w"), ["q"], 60)
    await queue.enqueue_task("q", b"x")
    lease = await queue.dequeue_task(WorkerId("w"), 0)
    assert lease is not None
    await queue.fail_task(lease.id, "no", retry=False)
    attic.clock = FakeClock(CUTOFF_MS * 2)
    assert attic.dry_then_real().counts["dead_letters"] == goes
    assert len(await queue.dead_tasks("q")) == (not goes)


@pytest.mark.parametrize(("at_ms", "goes"), AGES)
async def test_tasks_of_a_batch_go_when_nobody_works_on_it_and_all_are_old(
    attic: Attic, at_ms: int, goes: bool
) -> None:
    attic.clock = FakeClock(1)
    await attic.stores().part(WORK_QUEUES).enqueue_task("batch-1", b"x")
    attic.clock = FakeClock(at_ms)
    queue = attic.stores().part(WORK_QUEUES)
    await queue.enqueue_task("batch-1", b"y")
    await queue.enqueue_task("precious", b"z")
    attic.clock = FakeClock(CUTOFF_MS * 2)
    assert attic.dry_then_real().counts["abandoned_tasks"] == (2 if goes else 0)
    assert await queue.list_queues() == (["precious"] if goes else ["batch-1", "precious"])


@pytest.mark.parametrize(("waited_ms", "goes"), [(59_999, False), (60_000, True), (60_001, True)])
async def test_a_batch_with_a_worker_that_lives_is_left_alone(attic: Attic, waited_ms: int, goes: bool) -> None:
    queue = attic.stores().part(WORK_QUEUES)
    table = queue._tasks
    table.enqueue("batch-1", b"x", "normal", 0, None, 1)
    table.register(WorkerId("w"), ["batch-1"], 60_000, CUTOFF_MS * 2)
    now_ms = CUTOFF_MS * 2 + waited_ms
    assert table.old(CUTOFF_MS, "batch-", now_ms) == OldTasks(0, int(goes))
    assert table.drop_old(CUTOFF_MS, "batch-", now_ms) == OldTasks(0, int(goes))


def test_more_runs_than_are_dropped_at_once_go_all(attic: Attic) -> None:
    log = attic.log()
    count = RUNS_AT_ONCE + 1
    log.append_all([Entry("p", Event(RunId(f"r-{n}"), 1, n, CancelRequested()), True) for n in range(count)])
    assert attic.dry_then_real().counts["runs"] == count
    assert log.runs(9) == []
    log.close()


def test_an_owner_at_work_goes_on_while_its_old_runs_are_dropped(attic: Attic) -> None:
    owner = attic.log("supervisor-0")
    epoch = owner.take_over("supervisor-0", CUTOFF_MS * 2, 60_000)
    for number in range(50):
        write(owner, f"r-old-{number}", 1)
    done = threading.Event()
    written: list[int] = []

    def work() -> None:
        while not done.is_set() or not written:
            event = Event(RunId("r-open"), len(written) + 1, CUTOFF_MS * 2, CancelRequested())
            owner.append("p", event, epoch)
            written.append(1)

    at_work = threading.Thread(target=work)
    at_work.start()
    try:
        assert attic.sweep().counts["runs"] == 50
    finally:
        done.set()
        at_work.join()
    owner.renew(epoch, CUTOFF_MS * 2, 60_000)
    assert [(row.run_id, row.events) for row in owner.runs(99)] == [("r-open", len(written))]
    owner.close()


def test_a_one_off_log_goes_only_where_a_database_can_be_removed(attic: Attic) -> None:
    log = attic.log("one-off-0-1")
    write(log, "r-1", 1)
    log.close()
    is_file = attic.options.backend == "sqlite"
    assert attic.dry_then_real().counts["logs"] == is_file
    assert run_log_names(attic.options) == ([] if is_file else ["one_off_0_1"])


# --- one-off logs: files


@pytest.fixture
def files(tmp_path: Path) -> Attic:
    return Attic(StoreOptions(str(tmp_path), durability="normal"))


@pytest.mark.parametrize(
    ("name", "at_ms", "ends", "is_owned", "goes"),
    [
        ("one-off-0-1", CUTOFF_MS - 1, True, False, True),
        ("one-off-0-1", CUTOFF_MS, True, False, False),
        ("one-off-0-1", 1, False, False, False),
        ("one-off-0-1", 1, True, True, False),
        ("service-0", 1, True, False, False),
    ],
    ids=["old", "not old", "under way", "owned", "another log"],
)
def test_a_one_off_log_goes_when_no_run_is_left_in_it(
    files: Attic, name: str, at_ms: int, ends: bool, is_owned: bool, goes: bool
) -> None:
    log = files.log(name)
    write(log, "r-1", at_ms, ends)
    if is_owned:
        log.take_over("somebody", files.clock.now_ms(), 1)
    log.close()
    swept = files.sweep()
    assert swept.counts["logs"] == goes
    assert run_log_names(files.options) == ([] if goes else [name])
    assert not goes or (swept.freed_bytes > 0 and list((Path(files.options.folder) / "runs").iterdir()) == [])


def test_the_room_of_what_went_comes_back(files: Attic) -> None:
    log, stores = files.log(), files.stores()
    cache = stores.part(CACHE)
    for number in range(20):
        cache.put(f"k{number}", b"x" * 100_000, 1)
    log.close()
    stores.close()
    path = Path(files.options.folder) / "cache.sqlite"
    before = path.stat().st_size
    freed = files.sweep().freed_bytes
    assert freed > 1_900_000
    assert before - path.stat().st_size == freed
