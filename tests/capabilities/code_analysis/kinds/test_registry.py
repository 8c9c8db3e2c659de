"""The registry of kinds: every module is found, no two kinds stand at one place, and no kind is named elsewhere."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from actors.capabilities.code_analysis.answers.by_aspect import WRITERS
from actors.capabilities.code_analysis.question import kinds as registry
from actors.capabilities.code_analysis.question.analysis import Question, analyse
from actors.capabilities.code_analysis.question.aspects import Aspect
from actors.capabilities.code_analysis.question.kinds import default_kind, kind_of, kinds_worded, question_kinds
from runtime.errors import SettingsError

ROOT = Path(__file__).resolve().parents[4]
PACKAGE = ROOT / "actors" / "capabilities" / "code_analysis"

# Words that are the name of a kind as well, and mean something else in a module.
OTHER_MEANINGS = {
    ("answers/findings.py", "why"): "a field of a citation",
    ("answers/reasoned_by.py", "why"): "a field of a record",
    ("models/model_plan.py", "why"): "a field of a planned call",
    ("models/rule_fallback.py", "why"): "a field of a record",
    ("answers/history.py", "changed"): "the role of a commit",
    ("evidence/facts.py", "changed"): "the role of a commit",
    ("answers/lists/precedents.py", "changed"): "what a commit did to a file",
    ("answers/lists/listing.py", "what"): "a word of questions for lists",
    ("session/follow_up.py", "what"): "a group of a pattern",
    ("evidence/call_flow.py", "extend"): "a method of lists",
    ("session/entity_graph.py", "changes_with"): "a relation of entities",
    ("session/relation_facts.py", "changes_with"): "a relation of entities",
}


def named_in(text: str) -> Iterator[str]:
    """Names of kinds that stand as a literal in a module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and node.value in question_kinds():
            yield str(node.value)


def modules() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path.parent != PACKAGE / "kinds"]


def test_no_kind_is_named_outside_of_its_package() -> None:
    found = {(str(path.relative_to(PACKAGE)), name) for path in modules() for name in named_in(path.read_text("utf-8"))}
    assert sorted(found - OTHER_MEANINGS.keys()) == []
    assert sorted(OTHER_MEANINGS.keys() - found) == [], "these have gone"


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ('if question.kind == "compare": pass', ["compare"]),
        ('X = frozenset({"why", "where"})', ["where", "why"]),
        ('"""Compare where, what and why."""', []),
        ("compare = why(where)", []),
    ],
)
def test_a_literal_is_seen_and_words_of_a_sentence_are_not(code: str, names: list[str]) -> None:
    assert sorted(named_in(code)) == names


def test_each_module_of_the_package_declares_the_kind_that_it_is_named_after() -> None:
    files = {path.stem for path in (PACKAGE / "kinds").glob("*.py")} - {"__init__"}
    assert set(question_kinds()) == files
    assert len(files) >= 14


def test_each_kind_has_a_test_file() -> None:
    tests = {path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("test_*.py")}
    assert set(question_kinds()) <= tests


def test_a_module_without_a_kind_is_refused_by_its_name() -> None:
    with pytest.raises(SettingsError, match=r"the module odd declares no kind of question; give it KIND"):
        registry._declared_in(types.ModuleType("odd"))


def test_models_are_told_of_each_kind() -> None:
    prompts = (ROOT / "configs" / "prompts" / "code_analysis").glob("shared.*.md")
    newest = max(prompts, key=lambda path: int(path.suffixes[0][1:]))
    told = " ".join(newest.read_text("utf-8").split())
    expected = [f"{kind.name} ({kind.meaning})" for kind in question_kinds().values()]
    assert [line for line in expected if line not in told] == [], f"add them to {newest.name}"


def test_no_two_kinds_have_wordings_at_one_place() -> None:
    places = [{wording.place for wording in kind.wordings} for kind in question_kinds().values()]
    assert len(set().union(*places)) == sum(map(len, places))


def test_one_kind_takes_what_is_worded_like_none() -> None:
    assert [kind for kind in question_kinds().values() if kind.is_default] == [default_kind()]
    assert kinds_worded("zebra") == []
    assert kind_of(analyse("zebra")) == default_kind()


def test_the_first_wording_that_matches_decides() -> None:
    assert [kind.name for kind in kinds_worded("How do I configure what is called a plugin?")][:2] == [
        "configured",
        "how",
    ]


def test_a_kind_that_another_version_has_written_down_counts_as_the_default_one() -> None:
    written = msgspec.to_builtins(analyse("Who calls `decide`?")) | {"kind": "of_a_later_version"}
    assert kind_of(msgspec.convert(written, Question)) == default_kind()


@pytest.mark.parametrize("kind", question_kinds().values(), ids=list(question_kinds()))
def test_what_a_kind_asks_for_can_be_planned_and_written(kind: registry.QuestionKind) -> None:
    wanted = {*kind.aspects, *(kind.added or ()), *kind.besides, *kind.besides_of_names, *kind.writers}
    assert wanted <= set(get_args(Aspect))
    assert set(get_args(Aspect)) <= set(WRITERS)
    assert kind.imperative.format(subject="it")
    for other in (kind.takes_over and kind.takes_over.of, kind.gives_way and kind.gives_way.to):
        assert other is None or other in question_kinds()
