"""The candidates of a question: by words and by meaning, and the features that a ranker orders them by."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.records import ChunkHit
from runtime.codebase.index.writer import refresh
from runtime.codebase.search.candidates import FEATURES, Candidate, QuestionFacts, Signals, features_of
from runtime.codebase.semantics.vector_cache import VectorCache, WantedIndex
from runtime.codebase.semantics.vector_maker import VectorMaker
from runtime.codebase.semantics.vector_semantics import VectorSemantics
from tests.benchmarks.candidate_features import write_features
from tests.runtime.codebase.test_background_vectors import Embedder

FILES = {
    "docs/guide.md": "# Paying\n\nA refund goes through `Depot.pay_back`, which asks the bank.\n",
    "src/depot.py": '''class Depot:
    def pay_back(self, order):
        """Send money for an order."""
        return charge(order)


def charge(order):
    return order
''',
    "src/zoo.py": "def stripes():\n    return 'zebra zebra zebra'\n",
    "src/use.py": "def run(depot):\n    depot.pay_back(1)\n    depot.pay_back(2)\n",
    "tests/test_depot.py": "def test_a_refund_is_paid_back(): pass\n",
}
QUESTION = QuestionFacts({"refund": 0.75, "bank": 0.25}, frozenset({"pay_back"}), frozenset())
HIT = ChunkHit("src/depot.py", 10, 12, "Depot.pay_back", 2.0, 7)


def feature(signals: Signals, name: str, question: QuestionFacts = QUESTION) -> float:
    return Candidate(signals.hit, features_of(question, signals)).feature(name)


@pytest.fixture
def codebase(root: Path, index_path: Path, tmp_path: Path) -> Iterator[Codebase]:
    """A codebase all of whose pieces have vectors: the counts of «bank», «money» and «zebra»."""
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    refresh(root, index_path)
    embedder, cache = Embedder(), VectorCache(tmp_path / "vectors.sqlite")
    cache.want(WantedIndex(str(index_path), str(root)))
    maker = VectorMaker(embedder, cache)
    while maker.step():
        pass
    opened = Codebase.open(root, index_path, semantics=VectorSemantics(embedder.within, cache))
    yield opened
    opened.close()


def by_symbol(candidates: list[Candidate]) -> dict[str | None, Candidate]:
    return {candidate.hit.symbol: candidate for candidate in candidates}


def test_the_names_of_features_are_stable() -> None:
    # Weights are trained on this order: a new feature goes to the end.
    assert len(FEATURES) == len(set(FEATURES)) == 37
    assert FEATURES[:4] == ("words_rank", "words_score", "meaning", "meaning_rank")
    assert FEATURES[-2:] == ("question_terms", "is_search")


def test_every_candidate_has_every_feature_as_a_finite_number(codebase: Codebase) -> None:
    for candidate in codebase.candidates("How is a refund paid back by the bank?"):
        assert len(candidate.features) == len(FEATURES)
        assert all(math.isfinite(value) for value in candidate.features)


@pytest.mark.parametrize(("rank", "value"), [(None, 0.0), (0, 1.0), (1, 0.5), (59, 1 / 60)])
def test_a_rank_counts_by_its_inverse_and_none_as_nothing(rank: int | None, value: float) -> None:
    signals = Signals(HIT, words_rank=rank, meaning_rank=rank, file_rank=rank)
    assert [feature(signals, name) for name in ("words_rank", "meaning_rank", "file_rank")] == [value] * 3


@pytest.mark.parametrize(("lines", "is_tiny"), [(4, 1.0), (5, 1.0), (6, 0.0)])
def test_pieces_of_at_most_five_lines_are_tiny(lines: int, is_tiny: float) -> None:
    signals = Signals(dataclasses.replace(HIT, start_line=1, end_line=lines))
    assert feature(signals, "is_tiny") == is_tiny


def test_names_and_paths_count_by_what_they_cover() -> None:
    signals = Signals(dataclasses.replace(HIT, symbol="Bank.refund", file="bank/refund.py"))
    assert feature(signals, "name_cover") == 0.75
    assert feature(signals, "name_share") == 1.0
    assert feature(signals, "path_cover") == 1.0
    assert feature(signals, "is_named") == 0.0
    assert feature(Signals(HIT), "is_named") == 1.0
    assert feature(Signals(dataclasses.replace(HIT, symbol=None)), "name_share") == 0.0


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("src/a.py", "path_source"),
        ("tests/test_a.py", "path_test"),
        ("docs/a.md", "path_docs"),
        ("examples/a.py", "path_example"),
        ("vendor/a.py", "path_aside"),
        ("a.json", "path_data"),
    ],
)
def test_each_file_has_one_kind_of_path(path: str, name: str) -> None:
    signals = Signals(dataclasses.replace(HIT, file=path))
    assert [
        each
        for each in FEATURES
        if each.startswith("path_") and feature(signals, each) == 1.0 and each not in {"path_depth"}
    ] == [name]


@pytest.mark.parametrize(("count", "is_search"), [(4, 1.0), (5, 0.0)])
def test_a_question_of_at_most_four_terms_is_a_search(count: int, is_search: float) -> None:
    question = QuestionFacts({f"t{number}": 1 / count for number in range(count)}, frozenset(), frozenset())
    assert feature(Signals(HIT), "is_search", question) == is_search


def test_words_and_meaning_are_joined_and_each_tells_its_rank(codebase: Codebase) -> None:
    found = by_symbol(codebase.candidates("refund zebra bank"))
    assert found["stripes"].feature("meaning_rank") == 1.0
    assert found["stripes"].feature("meaning") > 0.5
    assert found["stripes"].feature("meaning_lead") > 0
    assert all(candidate.feature("has_meaning") for candidate in found.values())


def test_what_words_do_not_find_meaning_does(codebase: Codebase) -> None:
    plain = Codebase.open(codebase.root, codebase.index.path)
    assert "stripes" not in by_symbol(plain.candidates("refund"))
    meant = by_symbol(codebase.candidates("refund bank"))["stripes"]
    assert meant.feature("words_rank") == 0.0
    assert meant.feature("meaning_rank") > 0.0
    plain.close()


def test_a_document_that_names_a_definition_and_a_docstring_count_for_it(codebase: Codebase) -> None:
    found = by_symbol(codebase.candidates("How does a refund ask the bank for money?"))
    assert found["Depot"].feature("passage_meaning") > 0
    assert found["Depot"].feature("tied_passage") > 0
    assert found["stripes"].feature("tied_passage") == 0


def test_callers_and_kinds_come_from_the_index(codebase: Codebase) -> None:
    found = by_symbol(codebase.candidates("charge order refund bank zebra run depot"))
    assert found["charge"].feature("callers") == math.log1p(1)
    assert found["charge"].feature("is_callable") == 1.0
    assert found["run"].feature("callees") == math.log1p(1)
    assert found["charge"].feature("has_docstring") == 0.0


def test_candidates_stay_in_their_scope(codebase: Codebase) -> None:
    files = {candidate.hit.file for candidate in codebase.candidates("refund bank zebra money", scope="src")}
    assert files
    assert all(file.startswith("src/") for file in files)


def test_a_question_without_vectors_has_candidates_by_words_alone(codebase: Codebase) -> None:
    plain = Codebase.open(codebase.root, codebase.index.path)
    found = plain.candidates("refund bank order")
    assert found
    assert all(candidate.feature("has_meaning") == 0.0 for candidate in found)
    assert plain.candidates("the of and") == []
    plain.close()


def test_meaning_fills_what_words_leave_open_but_finds_no_names(codebase: Codebase) -> None:
    symbols = [hit.symbol for hit in codebase.search_chunks("painted zebra animals")]
    assert "stripes" in symbols
    assert codebase.search_chunks("zebrazz_of_quaggas") == []


def test_features_and_labels_are_written_for_a_folder_of_checkouts(codebase: Codebase, tmp_path: Path) -> None:
    cases, inputs, out = tmp_path / "cases.jsonl", tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    lead = [{"file": "src/depot.py", "start": 7, "end": 8}]
    cases.write_text(json.dumps({"id": "a", "repo": "o/n", "question": "charge an order", "lead": lead}) + "\n")
    inputs.write_text(json.dumps({"id": "a", "question": "charge an order", "repo": str(codebase.root)}) + "\n")
    write_features(str(cases), str(inputs), tmp_path / "features", out, words=True)
    [written] = [json.loads(line) for line in out.read_text().splitlines()]
    assert written["names"] == list(FEATURES)
    assert all(len(row) == len(FEATURES) for row in written["rows"])
    [right] = [place for place, label in zip(written["places"], written["labels"], strict=True) if label]
    assert right[0] == "src/depot.py"
