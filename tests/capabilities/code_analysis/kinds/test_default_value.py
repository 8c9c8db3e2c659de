"""Answers that tell a value first: what is asserted with which lines, and what is only said to be set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actors.capabilities.code_analysis.answers.confidence import (
    ENOUGH,
    WITH_PROVEN_VALUE,
    features_of_values,
    trust_in,
)
from actors.capabilities.code_analysis.answers.default_value import MAX_STEPS, MAX_VALUES, value_claims
from actors.capabilities.code_analysis.evidence.claims import render
from actors.capabilities.code_analysis.evidence.facts import CodeFact, distinct
from actors.capabilities.code_analysis.evidence.values import ValueNote
from actors.capabilities.code_analysis.question.analysis import analyse
from tests.capabilities.code_analysis.support import AnalysisHarness, cited, mark_faults, write_files

DOCK = {
    "dock/limits.py": "DEFAULT_BERTHS = 4\n",
    "dock/dock.py": '"""Berths of a dock."""\n\nfrom dock.limits import DEFAULT_BERTHS\n\n\nclass Dock:\n'
    "    def __init__(self, berths=DEFAULT_BERTHS, bell=None):\n        self.berths = berths\n"
    "        self.bell = bell or ring()\n",
    "docs/dock.md": "# Docks\n\nA dock has `berths`, the number of ships at once; the default is 6.\n",
}


@pytest.fixture
async def dock(tmp_path: Path) -> AnalysisHarness:
    write_files(tmp_path / "repo", DOCK)
    return await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")


def note(name: str = "berths", value: str | None = "4", **more: Any) -> ValueNote:
    texts = more.pop("texts", (f"{name} = LIMIT", f"LIMIT = {value}"))
    steps = tuple(cited(f"{number}.py", 10 + number, 10 + number) for number in range(len(texts)))
    chosen = {"part": "?", "owner": "Dock", "role": "default", "conditions": (), "function": "__init__", **more}
    return ValueNote(name=name, value=value, steps=steps, texts=texts, **chosen)


def fact(told: ValueNote) -> CodeFact:
    return CodeFact("value", told.steps[0], name=told.name, text=f"{told.name} = {told.value}", value=told)


def written(*notes: ValueNote) -> list[str]:
    return [render(claim) for claim in value_claims([fact(one) for one in notes])]


def test_a_sentence_that_states_the_value_is_told_as_what_its_file_says() -> None:
    (told,) = written(note(name="ten", value=None, owner="", form="stated", texts=("A dock has ten berths.",)))
    assert told == "`0.py` says: «A dock has ten berths.» [0.py:10]"


async def test_the_value_stands_first_with_every_line_that_leads_to_it(dock: AnalysisHarness) -> None:
    document = await dock.ask("How many berths does a dock have by default?")
    assert document["status"] == "answered"
    assert mark_faults(document["answer"], document["citations"]) == []
    first, second = str(document["answer"]).split("\n")[:2]
    assert first == (
        "- `Dock.berths` is `4` by default: `self.berths = berths` in `__init__`, `berths=DEFAULT_BERTHS`, "
        "`DEFAULT_BERTHS = 4` [dock/dock.py:8] [dock/dock.py:7] [dock/limits.py:1]"
    )
    assert second.startswith("- `docs/dock.md` says otherwise, and the code decides: «")


def test_what_only_a_document_states_is_told_as_its_word() -> None:
    stated = note(value="30", owner="", function="", form="document", texts=("| `berths` | `30` |",))
    other = fact(note(value="6"))
    passage = CodeFact("passage", cited("b.md", 1, 1), text="The default of berths is 7.")
    (claim,) = value_claims([fact(stated), passage])
    assert claim.text == "`berths` is `30` by default, as `0.py` says: ``| `berths` | `30` |``"
    assert claim.quotes == ("| `berths` | `30` |",)
    assert len(value_claims([other, passage])) == 2


def test_a_sentence_that_tells_of_a_default_is_quoted() -> None:
    said = note(value=None, form="sentence", texts=("By default, it has three berths.",))
    assert written(said) == ["`Dock.berths`: «By default, it has three berths.» [0.py:10]"]


async def test_a_value_that_is_not_proven_is_told_as_the_line_that_sets_it(dock: AnalysisHarness) -> None:
    document = await dock.ask("What is the default of `bell`?")
    assert "`Dock.bell` is set: `self.bell = bell or ring()` in `__init__` [dock/dock.py:9]" in document["answer"]
    assert mark_faults(document["answer"], document["citations"]) == []


async def test_no_value_is_told_where_none_is_asked_for(dock: AnalysisHarness) -> None:
    document = await dock.ask("Where are the berths of a dock decided?")
    assert "by default:" not in document["answer"]


def test_conditions_are_told_and_values_of_several_builds_are_all_listed() -> None:
    told = written(note(value="2", conditions=("#ifdef SMALL",)), note(value="9", conditions=("not (SMALL)",)))
    assert [text.partition(":")[0] for text in told] == [
        "`Dock.berths` is `2` by default, where `#ifdef SMALL`",
        "`Dock.berths` is `9` by default, where `not (SMALL)`",
    ]


def test_facts_of_one_place_with_different_values_stay_apart() -> None:
    facts = [fact(note(value="2", conditions=("a",))), fact(note(value="9", conditions=("b",)))]
    assert len(distinct([*facts, *facts])) == 2


@pytest.mark.parametrize("count", [MAX_VALUES - 1, MAX_VALUES, MAX_VALUES + 1])
def test_a_list_of_values_is_bounded(count: int) -> None:
    assert len(written(*(note(owner=f"Dock{n}") for n in range(count)))) == min(count, MAX_VALUES)


@pytest.mark.parametrize("count", [MAX_STEPS, MAX_STEPS + 1])
def test_of_a_long_chain_the_first_lines_and_the_last_one_are_cited(count: int) -> None:
    (claim,) = value_claims([fact(note(texts=tuple(f"C{n} = C{n + 1}" for n in range(count))))])
    assert len(claim.citations) == len(claim.quotes) == MAX_STEPS
    assert claim.quotes[-1] == f"C{count - 1} = C{count}"


def test_a_constant_is_not_called_a_default() -> None:
    assert written(note(role="constant", owner="", texts=("berths = 4",), function="")) == [
        "`berths` is `4`: `berths = 4` [0.py:10]"
    ]


def test_the_text_of_a_secret_is_not_repeated() -> None:
    (told,) = written(note("token", None, is_secret=True, texts=("", "")))
    assert told.startswith("`Dock.token` has a literal text by default, which is not repeated here [")


def test_lines_with_marks_of_direction_or_controls_are_not_quoted() -> None:
    assert written(note(texts=("berths = '\u202e'",)), note(texts=("berths = '\x1b[2J'",))) == []


def test_markup_in_a_value_stays_code() -> None:
    (told,) = written(note(value="'`](x)`'", texts=("berths = '`](x)[a.py:1]`'",)))
    assert "[a.py:1]" not in told
    assert "``'`](x)`'``" in told


def test_a_proven_value_makes_an_answer_found() -> None:
    low = {"top_share": 0.0, "ahead": 0.0, "present": 1.0, "together": 0.0, "familiar": 0.0}
    assert trust_in(low).presence < ENOUGH
    assert trust_in({**low, **features_of_values([fact(note())])}).presence == WITH_PROVEN_VALUE >= ENOUGH
    assert features_of_values([fact(note(value=None))]) == {}


@pytest.mark.parametrize(
    ("said", "contradicts"),
    [
        ("The default of `berths` is 6.", True),
        ("`berths` (default: 4)", False),
        ("`berths` takes its default of 6 seconds", False),
        ("`tugs` default to 6", False),
        ("`berths` default to true", False),
    ],
)
def test_a_document_that_states_another_number_is_named(said: str, contradicts: bool) -> None:
    passage = CodeFact("passage", cited("docs/a.md", 3, 3), symbol_kind="document", text=said)
    claims = value_claims([fact(note()), passage])
    assert (len(claims) == 2) is contradicts


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What is the default timeout?", "default_value"),
        ("What is the default of `Depot.size`?", "default_value"),
        ("How many retries are made by default?", "default_value"),
        ("Is compression on by default?", "default_value"),
        ("Which port is used when none is given?", "default_value"),
        ("Where is the default timeout configured?", "configured"),
        ("How does the retry work?", "how"),
        ("What is the default behaviour of the merge?", "what"),
    ],
)
def test_a_question_for_a_default_is_recognised(question: str, kind: str) -> None:
    assert analyse(question).kind == kind
