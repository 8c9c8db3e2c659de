"""The pipelines of stages that do nothing, as other frameworks run them: one framework in a process of its own.

    python -m tests.benchmarks.peer_pipelines FRAMEWORK STAGES BRANCHES

A pipeline is a row of STAGES, or one stage, BRANCHES after it and one that joins them (STAGES is then ignored). For
each line on standard input, a number of runs and how many at once, it makes that many and prints what they took as a
line of JSON. The environment needs the frameworks (the dependency group `peers`) and nothing of ours. Settings are
stock; the SQLite saver writes at the same durability as our log (`synchronous` FULL).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import operator
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypedDict

from tests.benchmarks.pacing import Run, children, paced

TEXT = "x" * 4_000
WARM_UP = 20
FIRST, LAST = "first", "last"


class GraphState(TypedDict):
    """What the nodes of a LangGraph graph see."""

    text: str
    outputs: Annotated[dict[str, Any], operator.or_]


@dataclass
class PydanticState:
    """What the steps of a pydantic-graph graph see."""

    text: str
    outputs: dict[str, Any] = field(default_factory=dict)


def stages_of(stages: int, branches: int) -> tuple[list[str], list[str]]:
    """Return the names of a row of stages, and of the branches between the last two; one of both is empty."""
    if branches:
        return [], [f"branch{number}" for number in range(branches)]
    return [f"stage{number}" for number in range(stages)], []


def langgraph_graph(row: list[str], branches: list[str]) -> Any:
    """Return the pipeline as a graph that is not compiled yet."""
    from langgraph.graph import END as LEAVE
    from langgraph.graph import START, StateGraph

    graph: Any = StateGraph(GraphState)
    names = row or [FIRST, *branches, LAST]
    for name in names:

        async def node(_state: GraphState, name: str = name) -> dict[str, Any]:
            return {"outputs": {name: {}}}

        graph.add_node(name, node)
    for before, after in itertools.pairwise(row):
        graph.add_edge(before, after)
    for branch in branches:
        graph.add_edge(FIRST, branch)
    if branches:
        graph.add_edge(branches, LAST)
    graph.add_edge(START, names[0])
    graph.add_edge(names[-1], LEAVE)
    return graph


@contextlib.asynccontextmanager
async def langgraph(row: list[str], branches: list[str]) -> AsyncIterator[Run]:
    """LangGraph without checkpoints."""
    compiled = langgraph_graph(row, branches).compile()

    async def run() -> None:
        ended = await compiled.ainvoke({"text": TEXT, "outputs": {}})
        assert len(ended["outputs"]) == (len(row) or len(branches) + 2)

    yield run


@contextlib.asynccontextmanager
async def langgraph_sqlite(row: list[str], branches: list[str]) -> AsyncIterator[Run]:
    """LangGraph with a checkpoint after each step, in SQLite."""
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    numbers = itertools.count()
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncSqliteSaver.from_conn_string(str(Path(folder) / "peer.sqlite")) as saver:
            await saver.setup()
            await saver.conn.execute("PRAGMA synchronous=FULL")
            compiled = langgraph_graph(row, branches).compile(checkpointer=saver)

            async def run() -> None:
                config: Any = {"configurable": {"thread_id": str(next(numbers))}}
                ended = await compiled.ainvoke({"text": TEXT, "outputs": {}}, config)
                assert len(ended["outputs"]) == (len(row) or len(branches) + 2)

            yield run


@contextlib.asynccontextmanager
async def pydantic_graph(row: list[str], branches: list[str]) -> AsyncIterator[Run]:
    """Pydantic's graph builder, in one process without persistence."""
    from pydantic_graph import GraphBuilder, reduce_list_append

    builder: Any = GraphBuilder(state_type=PydanticState, output_type=int)

    def step_of(name: str) -> Any:
        async def step(context: Any) -> int:
            context.state.outputs[name] = {}
            return len(context.state.outputs)

        return builder.step(step, node_id=name)

    steps = [step_of(name) for name in row or [FIRST, LAST]]
    chain = [builder.start_node, *steps, builder.end_node]
    if branches:
        middle, join = [step_of(name) for name in branches], builder.join(reduce_list_append, initial_factory=list[int])
        builder.add(builder.edge_from(steps[0]).to(*middle), builder.edge_from(*middle).to(join))
        chain = [builder.start_node, steps[0], None, join, steps[1], builder.end_node]
    for before, after in itertools.pairwise(chain):
        if before is not None and after is not None:
            builder.add(builder.edge_from(before).to(after))
    graph = builder.build()

    async def run() -> None:
        assert await graph.run(state=PydanticState(TEXT)) == (len(row) or len(branches) + 2)

    yield run


Framework = Callable[[list[str], list[str]], contextlib.AbstractAsyncContextManager[Run]]


def autogen(by_grpc: bool) -> Framework:
    """AutoGen's agents, in one process or each in its own; imported only in a process that measures them."""

    def opened(row: list[str], branches: list[str]) -> contextlib.AbstractAsyncContextManager[Run]:
        from tests.benchmarks.peer_autogen import in_one_process, in_processes

        return (in_processes if by_grpc else in_one_process)(edges_of(row, branches), TEXT)

    return opened


def edges_of(row: list[str], branches: list[str]) -> dict[str, list[str]]:
    """Return who passes on to whom; the last one to nobody."""
    if branches:
        return {FIRST: branches, **{branch: [LAST] for branch in branches}, LAST: []}
    return {before: [after] for before, after in itertools.pairwise(row)} | {row[-1]: []}


FRAMEWORKS: dict[str, Framework] = {
    "langgraph": langgraph,
    "langgraph_sqlite": langgraph_sqlite,
    "pydantic_graph": pydantic_graph,
    "autogen": autogen(by_grpc=False),
    "autogen_grpc": autogen(by_grpc=True),
}


def tell(line: str) -> None:
    """Write a line for who started this process."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def serve_rounds(framework: str, stages: int, branches: int) -> None:
    """Make a round for each line of standard input, and print what it took."""
    async with FRAMEWORKS[framework](*stages_of(stages, branches)) as run:
        for _ in range(WARM_UP):
            await run()
        tell("ready")
        while line := await asyncio.to_thread(sys.stdin.readline):
            runs, at_once = map(int, line.split())
            pace = await paced(run, runs, at_once, lambda: [os.getpid(), *children()])
            tell(json.dumps(pace._asdict()))


if __name__ == "__main__":
    asyncio.run(serve_rounds(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
