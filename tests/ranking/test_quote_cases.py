"""The questions whose answers documents say: whole, each once, about repositories that are listed."""

from __future__ import annotations

from pathlib import Path

from runtime.codebase.search.prose.document_quotes import choose
from tests.ranking.examples import open_clone
from tests.ranking.quotes import gathered, mark_of, read_asked
from tests.repositories import write_files

LISTED = Path(__file__).parents[2] / "docs" / "ranking-repositories.md"


def test_each_question_says_where_its_answer_stands_or_that_code_alone_has_it() -> None:
    asked = read_asked()
    assert len({one.id for one in asked}) == len({(one.repo, one.question) for one in asked}) == len(asked) >= 590
    assert all(len(one.base_commit) == 40 and one.kind for one in asked)
    assert all(1 <= said.start <= said.end and len(said.mark) == 8 for one in asked for said in one.said)
    assert 0.2 < sum(not one.said for one in asked) / len(asked) < 0.5


def test_each_repository_is_listed_with_its_commit_as_one_that_quotations_were_learned_from() -> None:
    rows = [line for line in LISTED.read_text(encoding="utf-8").splitlines() if "`said.jsonl`" in line]
    listed = {(row.split("|")[1].strip(), row.split("|")[2].strip(" `")) for row in rows}
    assert listed == {(one.repo, one.base_commit) for one in read_asked()}


def test_a_quotation_is_right_if_it_has_a_marked_sentence(tmp_path: Path) -> None:
    answer = "A late ship is refused by the harbour master."
    write_files(tmp_path / "clones" / "a+harbour", {"docs/guide.md": f"# Harbour\n\n{answer} Masts are painted.\n"})
    (tmp_path / "state").mkdir()
    codebase = open_clone(tmp_path / "clones", tmp_path / "state", "a+harbour")
    case = read_asked()[0]
    said = (type(case.said[0])("docs/guide.md", 3, 3, mark_of(answer)),)
    found = gathered(type(case)("1", "a/harbour", "", "Is a late ship refused?", "can", said), codebase, None)
    assert found.right == [True, False]
    for scores, is_right in (([2.0, 0.0], True), ([0.0, 2.0], False), ([1.5, 2.0], True)):
        choice = choose(found.candidates, scores)
        assert choice is not None and found.is_right(choice) is is_right
