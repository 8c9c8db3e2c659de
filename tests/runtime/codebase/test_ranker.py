"""Candidates by words and by meaning, their features, and the ranker that orders them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.records import ChunkHit
from runtime.codebase.index.writer import refresh
from runtime.codebase.search.features import BY_MEANING, BY_TERMS, BY_WORDS, FEATURES, Asked, Candidate, features
from runtime.codebase.search.full_text import ScoredChunk
from runtime.codebase.search.gathering import LEAST_ALIKE, MAX_ALIKE, MAX_BY_MEANING, Gathered, gather
from runtime.codebase.search.prose.near_passages import near_passages
from runtime.codebase.search.ranker import State, ranker, ranker_from, scaled, weights_file
from runtime.codebase.search.ranking import ordered
from runtime.codebase.semantics.further_windows import WindowMaker
from runtime.codebase.semantics.question_meaning import QuestionMeaning
from runtime.codebase.semantics.vector_cache import VectorCache, WantedIndex
from runtime.codebase.semantics.vector_maker import VectorMaker
from runtime.codebase.semantics.vector_semantics import VectorSemantics
from runtime.codebase.tools.locate import locate
from tests.runtime.codebase.sample_repository import write_files
from tests.runtime.codebase.test_background_vectors import Embedder
from tests.runtime.codebase.test_further_windows import Embedder as WindowedEmbedder

FILES = {
    "docs/guide.md": "# Paying\n\nA refund goes through `Depot.pay_back`, which asks the bank.\n",
    "src/depot.py": "class Depot:\n    def pay_back(self, order):\n        return charge(order)\n\n\n"
    "def charge(order):\n    return order\n",
    "src/zoo.py": "def stripes():\n    return 'zebra zebra zebra'\n",
    "tests/test_depot.py": "def test_a_refund_is_paid_back():\n    zebra()\n",
}
ASKED = Asked({"refund": 3.0, "bank": 1.0}, frozenset())
STATES: tuple[State, ...] = ("words", "vectors")


@pytest.fixture
def meant(root: Path, index_path: Path, tmp_path: Path) -> Iterator[Codebase]:
    """A codebase all of whose pieces have vectors: the counts of «bank», «money» and «zebra»."""
    write_files(root, FILES)
    refresh(root, index_path)
    embedder, cache = Embedder(), VectorCache(tmp_path / "vectors.sqlite")
    cache.want(WantedIndex(str(index_path), str(root)))
    maker = VectorMaker(embedder, cache)
    while maker.step():
        pass
    opened = Codebase.open(root, index_path, semantics=VectorSemantics(embedder.within, cache))
    yield opened
    opened.close()


def candidate(
    score: float = 0.5, file: str = "src/a.py", start: int = 1, cosine: float | None = None, symbol: str = "Bank.refund"
) -> Candidate:
    hit = ChunkHit(file, start, start + 9, symbol, score)
    words = (frozenset({"refund"}), frozenset({"bank"}), frozenset[str](), frozenset[str]())
    return Candidate(ScoredChunk(start, hit, score, words), "method", 0.0, cosine)


def named(row: tuple[float, ...]) -> dict[str, float]:
    return dict(zip(FEATURES, row, strict=True))


def test_every_candidate_has_every_feature_as_a_finite_number() -> None:
    rows = features(ASKED, [candidate(), candidate(0.0, "tests/a.py", 20), candidate(0.2, cosine=0.4, start=40)])
    assert all(len(row) == len(FEATURES) and all(map(math.isfinite, row)) for row in rows)
    assert features(ASKED, []) == []


def test_words_count_by_their_weight_in_each_field() -> None:
    (row,) = (named(row) for row in features(ASKED, [candidate()]))
    assert (row["cover"], row["cover_body"], row["cover_names"], row["cover_path"]) == (1.0, 0.75, 0.25, 0.0)
    assert (row["words"], row["name_precise"], row["depth"], row["is_callable"]) == (1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize(("rank", "inverse"), [(0, 1 / 5), (1, 1 / 6), (2, 1 / 7)])
def test_ranks_count_less_the_further_down(rank: int, inverse: float) -> None:
    rows = features(ASKED, [candidate(0.9 - 0.1 * place, f"src/{place}.py") for place in range(3)])
    assert named(rows[rank])["words_rank"] == inverse


def test_a_piece_without_a_vector_counts_as_average() -> None:
    rows = features(ASKED, [candidate(cosine=0.2), candidate(start=20, cosine=0.6), candidate(start=40)])
    assert [named(row)["cosine"] for row in rows] == pytest.approx([0.2, 0.6, 0.4])
    assert all(named(row)["file_cosine"] == 0.6 for row in rows)


@pytest.mark.parametrize(("said", "counts"), [(None, 0.4), (0.3, 0.4), (0.4, 0.4), (0.5, 0.5)])
def test_a_piece_is_as_near_as_the_nearest_passage_in_it(said: float | None, counts: float) -> None:
    (row,) = features(ASKED, [replace(candidate(cosine=0.4), said=said)])
    assert (named(row)["said"], named(row)["cosine"]) == (counts, 0.4)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/a.py", "is_source"),
        ("tests/test_a.py", "is_test"),
        ("docs/a.md", "is_docs"),
        ("examples/a.py", "is_example"),
        ("vendor/a.py", "is_aside"),
    ],
)
def test_a_file_has_one_kind_and_one_asked_for_is_as_good_as_source(path: str, kind: str) -> None:
    kinds = ("is_source", "is_test", "is_docs", "is_example", "is_aside")
    (row,) = features(ASKED, [candidate(file=path)])
    assert [name for name in kinds if named(row)[name]] == [kind]
    (row,) = features(replace(ASKED, kinds=frozenset({"test", "docs", "example", "vendored"})), [candidate(file=path)])
    assert [name for name in kinds if named(row)[name]] == ["is_source"]


@pytest.mark.parametrize("state", STATES)
def test_each_ranker_of_the_package_knows_its_features_and_cases(state: State) -> None:
    trained = json.loads(weights_file(state).read_text(encoding="utf-8"))
    assert trained["weights"].keys() == set(BY_WORDS if state == "words" else BY_WORDS + BY_MEANING)
    assert trained["cases"] > 0
    assert len(trained["repositories"]) >= 10
    assert ranker(state).weights != ranker(STATES[state == "words"]).weights


@pytest.mark.parametrize("state", STATES)
def test_likeness_moves_the_weights_of_both_rankers(state: State) -> None:
    plain, moved = ranker(state).weights, ranker(state, by_likeness=True).weights
    places = [FEATURES.index(name) for name in BY_TERMS]
    assert [plain[place] for place in places] == [0.0] * len(BY_TERMS)
    assert all(moved[place] > 0 for place in places)


def test_a_ranker_with_features_that_are_no_more_says_so() -> None:
    with pytest.raises(ValueError, match="unknown features of ranker words: luck; train it again"):
        ranker_from("words", {"words": 1.0, "luck": 2.0})


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=30))
def test_scores_keep_the_order_of_sums_and_lie_between_nothing_and_one(values: list[float]) -> None:
    by = ranker_from("words", {"words": 1.0})
    scores = scaled(by.sums([(value, *[0.0] * (len(FEATURES) - 1)) for value in values]))
    assert max(scores) == 1.0
    assert all(0 < score <= 1 for score in scores)
    assert sorted(range(len(values)), key=lambda place: (values[place], place)) == sorted(
        range(len(values)), key=lambda place: (scores[place], values[place], place)
    )


def test_hits_beyond_the_candidates_stay_behind_them() -> None:
    further = [ChunkHit("src/z.py", start, start, None, 0.1) for start in (1, 3)]
    ranked = ordered(Gathered(ASKED, [candidate(0.1), candidate(0.9, start=20)], further, False), ranker("words"))
    assert [hit.start_line for _, hit in ranked] == [20, 1, 1, 3]
    assert [score for score, _ in ranked] == sorted((score for score, _ in ranked), reverse=True)


def test_what_words_do_not_find_meaning_does(meant: Codebase) -> None:
    plain = Codebase.open(meant.root, meant.index.path)
    query = "painted zebra animals of money"
    words = gather(plain.index, "how is money paid to the bank")
    assert words is not None
    assert "stripes" not in {one.words.hit.symbol for one in words.candidates if one.words.score}
    hits = meant.search_chunks(query)
    assert hits[0].symbol == "stripes"
    assert {hit.ranker for hit in hits} == {"vectors"}
    assert {hit.ranker for hit in plain.search_chunks("refund bank")} == {"words"}
    plain.close()


def test_a_name_that_is_not_there_is_not_found_by_meaning(meant: Codebase) -> None:
    assert meant.search_chunks("zebrazz_of_quaggas") == []


def test_meaning_stays_in_the_scope(meant: Codebase) -> None:
    assert {hit.file for hit in meant.search_chunks("bank money zebra refund", scope="src")} <= {
        "src/depot.py",
        "src/zoo.py",
    }


def test_tests_are_no_candidates_by_meaning(meant: Codebase) -> None:
    found = meant.search_chunks("striped zebra animals in the savanna")
    assert found[0].symbol == "stripes"


def test_with_few_vectors_words_alone_count(root: Path, index_path: Path, tmp_path: Path) -> None:
    write_files(root, FILES)
    refresh(root, index_path)
    embedder, cache = Embedder(), VectorCache(tmp_path / "vectors.sqlite")
    codebase = Codebase.open(root, index_path, semantics=VectorSemantics(embedder.within, cache))
    assert {hit.ranker for hit in codebase.search_chunks("refund bank")} == {"words"}
    assert {hit.ranker for hit in codebase.search_chunks("refund bank", wait=True)} == {"vectors"}
    codebase.close()


def test_passages_near_in_meaning_lift_the_code_around_them(root: Path, index_path: Path, tmp_path: Path) -> None:
    said = '"""Asks the bank, and the bank again, and the bank."""'
    files = dict.fromkeys(("src/a.py", "tests/test_a.py"), f"def pay_back(order):\n    {said}\n    return order\n")
    write_files(root, files | {"src/zoo.py": "def zebra(order):\n    return order\n"})
    refresh(root, index_path)
    embedder, cache = Embedder(), VectorCache(tmp_path / "vectors.sqlite")
    cache.want(WantedIndex(str(index_path), str(root)))
    maker = VectorMaker(embedder, cache)
    while maker.step():
        pass
    semantics = VectorSemantics(embedder.within, cache)
    opened = Codebase.open(root, index_path, semantics=semantics)
    meaning = QuestionMeaning(semantics, opened.index, opened.try_source, "how is an order of the bank paid back")
    near = near_passages(opened.index, meaning, frozenset())
    ((start, end, cosine),) = near.spans["src/a.py"]
    assert (start, end) == (2, 2)
    assert set(near.spans) == {"src/a.py"}
    for span, expected in [((1, 2), cosine), ((2, 9), cosine), ((3, 9), None), ((1, 1), None)]:
        assert near.within(ChunkHit("src/a.py", *span, None, 0.0)) == expected
    assert "tests/test_a.py" in near_passages(opened.index, meaning, frozenset({"test"})).spans
    gathered = gather(opened.index, "how is an order of the bank paid back", None, meaning)
    assert gathered is not None
    lifted = {found.words.hit.file: found.said for found in gathered.candidates}
    assert lifted == {"src/a.py": cosine, "tests/test_a.py": None, "src/zoo.py": None}
    opened.close()


def test_the_best_window_of_a_candidate_lifts_it_as_a_passage_in_it_does(
    root: Path, index_path: Path, tmp_path: Path
) -> None:
    body = "".join(f"    step_{number}()\n" for number in range(12))
    write_files(root, {"src/long.py": f"def long_one():\n{body}    return bank\n", "src/zoo.py": "zebra = 'bank'\n"})
    refresh(root, index_path)
    embedder, cache = WindowedEmbedder(), VectorCache(tmp_path / "vectors.sqlite")
    wanted = WantedIndex(str(index_path), str(root))
    cache.want(wanted)
    maker = VectorMaker(embedder, cache)
    while maker.step():
        pass
    semantics = VectorSemantics(embedder.within, cache)
    opened = Codebase.open(root, index_path, semantics=semantics)

    def long_one() -> Candidate:
        question = "where is the bank returned by long one"
        meaning = QuestionMeaning(semantics, opened.index, opened.try_source, question)
        gathered = gather(opened.index, question, None, meaning)
        assert gathered is not None
        return next(one for one in gathered.candidates if one.words.hit.file == "src/long.py")

    before = long_one()
    assert before.said is None
    cache.want_windows(wanted)
    windows = WindowMaker(embedder, cache)
    while windows.step():
        pass
    after = long_one()
    assert after.cosine == before.cosine
    assert after.said is not None
    assert after.said > 0.9
    assert after.nearness == after.said
    opened.close()


def test_at_most_sixty_come_by_meaning_alone(root: Path, opened: Callable[[Path], Codebase]) -> None:
    class Everything:
        def nearest(self, limit: int, *, passages: bool) -> list[tuple[int, float]]:
            return [(number, 0.9) for number in range(1, 200)]

        def cosines(self, chunk_ids: object) -> dict[int, float]:
            return dict.fromkeys(range(1, 200), 0.9)

        def windows(self, chunk_ids: object) -> None:
            return None

        def similar(self, hits: object) -> None:
            return None

        def readings(self, hits: object, *, whole: bool) -> None:
            return None

    write_files(root, {f"f{place}.py": f"def thing_{place}():\n    return {place}\n" for place in range(150)})
    (root / "word.py").write_text("def quagga():\n    return 1\n")
    found = gather(opened(root).index, "quagga animals", None, Everything())
    assert found is not None
    assert found.by_meaning
    alike = {one.words.chunk_id for one in found.candidates if (one.alike or 0.0) >= LEAST_ALIKE}
    assert len(alike) > MAX_ALIKE  # of which so many come
    assert MAX_BY_MEANING <= len(found.candidates) <= MAX_BY_MEANING + MAX_ALIKE + 1


def test_a_place_of_locate_tells_which_ranker_ordered_it(meant: Codebase) -> None:
    rows = locate(meant, "how is the bank asked for a refund").data["results"]
    assert {row["ranker"] for row in rows} == {"vectors"}
