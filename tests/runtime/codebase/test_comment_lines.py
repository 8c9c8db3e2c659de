"""Comments of languages that are not parsed here do nothing, as those of others."""

from __future__ import annotations

import pytest

from runtime.codebase.parsing.bodies.empty_bodies import code_lines, is_empty

COMMENTS = [
    ("a.yml", "# retry: 3\n"),
    ("Dockerfile", "# RUN retry\n"),
    ("Makefile", "# retry: load\n"),
    ("a.toml", "# retry = 3\n"),
    ("a.ini", "; retry = 3\n# retry = 3\n"),
    ("a.sql", "-- SELECT retry();\n/* SELECT\n   retry(); */\n"),
    ("a.css", "/* a { color: red } */\n"),
    ("a.html", "<!-- <p>retry</p>\n<p>again</p> -->\n"),
    ("a.vue", "<!-- <p>retry</p> -->\n// retry()\n"),
    ("a.swift", "// retry()\n/* retry()\n*/\n"),
    ("a.scala", "// retry()\n/** Retries. */\n"),
    ("a.dart", "/// Retries.\n"),
    ("a.lua", "-- retry()\n--[[ retry()\nretry() ]]\n"),
    ("a.ex", "# retry()\n"),
    ("a.hs", "-- retry\n{- retry -}\n"),
    ("a.erl", "% retry()\n"),
    ("a.tf", "# retry = 3\n// retry = 3\n"),
    ("a.proto", "// int32 retry = 1;\n"),
    ("a.swift", "func load(url: URL) {\n    // fetch(url)\n}\n"),
    ("a.lua", "function load(url)\n  -- fetch(url)\nend\n"),
]
CODE = [
    ("a.yml", "retry: 3  # times\n"),
    ("a.css", "#retry { color: red }\n"),
    ("a.md", "# Retry\n"),
    ("a.sql", "SELECT '-- retry';\n"),
    ("a.sql", "/* all */ SELECT retry();\n"),
    ("a.html", "<!-- a --> <p>retry</p>\n"),
    ("Dockerfile", "# syntax=docker/dockerfile:1\n"),
    ("Package.swift", "// swift-tools-version:5.9\n"),
    ("a.swift", "/* retry\n*/ retry()\n"),
    ("a.txt", "# retry\n"),
    ("a.unknown", "# retry\n"),
    ("a.lua", "--[[ retry ]] retry()\n"),
]


@pytest.mark.parametrize(("path", "text"), COMMENTS)
def test_lines_that_are_all_comment_implement_nothing(path: str, text: str) -> None:
    assert is_empty(text, path, 1, text.count("\n"))


@pytest.mark.parametrize(("path", "text"), CODE)
def test_what_only_looks_like_a_comment_or_stands_beside_one_is_kept(path: str, text: str) -> None:
    assert not is_empty(text, path, 1, text.count("\n"))


def test_a_line_of_code_keeps_what_stands_beside_it() -> None:
    assert code_lines("a: 1  # one\n# two\n", "a.yml") == ["a: 1  # one", "", ""]
