"""Vectors that arrive while a run is under way: each stage of the run sees those of its first stage."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from actors.capabilities.code_analysis.capability import CAPABILITY
from actors.capabilities.code_analysis.tools.services import Services
from runtime.agents.capability import AgentHooks, StageContext
from runtime.codebase.codebase import FixedVectors
from runtime.codebase.semantics.embedding import DIMENSIONS, Vectors
from runtime.codebase.semantics.embedding_socket import EmbeddingServer
from runtime.codebase.semantics.vector_cache import VectorCache, WantedIndex
from runtime.codebase.semantics.vector_maker import TEXTS_AT_ONCE, VectorMaker
from runtime.run.stage_view import StageView
from tests.capabilities.code_analysis.support import AnalysisHarness, with_agents, write_files

QUESTION = "How is a customer paid back the money of an order?"
FILES = {
    "shop/zone.py": '"""Bookings."""\n\n\n'
    "def reverse(entry):\n    # The amount leaves the ledger as it came.\n    return entry.negated()\n",
    **{
        f"shop/part{number}.py": f"def order_{number}(customer):\n"
        f"    # The customer of order {number} waits.\n    return customer.wait({number})\n"
        for number in range(12)
    },
}


class Embedder:
    """Brings near what is paid back and what is reversed; nothing else is near to anything."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        for row, text in zip(rows, texts, strict=True):
            is_near = "paid back" in text or "negated" in text
            row[0 if is_near else 1 + len(text) % 300] = 1.0
        return rows


class Lengths:
    """Reads longer texts as hardly better answers."""

    def scores(self, _question: str, texts: Sequence[str]) -> list[float]:
        return [len(text) / 10_000 for text in texts]


class Shop:
    """An indexed repository whose vectors are made when a test says so."""

    def __init__(self, folder: Path, desk: AnalysisHarness) -> None:
        self.desk = desk
        self.path = folder / "vectors.sqlite"
        self.cache = VectorCache(self.path)
        self.maker = VectorMaker(Embedder(), self.cache)
        self.repository = desk.repository
        self.cache.want(WantedIndex(self.repository["index_path"], self.repository["root"]))
        desk.services = self.services()

    def services(self) -> Services:
        """What a process that starts now opens."""
        return Services(vectors=self.path)

    def make_all(self) -> None:
        while self.maker.step():
            pass


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    folder = tmp_path / "state"
    folder.mkdir()
    server = EmbeddingServer(folder, Embedder(), Lengths())
    root = write_files(tmp_path / "repo", FILES)
    yield Shop(folder, asyncio.run(AnalysisHarness.open(root, folder)))
    server.close()


def before(agent: str, act: Callable[[], None]) -> AgentHooks:
    """An agent that acts as ever, after something else has happened."""
    hooks = CAPABILITY.agents[agent]
    assert hooks.process is not None

    async def process(context: StageContext, view: StageView) -> Any:
        act()
        return await hooks.process(context, view)  # type: ignore[misc]

    return msgspec.structs.replace(hooks, process=process)


async def told(desk: AnalysisHarness) -> tuple[str, Any, Any]:
    document = await desk.ask(QUESTION)
    return document["answer"], document["meaning"], document["vectors"]


async def test_vectors_that_arrive_between_two_stages_change_nothing_in_the_answer(shop: Shop) -> None:
    shop.maker.step()
    alone = await told(shop.desk)
    assert await told(shop.desk.variant(with_agents(traverser=before("traverser", shop.make_all)))) == alone
    later = await told(shop.desk)
    assert later[0] != alone[0]
    assert "shop/zone.py" in later[0].partition("```")[0]
    pieces = alone[2]["of"]
    assert (alone[2], later[2]) == ({"compared": TEXTS_AT_ONCE, "of": pieces}, {"compared": pieces, "of": pieces})
    assert alone[1] == pytest.approx(TEXTS_AT_ONCE / pieces, abs=1e-4)


async def test_a_first_question_waits_for_the_vectors_of_the_pieces_that_it_turns_on(shop: Shop) -> None:
    by_words = await told(shop.desk)
    assert by_words[2]["compared"] == 0
    shop.desk.services = Services(vectors=shop.path, question_patience_s=60)
    by_meaning = await told(shop.desk)
    assert by_meaning[2]["compared"] > 0
    fixed = shop.desk.services.with_fixed_vectors(shop.repository, QUESTION)
    found = shop.services().codebase(fixed).explained_order(QUESTION)
    assert found.ranker == "vectors"


async def test_another_process_that_goes_on_with_a_run_sees_its_vectors_and_no_later_ones(shop: Shop) -> None:
    shop.maker.step()
    repository = shop.services().with_fixed_vectors(shop.repository, QUESTION)
    first = shop.services().codebase(repository)
    found = [first.search_chunks(QUESTION, 5), first.passages(QUESTION), first.meaning]
    shop.make_all()
    for codebase in (first, shop.services().codebase(repository)):
        assert [codebase.search_chunks(QUESTION, 5), codebase.passages(QUESTION), codebase.meaning] == found
    assert shop.services().codebase(shop.repository).search_chunks(QUESTION, 5) != found[0]


async def test_a_stage_that_is_tried_again_after_vectors_arrived_finds_the_same(shop: Shop) -> None:
    fixed = shop.services().with_fixed_vectors(shop.repository, QUESTION)
    assert fixed["vectors"] == {"last": 0, "compared": 0, "of": fixed["vectors"]["of"]}
    by_words = shop.services().codebase(fixed).search_chunks(QUESTION, 5)
    shop.make_all()
    assert shop.services().codebase(fixed).search_chunks(QUESTION, 5) == by_words
    assert shop.services().codebase(fixed).meaning == 0.0


async def test_a_record_that_was_fixed_before_is_fixed_anew_by_the_first_stage(shop: Shop) -> None:
    stale = {**shop.repository, "vectors": {"last": 0, "compared": 0, "of": 1}}
    shop.make_all()
    fresh = shop.services().with_fixed_vectors(stale, QUESTION)["vectors"]
    assert fresh["compared"] == fresh["of"] > 1
    assert fresh["last"] > 0


def test_the_vector_of_the_limit_counts_and_the_next_one_does_not(shop: Shop) -> None:
    shop.make_all()
    services = shop.services()
    last = shop.cache.newest_id()
    every = services.codebase(shop.repository)
    counts = {}
    for until in (last - 1, last, last + 1):
        codebase = every.comparing(FixedVectors(until, 0, 0))
        assert codebase.semantics is not None
        ready, pieces = codebase.semantics.counted(codebase.index)
        counts[until] = pieces - ready
    assert counts[last - 1] >= 1
    assert (counts[last], counts[last + 1]) == (0, 0)


@pytest.mark.long
async def test_without_a_process_that_embeds_all_of_a_run_goes_by_words(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    alone = Shop(folder, await AnalysisHarness.open(write_files(tmp_path / "repo", FILES), folder))
    alone.make_all()
    fixed = alone.services().with_fixed_vectors(alone.repository, QUESTION)
    assert fixed["vectors"]["last"] == 0
    server = EmbeddingServer(folder, Embedder(), Lengths())
    try:
        assert alone.services().codebase(fixed).meaning == 0.0
        assert alone.services().with_fixed_vectors(alone.repository, QUESTION)["vectors"]["last"] > 0
    finally:
        server.close()
