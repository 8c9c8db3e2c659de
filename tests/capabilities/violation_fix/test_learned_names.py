"""Names of new functions are held against the verbs that authors would use, and read from more of what code says."""

from __future__ import annotations

import random
import textwrap

import pytest

from actors.capabilities.violation_fix.refactoring.block_analysis import FunctionAnalysis
from actors.capabilities.violation_fix.refactoring.cutting.cuts import Cut, Shape
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import places_of
from actors.capabilities.violation_fix.refactoring.naming.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.naming.learned.block_features import features_of
from actors.capabilities.violation_fix.refactoring.naming.learned.judgement import (
    best_verb,
    judged,
    likely_verbs,
    with_likely_verb,
)
from actors.capabilities.violation_fix.refactoring.naming.learned.verb_model import WEIGHTS, verb_model
from actors.capabilities.violation_fix.refactoring.naming.suggestion import (
    BRANCH_REASON,
    BY_COMMENT,
    BY_EXCEPTION,
    SuggestedName,
)
from actors.capabilities.violation_fix.refactoring.outcomes import Refused
from actors.capabilities.violation_fix.refactoring.source_text import SourceText
from tests.capabilities.violation_fix.test_names_of_blocks import names

REWARDS = """
        def work(rewards, wanted, registry):
            log.debug(wanted)
            if wanted:
                for name in wanted:
                    if name in registry:
                        rewards.append(registry[name])
                    elif "." in name:
                        rewards.append(imported(name))
                    else:
                        raise ValueError({message})
            log.debug(rewards)
            log.debug(registry)
            return rewards
"""


def test_what_an_exception_says_has_failed_names_what_is_tried() -> None:
    told = names(REWARDS.format(message='f"Could not load rewards {name}"'))
    assert "_load_rewards" in told.values()
    untold = names(REWARDS.format(message='f"Unknown rewards {name}"'))
    assert "_load_rewards" not in untold.values()


def test_a_failure_that_the_code_speaks_of_nowhere_else_names_nothing() -> None:
    found = names(REWARDS.format(message='f"Could not open the door {name}"'))
    assert not any(name.startswith("_open") for name in found.values())


COMMENTED = """
        def work(rows, limit):
            log.debug(limit)
            {above}
            if limit:
                {inside}
                for row in rows:
                    if row.is_old(limit):
                        row.close()
                        rows.forget(row)
            log.debug(rows)
            log.debug(limit)
            return rows
"""


@pytest.mark.parametrize(
    ("above", "inside", "is_named"),
    [
        ("", "# Close the rows that are too old", True),
        ("", "# The rows that are too old", False),
        ("# The limit may be missing here. Close the rows now.", "", True),
        ("# The limit may be missing here. Close rows. Forget rows.", "", False),
    ],
)
def test_a_command_in_a_comment_counts_where_it_is_the_only_one(above: str, inside: str, is_named: bool) -> None:
    found = names(COMMENTED.format(above=above, inside=inside))
    assert any(name.startswith("_close_rows") for name in found.values()) is is_named


def named(name: str, reason: str = "the output rows", quality: float = 0.7) -> SuggestedName:
    return SuggestedName(name, quality, reason)


@pytest.mark.parametrize(("chance", "quality"), [(0.34, 0.7), (0.49, 0.525), (0.5, 0.406), (0.95, 0.406)])
def test_a_deed_in_the_name_of_what_makes_a_value_is_refused_once_the_model_is_sure(
    chance: float, quality: float
) -> None:
    others = (0.98 - chance) / 2
    verbs = {"get": chance, "load": others, "parse": others, "send": 0.02}
    assert judged(named("_send_rows"), verbs).quality == pytest.approx(quality)


@pytest.mark.parametrize("reason", [BY_COMMENT, BRANCH_REASON, BY_EXCEPTION])
def test_words_of_the_author_are_not_judged(reason: str) -> None:
    assert judged(named("_send_rows", reason), {"get": 0.95, "send": 0.01}).quality == 0.7


def test_a_verb_that_the_model_does_not_know_is_not_judged() -> None:
    assert judged(named("_poll_rows"), {"get": 0.95, "send": 0.01}).quality == 0.7


def test_to_handle_something_is_lowered_however_likely_it_is() -> None:
    assert judged(named("_handle_rows"), {"handle": 0.9, "get": 0.1}).quality < 0.7
    assert judged(named("_handle_rows", BRANCH_REASON), {"handle": 0.9, "get": 0.1}).quality == 0.7


def test_what_is_likely_is_worth_more_and_never_all() -> None:
    assert judged(named("_get_rows"), {"get": 0.9}).quality == pytest.approx(0.784)
    assert judged(named("_get_rows", quality=0.85), {"get": 0.9}).quality == 0.9
    assert judged(named("_get_rows", quality=0.95), {"get": 0.9}).quality == 0.95


