"""AutoGen's agents in a row or a diamond, in one process, or each in a process of its own behind its gRPC host.

Imported by `peer_pipelines` in an environment that has AutoGen. Its agents are found by the types of their handlers at
run time: no postponed annotations here.
"""

import asyncio
import contextlib
import itertools
import multiprocessing
import socket
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from autogen_core import (
    MessageContext,
    RoutedAgent,
    SingleThreadedAgentRuntime,
    TopicId,
    TypeSubscription,
    message_handler,
    try_get_known_serializers_for_type,
)
from autogen_ext.runtimes.grpc import GrpcWorkerAgentRuntime, GrpcWorkerAgentRuntimeHost

from tests.benchmarks.pacing import Run

START_TIMEOUT_S = 60
END, SOURCE = "end", "runs"

Edges = dict[str, list[str]]


@dataclass
class Work:
    """What the agents send each other."""

    run: str
    text: str
    outputs: dict[str, Any]


class Stage(RoutedAgent):
    """Passes on what it gets, once it has the outputs of all that come before it."""

    def __init__(self, name: str, edges: Edges) -> None:
        super().__init__(name)
        self._name, self._after = name, edges[name] or [END]
        self._waits_for = len([each for each in edges.values() if name in each])
        self._came: dict[str, list[Work]] = {}

    @message_handler
    async def on_work(self, message: Work, ctx: MessageContext) -> None:
        """Pass the work on, with what came before it."""
        came = self._came.setdefault(message.run, [])
        came.append(message)
        if len(came) < self._waits_for:
            return
        outputs: dict[str, Any] = {self._name: {}}
        for each in self._came.pop(message.run):
            outputs |= each.outputs
        for after in self._after:
            await self.publish_message(Work(message.run, message.text, outputs), TopicId(after, SOURCE))


class Ending(RoutedAgent):
    """Notes that a run has ended."""

    def __init__(self, ended: dict[str, "asyncio.Future[int]"]) -> None:
        super().__init__(END)
        self._ended = ended

    @message_handler
    async def on_work(self, message: Work, ctx: MessageContext) -> None:
        """Tell who waits for the run how many stages it had."""
        self._ended.pop(message.run).set_result(len(message.outputs))


async def add_stage(runtime: Any, name: str, edges: Edges) -> None:
    """Register one agent."""
    await Stage.register(runtime, name, lambda: Stage(name, edges))
    await runtime.add_subscription(TypeSubscription(name, name))


async def runs_of(runtime: Any, edges: Edges, text: str) -> Run:
    """Return what makes one run: publishes to the first agent, and waits for what comes to the end."""
    ended: dict[str, asyncio.Future[int]] = {}
    numbers = itertools.count()
    await Ending.register(runtime, END, lambda: Ending(ended))
    await runtime.add_subscription(TypeSubscription(END, END))

    async def run() -> None:
        number = str(next(numbers))
        ended[number] = answer = asyncio.get_running_loop().create_future()
        await runtime.publish_message(Work(number, text, {}), TopicId(next(iter(edges)), SOURCE))
        assert await answer == len(edges)

    return run


@contextlib.asynccontextmanager
async def in_one_process(edges: Edges, text: str) -> AsyncIterator[Run]:
    """AutoGen's agents in this process."""
    runtime = SingleThreadedAgentRuntime()
    for name in edges:
        await add_stage(runtime, name, edges)
    run = await runs_of(runtime, edges, text)
    runtime.start()
    yield run
    await runtime.stop()


def serve(address: str) -> None:
    """Route the messages of the agents, in a process of its own."""

    async def served() -> None:
        GrpcWorkerAgentRuntimeHost(address).start()
        await asyncio.Event().wait()

    asyncio.run(served())


async def connected(address: str) -> Any:
    """Return a runtime that is connected to the host, and knows the message."""
    runtime = GrpcWorkerAgentRuntime(address)
    runtime.add_message_serializer(try_get_known_serializers_for_type(Work))
    await runtime.start()
    return runtime


def work(address: str, name: str, edges: Edges, ready: Any) -> None:
    """Carry one agent, in a process of its own."""

    async def worked() -> None:
        await add_stage(await connected(address), name, edges)
        ready.set()
        await asyncio.Event().wait()

    asyncio.run(worked())


async def until_open(address: str) -> None:
    """Wait until somebody listens at the address."""
    host, _, port = address.partition(":")
    deadline_s = time.monotonic() + START_TIMEOUT_S
    while True:
        try:
            _, writer = await asyncio.open_connection(host, int(port))
        except OSError:
            assert time.monotonic() < deadline_s
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return


@contextlib.asynccontextmanager
async def in_processes(edges: Edges, text: str) -> AsyncIterator[Run]:
    """AutoGen's agents, each in a process of its own, behind its gRPC host."""
    spawning = multiprocessing.get_context("spawn")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    ready = {name: spawning.Event() for name in edges}
    processes = [spawning.Process(target=serve, args=(address,), daemon=True)]
    processes += [
        spawning.Process(target=work, args=(address, name, edges, ready[name]), daemon=True) for name in edges
    ]
    for process in processes:
        process.start()
        await until_open(address)
    for name in edges:
        assert await asyncio.to_thread(ready[name].wait, START_TIMEOUT_S)
    yield await runs_of(await connected(address), edges, text)
    for process in processes:
        process.kill()
        process.join()
