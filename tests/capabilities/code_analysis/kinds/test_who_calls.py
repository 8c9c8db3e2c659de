"""Who calls or uses a thing."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_analysis.kinds.who_calls import KIND
from actors.capabilities.code_analysis.question.analysis import analyse
from tests.capabilities.code_analysis.kinds.asking import step_ids, told_of
from tests.capabilities.code_analysis.support import AnalysisHarness, mark_faults


@pytest.mark.parametrize(
    "text",
    [
        "Who calls decide?",
        "Where is decide called?",
        "What depends on runtime/bounds.py?",
        "show the callers of Foo.bar",
    ],
)
def test_it_is_told_by_its_wording(text: str) -> None:
    assert analyse(text).kind == KIND.name


@pytest.mark.parametrize(
    "text",
    [
        "What does decide do?",
        "Who last changed `decide`?",
    ],
)
def test_what_only_sounds_like_it_is_of_another_kind(text: str) -> None:
    assert analyse(text).kind != KIND.name


def test_a_name_is_told_with_its_uses_and_tests_and_its_callers_stand_behind_the_lead() -> None:
    assert analyse("Who calls `decide`?").aspects == KIND.aspects
    assert KIND.first_roles == ("caller", "mention", "caveat", "importer")


def test_the_best_place_is_not_read_whole() -> None:
    assert step_ids("Who calls `decide`?") == ["find", "name0", "read", "use0", "use"]


def test_without_a_name_it_is_a_question_in_words_that_asks_for_uses_and_tests_besides() -> None:
    assert analyse("Where are the timers used?").aspects == ("answer", "usage", "tests")


async def test_the_line_that_has_a_name_is_told_where_nothing_bears_it(vehicles: AnalysisHarness) -> None:
    told = await told_of(vehicles, "Who calls `print`?")
    assert "is a class" not in told


@pytest.mark.parametrize("question", ["Who calls deliver_parcel_twice?", "Where is is_full_again called?"])
async def test_a_name_that_nothing_bears_is_not_found_whatever_is_near_it(
    relay: AnalysisHarness, question: str
) -> None:
    document = await relay.ask(question)
    assert document["status"] == "not_found"
    assert document["answer"].startswith("I did not find this"), document["answer"]
    assert (await relay.ask("Who calls deliver_parcel?"))["status"] == "answered"


OPTION = """class Broker {
  constructor(opts) {
    this.admit = null;
    this.options = { admit: null, ...opts };
  }

  forward(client, packet) {
    if (!this.options.admit) return packet;
    return this.options.admit(client, packet);
  }
}
module.exports = Broker;
"""
TEST = """const Broker = require('../lib/broker');
test('refuses', () => {
  const admit = (client, packet) => {
    return null;
  };
  new Broker({ admit }).forward(1, 2);
});
"""


@pytest.fixture
async def broker(tmp_path: Path) -> AnalysisHarness:
    """A package with an option that is a function, which a test defines."""
    root = tmp_path / "broker"
    for name, text in {"lib/broker.js": OPTION, "test/broker.test.js": TEST}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return await AnalysisHarness.open(root, tmp_path / "state")


async def test_the_uses_of_an_option_that_a_test_defines_are_mentions_with_calls_first(broker: AnalysisHarness) -> None:
    document = await broker.ask("Who calls `admit`?")
    answer = document["answer"]
    assert mark_faults(answer, document["citations"]) == []
    assert "is a function in `test/" not in answer
    assert "**Used by**" not in answer
    assert document["citations"][0]["file"] == "lib/broker.js"
    assert document["citations"][0]["start_line"] == 9
    assert document["confidence"] <= 0.3
