"""`jeeves tool`: each tool by hand, and what it refuses."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.doors.evidence_checker import citation_faults
from tests.doors.program import Outcome, Program
from tests.examples import long_but


def call(jeeves: Program, repo: Path, name: str, **arguments: Any) -> Outcome:
    return jeeves.run("tool", name, json.dumps(arguments), "--repo", repo)


@pytest.mark.parametrize(
    ("name", "arguments", "file"),
    long_but(
        [
            ("locate", {"query": "PostOffice.deliver"}, "post/office.py"),
            ("locate", {"query": "letters", "scope": "post", "max_results": 2}, "post/boxes.py"),
            ("explore_symbol_usage", {"symbol": "Box.put"}, "post/boxes.py"),
            ("map_module", {"path": "post"}, "post/office.py"),
            ("map_module", {}, "post/boxes.py"),
            ("read_code", {"path": "post/boxes.py"}, "post/boxes.py"),
            ("read_code", {"symbol": "PostOffice", "max_lines": 3}, "post/office.py"),
            ("read_code", {"path": "post/boxes.py", "start_line": 2, "end_line": 5}, "post/boxes.py"),
        ],
        0,
        2,
        3,
        5,
    ),
)
def test_a_tool_finds_what_is_there_and_cites_it(
    jeeves: Program, repo: Path, name: str, arguments: dict[str, Any], file: str
) -> None:
    result = call(jeeves, repo, name, **arguments).answers().document
    assert result["status"] in {"ok", "partial"}
    assert file in json.dumps(result["data"])
    cited = [{key: value for key, value in item.items() if key != "content_sha256"} for item in result["citations"]]
    assert cited
    assert [fault for item in cited for fault in citation_faults(item, repo)] == []


@pytest.mark.long
def test_the_entity_graph_of_the_repository_is_asked_by_hand_as_well(jeeves: Program, repo: Path) -> None:
    before = call(jeeves, repo, "explore_symbol_usage", symbol="Box.put").answers().document
    assert before["data"]["remembered"] == []
    jeeves.run("ask", "Who calls Box.put?", "--repo", repo).answers()
    after = call(jeeves, repo, "explore_symbol_usage", symbol="Box.put").answers().document
    assert next(tried["status"] for tried in after["attempts"] if tried["strategy"] == "entity_graph") == "ok"
    # What the index shows is not told twice.
    assert after["data"]["remembered"] == []
    assert after["data"]["callers"] == before["data"]["callers"]


def test_the_tools_list_themselves(jeeves: Program, repo: Path) -> None:
    tools = jeeves.run("tool", "list_tools", "--repo", repo).answers().document["data"]["tools"]
    names = {tool["name"] for tool in tools}
    assert names == {
        *("locate", "explore_symbol_usage", "map_module", "trace_entry_point", "explain_code_history"),
        *(
            "find_related",
            "find_precedents",
            "find_dependency",
            "find_choices",
            "find_tests",
            "read_code",
            "git_status",
            "list_tools",
            "describe_folder",
        ),
    }
    assert all(tool["description"] and tool["parameters"]["type"] == "object" for tool in tools)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("locate", {"query": "frobnicate_quux"}),
        ("explore_symbol_usage", {"symbol": "frobnicate_quux"}),
        ("read_code", {"path": "frobnicate_quux.py"}),
        ("read_code", {"symbol": "frobnicate_quux"}),
        ("read_code", {"path": "post/boxes.py", "start_line": 5_000}),
        ("map_module", {"path": "frobnicate_quux"}),
        ("describe_folder", {"path": "frobnicate_quux"}),
    ],
)
def test_nothing_found_has_status_3(jeeves: Program, repo: Path, name: str, arguments: dict[str, Any]) -> None:
    result = call(jeeves, repo, name, **arguments).answers(3).document
    assert result["status"] in {"not_found", "empty"}
    assert result.get("citations", []) == []


@pytest.mark.long
@pytest.mark.parametrize(
    "path",
    [
        "../../etc/passwd",
        "/etc/passwd",
        "post/../../outside.py",
        "out/outside.py",
        "~/x",
        "post\0x",
        ".git/config",
        ".env",
    ],
)
def test_a_path_that_leads_out_is_denied(jeeves: Program, repo: Path, path: str) -> None:
    (repo.parent / "outside.py").write_text("treasure = 1\n")
    (repo / "out").symlink_to(repo.parent)
    (repo / ".git").mkdir()
    (repo / ".git" / "config").write_text("treasure\n")
    (repo / ".env").write_text("treasure\n")
    for name, argument in (("read_code", "path"), ("map_module", "path"), ("locate", "scope")):
        if (name, path) == ("map_module", ".env"):
            continue  # what it is called may be told, what is in it may not
        rest = {"query": "treasure"} if name == "locate" else {}
        outcome = call(jeeves, repo, name, **{argument: path}, **rest)
        assert outcome.status in {2, 3}, f"{name}: {outcome.out}{outcome.err}"
        assert outcome.err == ""
        assert "treasure =" not in outcome.out
        assert "root:" not in outcome.out
        assert outcome.document["status"] in {"denied", "not_found", "empty"}


def test_etc_passwd_is_denied_with_status_2(jeeves: Program, repo: Path) -> None:
    outcome = call(jeeves, repo, "read_code", path="../../etc/passwd").answers(2)
    assert outcome.document["status"] == "denied"
    assert "outside the repository" in outcome.document["error"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ("[1]", "list"),
        ('"x"', "str"),
        ("null", "NoneType"),
        ("{'query': 'x'}", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"query": 1' + "0" * 5_000 + "}", "not JSON"),
        ("{}", "query"),
        ('{"query": 1}', "query"),
        ('{"query": ""}', "query"),
        ('{"query": "x", "max_results": 0}', "max_results"),
        ('{"query": "x", "max_results": 101}', "max_results"),
        ('{"query": "x", "colour": "red"}', "colour"),
        ('{"query": "' + "x" * 100_001 + '"}', "100000"),
    ],
)
def test_arguments_that_cannot_be_are_refused(jeeves: Program, repo: Path, arguments: str, word: str) -> None:
    jeeves.run("tool", "locate", arguments, "--repo", repo).complains(2, word)


def test_a_lone_surrogate_in_an_argument_is_refused(jeeves: Program, repo: Path) -> None:
    for name, key in (("locate", "query"), ("read_code", "path"), ("explore_symbol_usage", "symbol")):
        jeeves.run("tool", name, f'{{"{key}": "\\ud800"}}', "--repo", repo).complains(2, "surrogates")


def test_an_unknown_tool_is_refused_and_the_known_ones_are_told(jeeves: Program, repo: Path) -> None:
    call(jeeves, repo, "rm").complains(2, "'rm'", "locate", "read_code")


def test_the_output_is_one_line_of_json_when_piped(jeeves: Program, repo: Path) -> None:
    outcome = call(jeeves, repo, "read_code", path="post/boxes.py").answers()
    assert outcome.out.count("\n") == 1
    assert os.linesep.encode() == b"\n"
