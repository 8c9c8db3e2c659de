"""How much of a question the code of a repository speaks of, in its words or in words of like meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.search.presence.spoken_of import MOST_MISSING, SURELY_IN_CODE, spoken_of
from runtime.codebase.term_meaning.term_vectors import TermVectors
from tests.runtime.codebase.sample_repository import write_files

# «imag» and «pictur» are the nearer, «parcel» is like neither; all are as rare as a word can be.
TERMS = ("imag", "pictur", "parcel", "depot")
ROWS = np.array([[0, 0, 0], [1, 0, 0], [0.8, 0.6, 0], [0, 0, 1], [0, 1, 0]], np.float32)
VECTORS = TermVectors(TERMS, ROWS, (1.0, 1.0, 1.0, 1.0), 1.0)

Open = Callable[[dict[str, str]], Codebase]


@pytest.fixture
def opened(root: Path, index_path: Path) -> Open:
    def build(files: dict[str, str]) -> Codebase:
        write_files(root, files)
        refresh(root, index_path)
        return Codebase.open(root, index_path)

    return build


@pytest.mark.parametrize(
    ("question", "files", "expected"),
    [
        ("", {"a.py": "x = 1\n"}, 1.0),
        ("Where are images kept?", {"a.py": "images = []\n"}, 1.0),
        # Said in another word: what is left is how unlike that is.
        ("Where is the picture?", {"a.py": "image = 1\n"}, 1 - 0.2 / MOST_MISSING),
        # Nothing near it: one rare word is missing.
        ("Where is the parcel?", {"a.py": "image = 1\n"}, 1 - 1 / MOST_MISSING),
        # Unknown words count as rare ones.
        ("Where is the zeppelin?", {"a.py": "image = 1\n"}, 1 - 1 / MOST_MISSING),
        ("Which zeppelin brings the parcel?", {"a.py": "image = 1\n"}, 0.0),
        ("Which zeppelin brings the parcel to the airfield?", {"a.py": "image = 1\n"}, 0.0),
    ],
)
def test_each_word_that_code_lacks_counts_by_how_unlike_the_nearest_is(
    opened: Open, question: str, files: dict[str, str], expected: float
) -> None:
    # «brings» and the like are said by the code too, so that they do not count.
    told = {**files, "b.py": "brings = kept = airfield_kept = 1\n" if "airfield" not in question else "brings = 1\n"}
    assert spoken_of(opened(told).index, question, VECTORS) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("path", "question", "expected"),
    [
        ("docs/parcels.md", "Where is the parcel?", 1 - 1 / MOST_MISSING),
        ("tests/test_parcel.py", "Where is the parcel?", 1 - 1 / MOST_MISSING),
        ("tests/test_parcel.py", "Which test covers the parcel?", 1.0),
        ("docs/parcels.md", "What does the documentation say of the parcel?", 1.0),
    ],
)
def test_what_only_documents_or_tests_say_is_not_spoken_of_unless_they_are_asked_for(
    opened: Open, path: str, question: str, expected: float
) -> None:
    files = {"a.py": "covers = say = documentation = test = 1\n", path: "The parcel waits.\n"}
    assert spoken_of(opened(files).index, question, VECTORS) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [(SURELY_IN_CODE, 1 - 1 / MOST_MISSING), (SURELY_IN_CODE + 1, 1.0)],
)
def test_a_word_of_very_many_pieces_is_taken_to_be_in_code(opened: Open, pieces: int, expected: float) -> None:
    files = {f"docs/{number}.md": "The parcel waits.\n" for number in range(pieces)}
    assert spoken_of(opened({**files, "a.py": "image = 1\n"}).index, "the parcel", VECTORS) == pytest.approx(expected)


def test_a_word_that_no_code_is_near_to_lowers_what_the_package_says_too(opened: Open) -> None:
    files = {"a.py": "def start(process):\n    process.spawn()\n", "b.py": "def stop(process):\n    process.kill()\n"}
    index = opened(files).index
    near, far = (spoken_of(index, question) for question in ("starting a program", "a docker container"))
    assert 0 <= far < near <= 1


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Codebase]:
    root = tmp_path_factory.mktemp("small")
    write_files(root, {"a.py": "image = 1\n", "docs/parcels.md": "The parcel waits.\n"})
    refresh(root, root.parent / "small.sqlite")
    codebase = Codebase.open(root, root.parent / "small.sqlite")
    yield codebase
    codebase.close()


@given(
    st.one_of(st.text(max_size=200), st.lists(st.sampled_from([*TERMS, "image", "zeppelin", "tests"])).map(" ".join))
)
def test_every_question_gives_a_share(small: Codebase, question: str) -> None:
    assert 0 <= spoken_of(small.index, question, VECTORS) <= 1
