"""Lines that begin within a comment or a string which was opened above them are told from code."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.search.excerpts import MAX_TAIL_LINES, excerpt_of
from runtime.codebase.search.prose.comment_lines import OpenText, comment_lines, open_at

DOC = '"""'
PIECES = [
    ["def send(parcel):", '    """Sends it.', "", "    At once.", '    """', "    depot.send(parcel)"],
    ['    """Sends it."""', "    # a remark", "    depot.send(parcel)"],
    ["QUERY = '''", "select parcel", "'''", "send(QUERY)"],
    ['    send(f"""', "        parcel", '    """, depot)'],
    ["/*", "  Sends", "  at once", "*/", "send(parcel);"],
    ["send(parcel) # 'it''s not \"\"\" open'", 'quotes = \'"""\'', r'mark = "\"\"\""'],
    ["    send(parcel) /* at", "      once */"],
]
FILES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map(lambda pieces: [*itertools.chain(*pieces)])


@given(FILES)
def test_each_end_of_a_file_is_marked_as_it_is_in_the_whole(lines: list[str]) -> None:
    marked = comment_lines(lines)
    for place in range(len(lines)):
        assert comment_lines(lines[place:], open_at(lines, place)) == marked[place:]


@pytest.mark.parametrize(
    ("above", "opened"),
    [
        (["def send():", f"    {DOC}Sends it."], OpenText(DOC)),
        (["def send():", f"    {DOC}Sends it.{DOC}"], None),
        (["/*"], OpenText("*/")),
        (["QUERY = '''"], OpenText("'''", is_comment=False)),
        (["send()  # no '''"], None),
        (["send('one')"], None),
    ],
)
def test_what_is_open_is_told(above: list[str], opened: OpenText | None) -> None:
    assert open_at([*above, "at once", "'''", DOC, "*/"], len(above)) == opened


def test_a_string_behind_code_is_code_and_so_is_what_follows_it() -> None:
    assert comment_lines(["QUERY = '''", "select 1", "'''", "send(QUERY)", "# sent"]) == [*[False] * 4, True]


def test_quotes_that_nothing_closes_open_nothing() -> None:
    assert comment_lines(["select ''' || name", "# a remark"]) == [False, True]


def test_code_below_a_documentation_string_that_began_above_is_code() -> None:
    lines = ["    See also the depot.", f"    {DOC}", "    if parcel.lost:", "        raise LostError", "    send()"]
    weights = {"lost": 1.0, "parcel": 1.0}
    chosen = excerpt_of(lines, 90, weights, within=OpenText(DOC))
    assert chosen.quotes[0] == "if parcel.lost:"
    assert chosen.body == ()
    assert not chosen.is_prose


def test_what_a_documentation_string_says_that_began_above_is_not_said_of_the_lines_below() -> None:
    lines = ["    Parcels that are lost are sent again.", f"    {DOC}", "    send(parcel)"]
    said = excerpt_of(lines, 90, {"lost": 1.0, "parcel": 1.0}, within=OpenText(DOC)).said
    assert said is not None
    assert said.of is None


@pytest.mark.parametrize(("left", "is_shown"), [(1, True), (MAX_TAIL_LINES, True), (MAX_TAIL_LINES + 1, False)])
def test_the_last_statement_of_a_body_is_shown_if_so_few_lines_are_left(left: int, is_shown: bool) -> None:
    told = [f"    parcel = route(parcel, {number})" for number in range(19)]
    lines = [*["    depot.open()"] * 10, *told, *["    depot.close()"] * left]
    rest = excerpt_of(lines, 90, {"parcel": 1.0, "rout": 1.0}).rest
    assert (rest == ("    depot.close()",) * left) is is_shown
    outside = excerpt_of([*lines[:-1], "depot.close()"], 90, {"parcel": 1.0, "rout": 1.0})
    assert outside.rest == ()