def test_authors_get_build_and_collect_the_same_things() -> None:
    assert judged(named("_collect_rows"), {"get": 0.9, "collect": 0.01}).quality >= 0.7


def test_names_with_no_verb_count_for_no_verb() -> None:
    assert likely_verbs({"none": 0.5, "get": 0.4, "is": 0.1}) == {"get": 1.0}
    assert likely_verbs({"none": 1.0}) == {}
    assert best_verb({}) == ("", 0.0)
    assert best_verb({"handle": 0.9, "parse": 0.1}) == ("parse", 0.1)
    assert best_verb({"forward": 0.9, "parse": 0.1}) == ("parse", 0.1)


def context_of(source: str, first: int, last: int) -> BlockContext:
    text = SourceText(textwrap.dedent(source))
    place = next(places_of(text.tree))
    analysis = FunctionAnalysis(place)
    chosen = [each for each in place.function.body if first <= each.lineno <= last]
    extraction = analysis.analyse(chosen)
    assert not isinstance(extraction, Refused)
    return BlockContext(text, place, Cut(chosen, (), Shape.PARAGRAPH), extraction)


MADE = """
def work(lines):
    rows = []
    for line in lines:
        rows = line.split()
    print(rows)
"""
CHANGED = """
def work(lines, rows):
    for line in lines:
        rows = rows + line.split()
    print(rows)
"""


@pytest.mark.parametrize(("chance", "name"), [(0.64, None), (0.65, "_parse_rows"), (0.66, "_parse_rows")])
def test_a_loose_verb_gives_way_to_one_that_is_likely_enough(chance: float, name: str | None) -> None:
    context = context_of(MADE, 3, 5)
    mended = with_likely_verb(named("_determine_rows"), {"parse": chance, "get": 0.01}, context)
    assert (mended.name if mended else None) == name


@pytest.mark.parametrize(
    ("name", "reason", "verb", "is_mended"),
    [
        ("_build_rows", "the output rows", "convert", False),
        ("_build_rows", "the output rows", "load", True),
        ("_update_rows", "what is done to rows", "add", False),
        ("_handle_lines", "the lines that may be missing", "load", True),
        ("_handle_lines", "the lines that may be missing", "get", False),
    ],
)
def test_a_new_verb_goes_with_what_the_object_is_to_the_block(
    name: str, reason: str, verb: str, is_mended: bool
) -> None:
    context = context_of(MADE, 3, 5)
    mended = with_likely_verb(named(name, reason), {verb: 0.9}, context)
    assert (mended is not None) is is_mended


def test_what_is_changed_is_not_got() -> None:
    context = context_of(CHANGED, 3, 4)
    assert with_likely_verb(named("_resolve_rows"), {"load": 0.9}, context) is None
    assert with_likely_verb(named("_resolve_rows"), {"convert": 0.9}, context) is not None


def test_a_verb_that_tells_does_not_give_way() -> None:
    context = context_of(MADE, 3, 5)
    assert with_likely_verb(named("_write_rows"), {"parse": 0.99}, context) is None
    assert with_likely_verb(named("_determine_rows", BY_COMMENT), {"parse": 0.99}, context) is None


def test_the_model_tells_the_same_of_features_in_any_order() -> None:
    context = context_of(MADE, 3, 5)
    features = sorted(features_of(context))
    mixed = list(features)
    random.Random(1).shuffle(mixed)
    model = verb_model()
    chances = model.verb_probabilities(features)
    assert chances == model.verb_probabilities(mixed)
    assert sum(chances.values()) == pytest.approx(1.0, abs=1e-4)
    assert list(chances.values()) == sorted(chances.values(), reverse=True)


def test_the_model_tells_nothing_of_features_that_it_has_not_seen() -> None:
    assert verb_model().verb_probabilities(["no such feature"]) == {}


def test_the_model_knows_what_a_block_of_checks_is_called() -> None:
    source = """
    def work(rows, limit):
        if limit < 0:
            raise ValueError("limit must be positive")
        if limit > len(rows):
            raise ValueError("limit must not exceed the rows")
        if not isinstance(limit, int):
            raise TypeError("limit must be an integer")
        return rows[limit]
    """
    verb, chance = best_verb(likely_verbs(verb_model().verb_probabilities(features_of(context_of(source, 3, 8)))))
    assert verb in ("check", "validate") and chance > 0.5


def test_the_weights_fit_in_a_megabyte() -> None:
    assert WEIGHTS.stat().st_size <= 1_000_000


def test_what_tells_whether_to_skip_is_no_check() -> None:
    source = """
        def work(nodes, limit):
            for node in nodes:
                if Tree.is_text(node):
                    continue
                Tree.assert_valid(node)
                if Tree.is_root(node):
                    continue

                limit.show(node)
                limit.add(node)
            return limit
    """
    assert not any(name.startswith("_check") for name in names(source).values())
