from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actors.capabilities.code_analysis.agents.claim_checks import holds_its_quotes
from actors.capabilities.code_analysis.answers.diagram import part_diagram
from actors.capabilities.code_analysis.answers.overview import overview_claims
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.evidence.facts import CodeFact, FactKind, distinct, facts_of
from actors.capabilities.code_analysis.evidence.steps import Step
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh


def fact(kind: FactKind, name: str, line: int = 1, **more: object) -> CodeFact:
    return CodeFact(kind, Citation("README.md", line, line), name=name, **more)  # type: ignore[arg-type]


def texts(claims: list[Claim], role: str) -> list[str]:
    return [claim.text for claim in claims if claim.role == role]


def test_what_it_is_leads_in_its_own_words() -> None:
    claims = overview_claims(
        [fact("purpose", "README.md", text="Depot is a store."), fact("purpose", "x", text="Boxes.")]
    )
    assert [(claim.role, claim.text) for claim in claims] == [
        ("lead", "`README.md` says: «Depot is a store.»"),
        ("said", "`README.md` says: «Boxes.»"),
    ]
    assert claims[0].quotes == ("Depot is a store.",)


@pytest.mark.parametrize(("of", "largest"), [(1500, "the largest file in C++"), (1200, "the largest file")])
def test_without_its_own_words_the_language_leads(of: int, largest: str) -> None:
    (claim,) = overview_claims([fact("language", "cpp", about="a.cc", count=1200, of=of)])
    assert (claim.role, claim.text) == ("lead", f"Its source is C++ (1,200 of {of:,} lines); {largest} is `a.cc`")


def test_a_part_tells_its_own_sentence_or_the_names_used_of_it_or_its_size() -> None:
    claims = overview_claims(
        [
            fact("part", "net", symbol_kind="folder", count=3, of=12, text="Talks to others."),
            fact("part", "shelf.py", symbol_kind="file", count=1, of=12, text="Holds boxes.", about="Shelf"),
            fact("part", "store", symbol_kind="folder", count=2, of=12),
            fact("part_name", "Shelf", 2, about="store", count=1),
            fact("part_name", "Box", 3, about="store", count=1),
            fact("part_name", "Rail", 4, about="store"),
            fact("part", "misc", symbol_kind="folder", count=1, of=12),
        ]
    )
    assert texts(claims, "part") == [
        "`net` (3 files): «Talks to others.»",
        "`shelf.py` defines `Shelf`: «Holds boxes.»",
        "`store` (2 files) defines `Shelf` (named in at least 1 file outside of it), `Box` (1) and `Rail`",
        "`misc` (1 file)",
    ]
    assert [len(claim.citations) for claim in claims if claim.role == "part"] == [1, 1, 3, 1]
    assert {claim.of for claim in claims if claim.role == "part"} == {12}


def test_parts_hang_together_by_counted_imports_that_a_picture_can_show() -> None:
    facts = [
        fact("part", "net", symbol_kind="folder", count=3),
        fact("part", "store", symbol_kind="folder", count=2),
        fact("edge", "store", about="net", count=2),
    ]
    claims = overview_claims(facts)
    assert texts(claims, "link") == ["`net` imports `store` in at least 2 files"]
    assert part_diagram(claims) == ('```mermaid\nflowchart TD\n    n0["net"]\n    n1["store"]\n    n0 -->|2| n1\n```')
    assert part_diagram(claims[:2]) is None


def test_a_picture_shows_more_imports_than_are_listed() -> None:
    facts = [fact("edge", f"b{number}", about="a", count=1) for number in range(9)]
    assert len(overview_claims(facts)) == 5
    assert len(overview_claims(facts, draws=True)) == 9


def hub_fact(name: str, line: int, **fields: Any) -> CodeFact:
    return fact("hub", name, line, **{"about": "app.go", "signature": "app.go", "symbol_kind": "file", **fields})


def test_what_draws_the_parts_together_is_told_once_and_ahead_of_other_imports() -> None:
    facts = [
        hub_fact("db", 3, count=2, of=5),
        hub_fact("net", 4, count=2, of=5),
        fact("edge", "db", about="app.go", count=1),
        CodeFact("edge", Citation("net/wire.go", 1, 1), name="db", about="net", count=1),
    ]
    claims = overview_claims(facts)
    assert texts(claims, "link") == [
        "`app.go` imports 2 of 5 parts: `db` and `net`",
        "`net` imports `db` in at least one file",
    ]
    assert [citation.start_line for citation in claims[0].citations] == [3, 4]


