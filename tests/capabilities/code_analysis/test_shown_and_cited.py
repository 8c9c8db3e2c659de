"""The code below a sentence stands in the lines that the sentence cites."""

from __future__ import annotations

import itertools
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.answers.open_answer import answer_claims
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.ranking.answer_order import Place
from runtime.codebase.files.source_text import SourceText
from runtime.codebase.parsing.chunks import cut
from runtime.codebase.parsing.parse import parse
from runtime.codebase.search.excerpts import excerpt_of
from runtime.codebase.search.prose.comment_lines import comment_lines, open_at
from tests.capabilities.code_analysis.support import AnalysisHarness, cited, write_files

WEIGHTS = {"parcel": 2.0, "lost": 1.5, "depot": 1.0, "send": 0.5}
SAID = ["Sends parcels.", "A parcel that is lost in the depot is sent again.", "", ">>> send(1)", "- of a depot"]
DONE = [
    "depot.open()",
    "if parcel.lost:",
    "    raise LostError(parcel)",
    "return None",
    "",
    "# of a lost parcel",
    "send()",
]
# What a documentation says, and what the code below it does: lines that come again, so and so many of them.
FUNCTIONS = st.tuples(
    st.lists(st.sampled_from(SAID), min_size=1, max_size=8),
    st.integers(1, 130),
    st.lists(st.sampled_from(DONE), min_size=1, max_size=8),
    st.integers(1, 90),
)


def function(said: list[str], said_lines: int, done: list[str], done_lines: int) -> list[str]:
    """Return the lines of a definition, no two of them alike but empty ones."""
    texts = itertools.islice(itertools.cycle(said), said_lines)
    told = [f"    {text} {number}" if text else "" for number, text in enumerate(texts)]
    texts = itertools.islice(itertools.cycle(done), done_lines)
    code = [f"    {text}  # {number}" if text else "" for number, text in enumerate(texts)]
    return ["def send(parcel, depot):", '    """Sends.', "", *told, '    """', *code, "    return parcel"]


def places_of(lines: list[str]) -> list[Place]:
    syntax = parse(SourceText("\n".join(lines) + "\n", ""), "a.py", "python")
    places = []
    for start, end, _ in cut(lines, syntax.symbols):
        chosen = excerpt_of(lines[start - 1 : end], start, WEIGHTS, within=open_at(lines, start - 1))
        places.append(Place(CodeFact("definition", cited("a.py", start, end), name="send", excerpt=chosen), 1.0))
    return places


@given(FUNCTIONS)
def test_the_code_of_a_claim_stands_in_what_it_cites(texts: tuple[list[str], int, list[str], int]) -> None:
    lines = function(*texts)
    is_comment = comment_lines(lines)
    number_of = {line.strip(): number for number, line in enumerate(lines, 1) if line.strip()}
    for place in places_of(lines):
        (lead, *_) = answer_claims([place])
        cites = {number for c in lead.citations for number in range(c.start_line, c.end_line + 1)}
        shown = {number_of[line.strip()] for line in lead.code.split("\n") if line.strip() not in {"", "…"}}
        assert shown <= cites
        code = {number for number in cites if lines[number - 1].strip() and not is_comment[number - 1]}
        assert not shown or not code or shown & code


SENDING = f"""\
def send(parcel, depot):
    \"\"\"Send a parcel.

{"".join(f"    Step {number} of the way that it takes.{chr(10)}" for number in range(52))}
    See also
    --------
    * The guide, which tells it in full.
    * The tables of postage.
    * The map of roads.
    * The list of offices.

    \"\"\"
    way = find_way(parcel)
{"".join(f"    way = add_office(way, {number}){chr(10)}" for number in range(20))}
    if parcel.weight > MOST:
        raise TooHeavyError(parcel)
    carry(parcel, way)
"""


async def test_below_a_long_documentation_the_code_that_decides_is_shown(tmp_path: Path) -> None:
    write_files(tmp_path / "repo", {"post.py": SENDING})
    post = await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")
    document = await post.ask("What happens to a parcel whose weight is too big?")
    told = document["answer"]
    assert "raise TooHeavyError(parcel)\n" in told.split("```")[1]
    assert "See also" not in told
