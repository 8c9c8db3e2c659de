"""Bodies that do nothing are no work in languages that are not parsed here either, however those write functions."""

from __future__ import annotations

import time

import pytest

from runtime.codebase.language_parts.line_bodies import DART, MAX_ANNOTATIONS, MAX_BODY_LINES
from runtime.codebase.parsing.bodies.empty_bodies import is_empty

EMPTY = {
    "a.dart": [
        "void load(String url) {}\n",
        "void load(String url) {\n}\n",
        "Future<void> load(String url) async {\n  // later\n}\n",
        "Future<int> load() async {\n  return 0;\n}\n",
        "int load(String url) => 0;\n",
        "List<int> load() => const [];\n",
        "String load(String url) => throw UnimplementedError();\n",
        "@override\nWidget build(BuildContext context) {\n  throw UnimplementedError('soon');\n}\n",
        "void load({required String url, int tries = 3}) {\n  print('loading');\n}\n",
        "void load(String url) {\n  var x = 1;\n}\n",
        "  void load(\n    String url,\n  ) {\n  }\n",
        "class A {\n  void load() {}\n\n  int size() => 0;\n}\n",
    ],
    "a.hs": [
        "load url = undefined\n",
        "load :: Int -> Int\nload = undefined\n",
        "load :: String -> IO ()\nload url = return ()\n",
        "load _ = pure ()\n",
        "load url = do\n  pure ()\n",
        "load url =\n  Nothing\n",
        "load url = []\n",
        'load url = error "not implemented"\n',
        "  undefined\n",
    ],
    "a.ex": [
        "def load(url) do\nend\n",
        "def load(_url), do: :ok\n",
        "defp load(url), do: nil\n",
        "defmacro load(url) do\n  nil\nend\n",
        "def load(url) do\n  {:error, :not_implemented}\nend\n",
        'def load(_url), do: raise "TODO"\n',
        "defmodule A do\n  @impl true\n  def load(url) do\n    :ok\n  end\nend\n",
        '@impl true\ndef load(url) do\n  IO.puts("loading")\nend\n',
    ],
    "a.erl": [
        "-spec load(url()) -> ok.\nload(Url) -> ok.\n",
        "load(_Url, Tries) ->\n    undefined.\n",
        "load(_) -> erlang:error(not_implemented).\n",
    ],
    "a.groovy": ["void load(String a) {}\n", "String load(a) {\n  return null\n}\n"],
    "a.jl": ["load(a) = nothing\n", 'function load(a)\n  error("not implemented")\nend\n'],
    "a.zig": ["fn load(a: i32) !void {\n    return error.NotImplemented;\n}\n"],
    "a.pl": ["sub load {\n  die 'not implemented';\n}\n"],
    "a.r": ["load <- function(a) {\n  invisible(NULL)\n}\n", "load <- function(a) {\n  stop('not implemented')\n}\n"],
    "a.ps1": ["function Load {\n  param($url)\n}\n", "function Load {\n  return $null\n}\n"],
}
FULL = {
    "a.dart": [
        "int load(String url) => fetch(url);\n",
        "void load(String url) {\n  fetch(url);\n}\n",
        "void usage() {\n  print('usage: load URL');\n}\n",
        "final timeout = 30;\n",
        "if (url == null) {\n  return null;\n}\n",
        "} else if (tries > 3) {\n  return null;\n}\n",
        "for (final url in urls) {\n}\n",
        "onTap: () => setState(() {}),\n",
        "class Gone extends LoadError {}\n",
        "Point(this.x, this.y) {}\n",
        # Nothing is known of the body of a head that ends the text.
        "void load(String url, int tries) {\n",
        "abstract class Loader {\n  void load(String url);\n}\n",
    ],
    "a.hs": [
        "load url = fetch url\n",
        "load url = do\n  fetch url\n",
        "load url = do\n",
        "load [] = pure ()\n",
        "load url | null url = pure ()\n",
        "timeout = 0\n",
        "names = []\n",
        "load :: String -> IO ()\n",
        "  Nothing -> pure ()\n",
        'load url = error ("no page at " ++ url)\n',
    ],
    "a.ex": [
        "def load(url), do: fetch(url)\n",
        "def load(url) do\n  {:ok, fetch(url)}\nend\n",
        "@timeout 30\n",
        "use GenServer\n",
    ],
    "a.erl": ["load(Url) -> fetch(Url).\n", "load([]) -> ok;\n", "load(Url) when Url > 1 -> ok;\n"],
    "a.groovy": ["void load(String a) {\n  fetch(a)\n}\n", "if (a) {\n  return null\n}\n"],
    "a.jl": ["load(a) = fetch(a)\n"],
    "a.zig": ["return error.NotFound;\n"],
    "a.pl": ["die 'no page';\n"],
    "a.ps1": ["function Load {\n  param($url)\n  Get-Page $url\n}\n"],
}


