"""Calls of what every string and collection has: a definition of that name is meant only where the receiver says so."""

from __future__ import annotations

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.resolution.builtin_methods import is_named_like, standard_names
from tests.runtime.codebase.sample_repository import write_files

RUBY = """
class CookieJar
  def empty?
    true
  end

  def clear
    drop() unless empty?
  end

  def drop
    @all.clear
    "".clear
    all().first.clear
  end
end

class Request
  def route(path, cookie_jar)
    return if path.empty?
    return if cookie_jar.empty?
    settle(path)
  end

  def settle(path)
  end
end
"""
RUST = """
pub struct Frame { parts: Vec<u8> }

impl Frame {
    pub fn clear(&mut self) { self.parts = Vec::new(); }
    pub fn finish(&mut self) { self.clear(); }
}

pub fn work(buffer: &mut Vec<u8>, frame: &mut Frame) {
    buffer.clear();
    frame.clear();
}
"""
JAVA = """
class JsonKey {
    private String key;
    String getName() { return key; }
    String both(Class<?> type) {
        return this.getName()
            + type.getName();
    }
}
"""
KOTLIN = """
class Plugin {
    fun apply(project: String) { }
}

fun make(names: MutableList<String>, plugin: Plugin) {
    names.apply { add("x") }
    plugin.apply("x")
}
"""
GO = """
package config

type Viper struct{}

func (v *Viper) Get(key string) string { return "" }

func (v *Viper) All(header Header) string {
	return v.Get("x") +
		header.Get("y")
}
"""
JAVASCRIPT = """
class Registry {
  attach(name) { return name }
}

class Page {
  show(registry, other, kind) {
    registry.attach('a')
    this.tidy()
    other.attach('b')
  }
  build(other) {
    const made = new Registry()
    return other.attach('c')
  }
  tidy() {}
}
"""
PYTHON = """
class Depot:
    def get(self, key):
        return key

    def one(self, found):
        return found.get("x")

    def two(self):
        return self.get("x")


def three(depot, settings):
    return depot.get("x") or (
        settings.get("x")
    )
"""
FILES = {
    "jar.rb": RUBY,
    "frame.rs": RUST,
    "JsonKey.java": JAVA,
    "plugin.kt": KOTLIN,
    "viper.go": GO,
    "depot.py": PYTHON,
    "page.js": JAVASCRIPT,
}


@pytest.fixture(scope="module")
def codebase(tmp_path_factory: pytest.TempPathFactory) -> Codebase:
    folder = tmp_path_factory.mktemp("standard")
    write_files(folder / "repo", FILES)
    refresh(folder / "repo", folder / "index.sqlite")
    return Codebase.open(folder / "repo", folder / "index.sqlite")


@pytest.mark.parametrize(
    ("caller", "calls"),
    [
        ("Request.route", {"path.empty?": None, "cookie_jar.empty?": None}),
        ("CookieJar.drop", {"@all.clear": None, "?.clear": None}),
        ("work", {"buffer.clear": None, "frame.clear": "Frame.clear"}),
        ("JsonKey.both", {"type.getName": None, "this.getName": "JsonKey.getName"}),
        ("make", {"names.apply": None, "plugin.apply": None}),
        ("Viper.All", {"v.Get": "Viper.Get"}),
        ("Depot.one", {"found.get": None}),
        ("Depot.two", {"self.get": "Depot.get"}),
        ("three", {"depot.get": None, "settings.get": None}),
    ],
)
def test_what_everyday_objects_can_do_is_no_call_of_the_one_definition_of_that_name(
    codebase: Codebase, caller: str, calls: dict[str, str | None]
) -> None:
    (symbol,) = codebase.symbols_named(caller)
    found = {
        f"{callee.qualifier}.{callee.name}".strip("."): callee.definition and callee.definition.qualified_name
        for callee in codebase.callees(symbol)
    }
    assert found | calls == found


@pytest.mark.parametrize(
    ("caller", "states"),
    [
        ("Page.show", {"registry.attach": "unknown", "this.tidy": "proven", "other.attach": "unknown"}),
        ("Page.build", {"other.attach": "unknown", ".Registry": "proven"}),
        ("work", {"buffer.clear": "external", "frame.clear": "proven"}),
        ("JsonKey.both", {"type.getName": "external", "this.getName": "proven"}),
        ("Viper.All", {"v.Get": "proven"}),
    ],
)
def test_a_call_of_which_only_the_name_speaks_for_a_definition_is_told_from_the_others(
    codebase: Codebase, caller: str, states: dict[str, str]
) -> None:
    (symbol,) = codebase.symbols_named(caller)
    found = {f"{callee.qualifier}.{callee.name}": callee.state for callee in codebase.callees(symbol)}
    assert found | states == found


@pytest.mark.parametrize(
    ("symbol", "callers", "unproven"),
    [
        ("CookieJar.empty?", {"CookieJar.clear"}, 2),
        ("Frame.clear", {"Frame.finish", "work"}, 0),
        ("JsonKey.getName", {"JsonKey.both"}, 0),
        ("Plugin.apply", set(), 2),
        ("Viper.Get", {"Viper.All"}, 1),
    ],
)
def test_calls_on_everyday_objects_are_no_callers(
    codebase: Codebase, symbol: str, callers: set[str], unproven: int
) -> None:
    (found,) = codebase.symbols_named(symbol)
    calls = codebase.calls_of(found)
    assert {call.enclosing for call in calls.calls} == callers
    assert calls.unproven == unproven


@pytest.mark.parametrize(
    ("receiver", "owner", "is_like"),
    [
        ("jar", "CookieJar", True),
        ("self.cookie_jar", "Sinatra.CookieJar", True),
        ("@cookies", "Cookies", True),
        ("conn", "HTTPConnection", True),
        ("con", "HTTPConnection", False),
        ("file", "FileCache", False),
        ("json_key", "Key", True),
        ("this.store()", "Store", True),
        ("ab", "Tab", False),
        ("path", "CookieJar", False),
        ("", "CookieJar", False),
        ("jar", "", False),
    ],
)
def test_an_object_is_of_the_type_that_it_is_called_after(receiver: str, owner: str, is_like: bool) -> None:
    assert is_named_like(receiver, owner) is is_like


def test_languages_have_names_of_their_own() -> None:
    assert "empty?" in standard_names("ruby")
    assert {"getName", "let"} <= standard_names("kotlin")
    assert "append" in standard_names("python")
    assert standard_names("shell") == frozenset()