def test_parts_that_are_left_out_are_counted_and_steps_are_named() -> None:
    facts = [
        hub_fact("lib/depot.rb", 2, about="lib/depot.rb", text="bin/depot", symbol_kind="step", count=9, of=12),
        hub_fact("lib/box", 3, about="lib/depot.rb", count=9, of=12),
    ]
    assert texts(overview_claims(facts), "link") == [
        "`lib/depot.rb`, which `bin/depot` uses, imports 9 of 12 parts, such as `lib/box`"
    ]


def test_the_package_at_the_top_is_called_so() -> None:
    claims = overview_claims([hub_fact(".", 2, count=1, of=3)])
    assert texts(claims, "link") == ["`app.go` imports 1 of 3 parts: the package at the top"]


def test_a_part_that_draws_others_together_is_told_with_its_entry() -> None:
    facts = [hub_fact("box", 1, about="app", signature="app/index.ts", symbol_kind="part", count=1, of=3)]
    assert texts(overview_claims(facts), "link") == ["`app`, with `app/index.ts`, imports 1 of 3 parts: `box`"]


def test_that_nothing_leads_in_or_from_part_to_part_is_said_of_a_whole_with_code_alone() -> None:
    language = fact("language", "go", about="a.go", count=9, of=9, symbol_kind="whole")
    parts = [fact("part", name, symbol_kind="file", count=1) for name in ("a.go", "b.go")]
    claims = overview_claims([language, *parts])
    assert [text[:31] for text in texts(claims, "link")] == ["No import of one part by another"[:31]]
    assert [text[:25] for text in texts(claims, "entry")] == ["No entry point was found:"]
    assert texts(overview_claims([language, parts[0]]), "link") == []
    folder = fact("language", "go", about="a.go", count=9, of=9, symbol_kind="folder")
    assert texts(overview_claims([folder]), "entry") == []
    assert texts(overview_claims([fact("part", "a.md", symbol_kind="document", count=1)]), "entry") == []


def test_who_asks_for_entries_is_told_that_none_was_found() -> None:
    facts = [
        fact("language", "go", about="a.go", count=9, of=9, symbol_kind="whole"),
        fact("reading", "a.go", symbol_kind="largest", count=9),
    ]
    assert [claim.role for claim in overview_claims(facts, "entries")] == ["entry", "start"]


def test_code_of_others_is_told_by_the_words_of_its_licence() -> None:
    (claim,) = overview_claims([fact("aside", "lib/zip", symbol_kind="taken_over", count=3, text="Copyright 2012 Ann")])
    assert claim.text == "It includes code taken over from others in `lib/zip` (3 files): «Copyright 2012 Ann»"
    assert claim.quotes == ("Copyright 2012 Ann",)


def test_what_most_files_of_a_part_define_is_told_ahead_of_other_names() -> None:
    facts = [
        fact("part", "cmd", symbol_kind="folder", count=21, of=1),
        fact("part_alike", "run", 2, about="cmd", count=20),
        fact("part_name", "run", 2, about="cmd"),
        fact("part_name", "Stats", 3, about="cmd"),
    ]
    assert texts(overview_claims(facts), "part") == ["`cmd` (21 files) defines `run` in 20 of them and `Stats`"]


def test_names_of_a_repository_mean_nothing_in_a_picture() -> None:
    claims = overview_claims([fact("edge", 'x"] --> evil["', about="a[b:1]", count=1)])
    drawn = part_diagram(claims)
    assert drawn is not None
    assert '["x  --> evil"]' in drawn
    assert '["a b 1"]' in drawn


def test_each_way_in_says_what_it_is() -> None:
    claims = overview_claims(
        [
            fact("entry", "dp", symbol_kind="command", signature="depot:main", of=4),
            fact("entry", "main", 2, symbol_kind="main", of=4),
            fact("entry", "depot/__init__.py", 3, symbol_kind="exports", text="Box Shelf", count=9, of=4),
            fact("entry", "tool", 4, symbol_kind="script", of=4),
            fact("entry", "application", 5, symbol_kind="server", of=4),
        ]
    )
    assert texts(claims, "entry") == [
        "`README.md` declares the command `dp`, which runs `depot:main`",
        "`README.md` has the function `main`, where a program starts",
        "`README.md` exports `Box` and `Shelf` (2 of 9)",
        "`README.md` can be run as a program",
        "`README.md` sets `application`, which a web server loads",
    ]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("container", "`README.md` starts `depot serve`"),
        ("namesake", "`README.md` defines `depot serve`, which is called as the whole is"),
    ],
)
def test_an_entry_that_is_started_or_called_as_the_whole_says_so(kind: str, text: str) -> None:
    assert texts(overview_claims([fact("entry", "depot serve", symbol_kind=kind, of=1)]), "entry") == [text]