def cases(by_path: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(path, text) for path, texts in by_path.items() for text in texts]


@pytest.mark.parametrize(("path", "text"), cases(EMPTY))
def test_a_body_that_does_nothing_is_empty(path: str, text: str) -> None:
    assert is_empty(text, path, 1, text.count("\n"))


@pytest.mark.parametrize(("path", "text"), cases(FULL))
def test_what_does_something_or_decides_something_is_not(path: str, text: str) -> None:
    assert not is_empty(text, path, 1, text.count("\n"))


HEADS = [
    ("a.dart", "  void load(String url) {\n    BODY\n  }\n\n  int size() => fetch();\n", "return;", "fetch(url);"),
    ("a.hs", "load url = do\n  BODY\n\nsize = fetch\n", "pure ()", "fetch url"),
    ("a.ex", "  def load(url) do\n    BODY\n  end\n\n  def size, do: fetch()\n", ":ok", "fetch(url)"),
    ("a.erl", "load(Url) ->\n    BODY.\n\nsize() -> fetch().\n", "ok", "fetch(Url)"),
    ("a.groovy", "void load(String a) {\n    BODY\n}\n\nint size() { fetch() }\n", "return null", "fetch(a)"),
]


@pytest.mark.parametrize(("path", "text", "nothing", "work"), HEADS, ids=[path for path, *_ in HEADS])
def test_a_head_is_judged_by_its_body(path: str, text: str, nothing: str, work: str) -> None:
    assert is_empty(text.replace("BODY", nothing), path, 1, 1)
    assert not is_empty(text.replace("BODY", work), path, 1, 1)
    assert not is_empty(text.replace("BODY", nothing), path, 1, text.count("\n"))


def test_the_beginning_of_a_function_is_judged_by_what_comes_behind_it() -> None:
    text = "int load(String url) {\n  var tries = 0;\n\n  return fetch(url, tries);\n}\n"
    assert not is_empty(text, "a.dart", 1, 2)
    assert is_empty(text.replace("fetch(url, tries)", "0"), "a.dart", 1, 2)


@pytest.mark.parametrize(("more", "is_nothing"), [(-1, True), (0, True), (1, False)])
def test_so_many_lines_of_a_body_are_looked_at_and_a_longer_one_is_work(more: int, is_nothing: bool) -> None:
    blank = "\n" * (MAX_BODY_LINES + more - 1)
    assert is_empty(f"void load(String url) {{\n{blank}  return;\n}}\n", "a.dart", 1, 1) is is_nothing


@pytest.mark.parametrize("path", EMPTY)
@pytest.mark.parametrize("part", ["load(", "a b<", "@a(", "(a)", "load _ ", "def load(a, ", "@a(b)"])
def test_no_text_takes_long_to_be_judged(path: str, part: str) -> None:
    began_s = time.process_time()
    is_empty(f"{part * 20_000}\n{f'{part}{chr(10)}' * 5_000}", path, 1, 5_001)
    assert time.process_time() - began_s < 2


@pytest.mark.parametrize("more", [-1, 0])
def test_a_head_is_known_behind_as_many_annotations_as_are_looked_for(more: int) -> None:
    above = "@Used('often')\n" * (MAX_ANNOTATIONS + more)
    assert DART.in_common_words(f"{above}void load() {{\n}}\n").startswith("function load")
