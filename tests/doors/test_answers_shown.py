"""Answers at a terminal: highlighted code, links where the terminal has them, and nothing that a text could inject."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from runtime.errors import InputError
from serve.cli.output.markdown_view import MarkdownView
from serve.cli.output.places import addresses, editor_command, editor_in, has_links

LINK = re.compile(r"\x1b\]8;[^;]*;(?P<address>[^\x1b]*)\x1b\\(?P<text>.*?)\x1b\]8;;\x1b\\")
STYLE = re.compile(r"\x1b\[[\d;]*m")


def shown(text: str, links: dict[str, str] | None = None, **options: Any) -> str:
    out = io.StringIO()
    Console(file=out, width=80, force_terminal=True, color_system="256", **options).print(
        MarkdownView(text, links or {})
    )
    return out.getvalue()


def plain(text: str) -> str:
    return STYLE.sub("", LINK.sub(lambda link: link["text"], text))


@pytest.mark.parametrize("entity", ["&#8238;", "&#x202e;", "&#8203;", "&rlm;"])
@pytest.mark.parametrize("around", ["{}", "**{}**", "> {}", "| a{} | b |\n|---|---|\n| c | d |", "# {}"])
def test_an_entity_in_an_answer_cannot_bring_in_a_hidden_character(entity: str, around: str) -> None:
    told = plain(shown(around.format(f"paid {entity}out")))
    assert not re.search("[\u200b\u200f\u202e]", told)
    assert re.search(r"\\u20[0-9a-f]{2}", told)


@pytest.mark.parametrize("text", ["\x1b]8;;file:///etc\x1b\\x", "\x1b[2J", "\x07", "a\rb", "\x9b31m", "\u202e"])
@pytest.mark.parametrize("around", ["{}", "`{}`", "```\n{}\n```", "[{}](x)"])
def test_control_sequences_of_an_answer_are_shown_and_not_carried_out(text: str, around: str) -> None:
    told = plain(shown(around.format(f"a{text}b")))
    assert [char for char in told if (ord(char) < 32 and char != "\n") or char in "\x9b\u202e"] == []


def test_names_in_a_citation_are_no_markup() -> None:
    text = "see [pkg/__init__.py:1-3] and `f` [a*b*/_x_.py:3] and [~~x~~.py:1]"
    told = " ".join(plain(shown(text)).split())
    assert told == "see [pkg/__init__.py:1-3] and f [a*b*/_x_.py:3] and [~~x~~.py:1]"


def test_code_has_the_language_of_the_file_cited_before_it() -> None:
    text = "`f` [a.{}:1-2]\n\n```\ndef f(): return None\n```\n"
    assert STYLE.findall(shown(text.format("py")).partition("def")[0]) != STYLE.findall(
        shown(text.format("unknown")).partition("def")[0]
    )
    assert "def f(): return None" in plain(shown(text.format("py")))
    assert "def f(): return None" in plain(shown("```\ndef f(): return None\n```"))


def test_known_citations_are_links_and_marks_that_a_text_makes_up_are_not() -> None:
    told = shown("in [a b.py:3-4], not [/etc/passwd:1]", {"[a b.py:3-4]": "file:///r/a%20b.py#3"})
    assert [(link["address"], link["text"]) for link in LINK.finditer(told)] == [("file:///r/a%20b.py#3", "a b.py:3-4")]
    assert "[/etc/passwd:1]" in plain(told)


def test_without_colour_nothing_is_coloured() -> None:
    told = shown("**a** `b`\n\n```py\ndef f(): pass\n```", no_color=True)
    assert [
        code for code in re.findall(r"\x1b\[([\d;]*)m", told) if re.search(r"\b[349]\d\b|\b38\b|\b48\b", code)
    ] == []


def document(repo: Path, file: str) -> dict[str, Any]:
    return {"repo": str(repo), "citations": [{"file": file, "start_line": 3, "end_line": 3}]}


def test_the_address_of_a_citation_is_that_of_its_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "a b\x1b.py").write_text("x")
    (found,) = addresses(document(tmp_path, "a b\x1b.py"), {}).items()
    assert found == ("[a b\\x1b.py:3]", f"{tmp_path.as_uri()}/a%20b%1B.py#3")
    (over_ssh,) = addresses(document(tmp_path, "a b\x1b.py"), {"SSH_CONNECTION": "x"}).values()
    assert re.fullmatch(r"file://[^/]+/.*#3", over_ssh)


@pytest.mark.parametrize("file", ["../outside.py", "/etc/passwd", "missing.py", "a\0b", "\ud800.py"])
def test_what_is_no_file_of_the_repository_gets_no_address(tmp_path: Path, file: str) -> None:
    (tmp_path / "outside.py").write_text("x")
    (tmp_path / "repo").mkdir()
    assert addresses(document(tmp_path / "repo", file), {}) == {}


@pytest.mark.parametrize(
    ("env", "has"),
    [
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "vscode"}, True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, False),
        ({"TERM": "xterm-256color", "VTE_VERSION": "4999"}, False),
        ({"TERM": "xterm-256color", "VTE_VERSION": "5000"}, True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "5.2"}, False),
        ({"TERM": "dumb", "VTE_VERSION": "7000"}, False),
        ({"TERM": "screen-256color", "KITTY_WINDOW_ID": "1"}, False),
        ({"TERM": "xterm-256color", "TMUX": "/tmp/x", "KITTY_WINDOW_ID": "1"}, False),
        ({"TERM": "dumb", "FORCE_HYPERLINK": "1"}, True),
        ({"TERM": "xterm-kitty", "FORCE_HYPERLINK": "0"}, False),
        ({}, False),
    ],
)
def test_links_are_written_to_terminals_that_are_known_to_have_them(env: dict[str, str], has: bool) -> None:
    assert has_links(env) is has


@pytest.mark.parametrize(
    ("editor", "told"),
    [
        ("vim", ["vim", "+7", "/r/a b.py"]),
        ("/usr/bin/nano -w", ["/usr/bin/nano", "-w", "+7", "/r/a b.py"]),
        ("code --wait", ["code", "--wait", "--goto", "/r/a b.py:7"]),
        ("hx", ["hx", "/r/a b.py:7"]),
        ("pycharm", ["pycharm", "--line", "7", "/r/a b.py"]),
        ("'my editor' -x", ["my editor", "-x", "/r/a b.py"]),
    ],
)
def test_each_editor_is_told_the_line_in_its_own_way(editor: str, told: list[str]) -> None:
    assert editor_command(editor_in({"EDITOR": editor}), Path("/r/a b.py"), 7) == told


def test_the_visual_editor_comes_first_and_no_editor_is_an_error() -> None:
    assert editor_in({"VISUAL": "code", "EDITOR": "vi"}) == ["code"]
    assert editor_in({"VISUAL": " ", "EDITOR": "vi"}) == ["vi"]
    for env in ({}, {"EDITOR": ""}, {"EDITOR": "'vi"}):
        with pytest.raises(InputError, match="EDITOR"):
            editor_in(env)


def test_a_name_of_a_file_that_looks_like_a_form_stays_as_it_is() -> None:
    assert editor_command(["vim"], Path("/r/{line};rm {file}"), 7) == ["vim", "+7", "/r/{line};rm {file}"]
