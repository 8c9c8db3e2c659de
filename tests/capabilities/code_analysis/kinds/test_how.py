"""How a thing works, and what is worded like no kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.kinds.how import DOER_BONUS, KIND
from actors.capabilities.code_analysis.question.analysis import analyse
from tests.capabilities.code_analysis.kinds.asking import step_ids
from tests.capabilities.code_analysis.kinds.test_what import depot, told
from tests.capabilities.code_analysis.support import cited


@pytest.mark.parametrize(
    "text",
    [
        "How does routing pick the next stage?",
        "Explain the retry logic",
        "Is there a cache?",
        "路由器如何匹配请求?",
    ],
)
def test_it_is_told_by_its_wording(text: str) -> None:
    assert analyse(text).kind == KIND.name


@pytest.mark.parametrize(
    "text",
    [
        "How do I add a tool?",
        "How is the port configured?",
        "How is the router tested?",
    ],
)
def test_what_only_sounds_like_it_is_of_another_kind(text: str) -> None:
    assert analyse(text).kind != KIND.name


def test_it_is_the_kind_of_what_is_worded_like_none() -> None:
    assert KIND.is_default
    assert analyse("zebra").kind == KIND.name


def test_what_its_best_place_passes_its_work_on_to_is_read() -> None:
    assert step_ids("How does `decide` work?")[-2:] == ["inner", "inner_calls"]


@pytest.mark.parametrize(
    ("text", "asks"), [("How can I reset it?", True), ("How to reset `Gate`?", True), ("How is it reset?", False)]
)
def test_documents_guide_whoever_asks_how_to_do_it(text: str, asks: bool) -> None:
    assert analyse(text).asks_for_guidance is asks


def test_a_method_of_the_doer_that_gives_what_is_named_gains() -> None:
    asked = analyse("How does Shop make a `Receipt`?")
    make = CodeFact(
        "definition", cited("shop.py", 3), name="Shop.sell", symbol_kind="method", signature="def sell(self) -> Receipt"
    )
    other = CodeFact(
        "definition", cited("shop.py", 9), name="Shop.close", symbol_kind="method", signature="def close(self) -> None"
    )
    assert KIND.bonus is not None
    assert [KIND.bonus(asked, fact, [fact], {}) for fact in (make, other)] == [DOER_BONUS, 0.0]


async def test_of_a_named_type_it_tells_what_that_has_before_what_it_calls(tmp_path: Path) -> None:
    calls = "\n    def send(self):\n        load_van(self._shelf)\n\n\ndef load_van(parcels):\n    return parcels\n"
    answer = await told(tmp_path, "How does `Depot` work?", depot__py=depot(9, calls))
    assert "- `take_0`: «Take parcel 0 in.»" in answer
    assert answer.index("**What it has**") < answer.index("**How it goes**") < answer.index("`load_van`")
    assert "See also" not in answer


def test_of_a_named_type_and_something_else_no_members_are_asked_for() -> None:
    assert "members" in step_ids("How does `Depot` work?")
    assert "members" not in step_ids("How does `Depot` keep parcels dry?")