def test_folders_that_are_no_parts_are_named_by_kind() -> None:
    (claim,) = overview_claims(
        [
            fact("aside", "tests", symbol_kind="test", count=9),
            fact("aside", "vendor", 2, symbol_kind="vendored", count=1),
            fact("aside", "net/tests", 3, symbol_kind="test", count=4),
        ]
    )
    assert claim.text == "Not parts of it: tests in `tests` (9 files) and 1 more; vendored code in `vendor` (1 file)"


def test_imports_that_stand_on_one_line_stay_apart() -> None:
    result = ToolResult(
        "ok",
        {
            **{
                key: []
                for key in (
                    "purpose",
                    "languages",
                    "parts",
                    "entries",
                    "dependencies",
                    "reading",
                    "asides",
                    "further",
                    "calls",
                )
            },
            **{"path": ".", "hubs": [], "lines": 1, "parts_total": 0, "entries_total": 0},
            "edges": [
                {"source": "a", "target": "b", "files": 1, "citation": 0},
                {"source": "a", "target": "c", "files": 1, "citation": 0},
                {"source": "a", "target": "d", "files": 1, "citation": None},
            ],
        },
        (Citation("a.py", 1, 1),),
    )
    step = Step("m", "structure", "describe_folder", {}, ("structure",), "")
    assert [found.name for found in distinct(facts_of(step, result))] == ["b", "c"]


def test_the_calls_of_an_entry_are_told_with_those_that_lead_to_it() -> None:
    told = {"about": "serve", "signature": "main"}
    facts = [
        fact("entry_call", "serve", 1, text="app.go", symbol_kind="step", **told),
        fact("entry_call", "Create", 2, text="router", symbol_kind="call", **told),
        fact("entry_call", "Run", 3, text=".", symbol_kind="call", **told),
    ]
    (claim,) = overview_claims(facts)
    assert claim.role == "link"
    assert claim.text == (
        "`main` calls `serve`, which calls, in the order of its lines: `Create` (`router`) and `Run`"
        " (the package at the top)"
    )
    assert [citation.start_line for citation in claim.citations] == [1, 2, 3]
    assert overview_claims(facts[:1]) == []


def test_a_folder_tells_a_sentence_of_one_definition_with_others_beside_it_or_its_largest_files() -> None:
    claims = overview_claims(
        [
            fact("part", "api", symbol_kind="folder", count=9, of=2, text="Handles users.", about="UserAPI"),
            fact("part_name", "UserAPI", 2, about="api"),
            fact("part_name", "BoxAPI", 3, about="api", count=2),
            fact("part", "linux", symbol_kind="folder", count=3, of=2),
            fact("part_name", "disk.c", 4, about="linux", symbol_kind="file"),
            fact("part_name", "net.c", 5, about="linux", symbol_kind="file"),
            fact("part_further", "misc", 6),
        ]
    )
    assert texts(claims, "part") == [
        "`api` (9 files) defines `UserAPI`: «Handles users.»; also `BoxAPI`",
        "`linux` (3 files), the largest of which are `disk.c` and `net.c`",
    ]
    assert texts(claims, "aside") == ["Further parts: `misc`"]


@pytest.mark.parametrize(
    ("file", "verb"), [("a.c", "include"), ("a.rb", "use"), ("a.cs", "use"), ("a.py", "import"), ("a.go", "import")]
)
def test_why_to_read_a_file_that_many_draw_in_is_no_quote(tmp_path: Path, file: str, verb: str) -> None:
    (tmp_path / file).write_text("1\n")
    refresh(tmp_path, tmp_path.parent / "one.sqlite")
    codebase = Codebase.open(tmp_path, tmp_path.parent / "one.sqlite")
    read = CodeFact("reading", Citation(file, 1, 1), name="b", symbol_kind="imported", count=3)
    (claim,) = overview_claims([read])
    assert claim.text == f"`b`: at least 3 files of the source {verb} it, `{file}` for one"
    assert holds_its_quotes(codebase, claim)
    codebase.close()
