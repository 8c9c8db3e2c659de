"""A question whose words make the name of a definition asks about that, as if it named it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.question.analysis import Question, analyse
from actors.capabilities.code_analysis.question.described_names import MAX_SUBJECT_CHARS, described_name
from runtime.codebase.codebase import Codebase
from tests.capabilities.code_analysis.support import AnalysisHarness, codebase_of, indexed

FILES = {
    "depot/store.py": '''"""Stores."""
from abc import ABC, abstractmethod


class ParcelStore(ABC):
    """Keeps parcels."""

    @abstractmethod
    def keep(self, parcel):
        """Keep one."""


class DiskStore(ParcelStore):
    """Keeps them on disk."""

    def keep(self, parcel):
        return parcel


class BaseCourier:
    """Brings parcels."""


class Stamp:
    """Says what was paid."""

    price = 1


class RoadCourier(BaseCourier):
    """Brings them by road."""


def trim_log(lines):
    """Cut the log."""
    return lines[-10:]


def nightly():
    trim_log([])
    return DiskStore().keep(Stamp())
''',
    "tests/test_store.py": """from depot.store import DiskStore, trim_log


class TestHelper:
    pass


def test_a_disk_store_keeps():
    assert DiskStore().keep(1) == 1


def test_the_log_is_cut():
    assert trim_log([1]) == [1]
""",
}


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> AnalysisHarness:
    return indexed(tmp_path_factory.mktemp("depot"), FILES)


@pytest.fixture(scope="module")
def depot(harness: AnalysisHarness) -> Iterator[Codebase]:
    with codebase_of(harness) as codebase:
        yield codebase


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Who uses the disk store?", "DiskStore"),
        ("Who uses disk stores?", "DiskStore"),
        ("Which tests cover the function that trims the log?", "trim_log"),
        ("Which tests cover the trim log function?", "trim_log"),
        ("When was the disk store added?", "DiskStore"),
        ("How do I add a new parcel store?", "ParcelStore"),
        ("I want my own parcel store. Where do I hook it in?", "ParcelStore"),
        ("How do I add a courier?", "BaseCourier"),
        ("How do I add a new stamp?", None),
        ("What is the disk store?", "DiskStore"),
        ("What is the disk store for in the depot?", None),
        ("How does the disk store work?", None),
        ("Who uses `Stamp` and the disk store?", None),
        ("Who uses the test helper?", None),
        ("Who uses the disk store in tests?", "DiskStore"),
        ("Who uses the disk store of a courier on holiday?", None),
        ("Who uses the store?", None),
        ("Who uses the flying carpet?", None),
    ],
)
def test_words_that_make_a_name_name_it(depot: Codebase, text: str, name: str | None) -> None:
    assert described_name(depot.index, analyse(text)) == name


def test_words_behind_the_most_characters_make_no_name(depot: Codebase) -> None:
    def asked(fill: int) -> Question:
        return Question(text="", kind="who_calls", subject=f"{'x' * fill} disk store")

    longest = MAX_SUBJECT_CHARS - len(" disk store")
    assert described_name(depot.index, asked(longest)) == "DiskStore"
    assert described_name(depot.index, asked(longest + 1)) is None


@given(subject=st.text(max_size=300))
def test_any_subject_makes_a_name_of_the_source_or_none(depot: Codebase, subject: str) -> None:
    found = described_name(depot.index, Question(text=subject, kind="who_calls", subject=subject))
    assert found is None or found in FILES["depot/store.py"]


async def test_the_uses_of_what_words_name_are_told(harness: AnalysisHarness) -> None:
    document = await harness.ask("Does anybody still use the disk store?")
    assert document["answer"].startswith("`DiskStore` is a class in `depot/store.py`")
    assert "`nightly`: `return DiskStore().keep(Stamp())`" in document["answer"]


async def test_what_a_new_one_has_to_do_is_told(harness: AnalysisHarness) -> None:
    answer = (await harness.ask("I want my own parcel store. Where do I hook it in?"))["answer"]
    assert answer.startswith("`ParcelStore` is a class in `depot/store.py`")
    assert "`keep`: `def keep(self, parcel):`" in answer
    assert "`class DiskStore(ParcelStore):`" in answer
