"""A call is proven by a chain from its receiver to a definition; what has no chain is counted, never told."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.resolution.proven_calls import proven_target
from runtime.codebase.tools.symbol_usage import explore_symbol_usage
from runtime.codebase.tools.trace_entry import trace_entry_point
from tests.runtime.codebase.sample_repository import write_files

Opened = Callable[[Path], Codebase]


def meanings(codebase: Codebase, file: str) -> dict[str, str]:
    """Return what each marked call of a file means: the comment at its line names it, `-` for none."""
    found = {}
    source = codebase.source(file)
    for call in codebase.proofs.calls(file):
        told = proven_target(codebase, file, call.line, call.column)
        text = source.lines[call.line - 1]
        mark = text.rpartition("=> ")[2].strip() if "=> " in text else ""
        if mark and mark.startswith(call.name + " "):
            found[f"{call.line} {mark}"] = f"{call.name} " + (told[-1].qualified_name if told else "-")
    return found


PYTHON = {
    "shop/__init__.py": "from shop.depot import Depot\n",
    "shop/base.py": """
class Base:
    def close(self):
        pass

    def start(self):
        self.close()  # => close Base.close
        return self
""",
    "shop/depot.py": """
from __future__ import annotations
import socket
from contextlib import contextmanager
from typing import Iterator
from shop.base import Base


class Engine:
    def start(self) -> "Depot":
        return Depot()


class Depot(Base):
    spare: Engine | None = None

    def __init__(self, engine: Engine, link: socket.socket):
        self.engine = engine
        self.link = link
        self.own = Engine()
        self.open_late = None

    @property
    def main(self) -> Engine:
        return self.engine

    @classmethod
    def make(cls) -> Depot:
        return cls(Engine(), None)

    def run(self, unknown):
        self.engine.start()  # => start Engine.start
        self.own.start()  # => start Engine.start
        self.main.start()  # => start Engine.start
        self.link.close()  # => close -
        self.close()  # => close Base.close
        super().start()  # => start Base.start
        unknown.start()  # => start -
        self.spare.start()  # => start Engine.start
        self.engine.start().close()  # => close Base.close
        for one in self.all():
            one.close()  # => close Base.close
        engine = unknown
        engine = Engine()
        engine.start()  # => start Engine.start
        if unknown:
            engine = Depot.make()
        engine.start()  # => start -

    def all(self) -> list[Depot]:
        return [self]

    @contextmanager
    def held(self) -> Iterator[Engine]:
        yield self.own


def use(close):
    with Depot.make().held() as engine:
        engine.start()  # => start Engine.start
    close()  # => close -
    "close()"  # => close -
    start = Engine().start
    start()  # => start Engine.start
    [one.start() for one in [Engine()]]  # => start Engine.start
""",
    "other.py": """
import shop
import shop.depot as depot
from shop import Depot as Store
import requests


def go(item: "depot.Engine", more: dict[str, Store]):
    item.start()  # => start Engine.start
    shop.Depot.make().close()  # => close Base.close
    more["x"].close()  # => close Base.close
    requests.get("x").close()  # => close -
    print(open("x").close())  # => close -
""",
}

TYPESCRIPT = {
    "src/engine.ts": """
export interface Startable { start(): Engine }
export class Engine implements Startable {
  static make(): Engine { return new Engine() }
  start(): Engine { return this }
  async wait(): Promise<Engine> { return this }
}
export default function build(): Engine { return new Engine() }
export const tools = { close() {}, open: () => 1 }
""",
    "src/index.ts": "export { Engine as Motor, tools } from './engine'\nexport * from './engine'\n",
    "src/use.ts": """
import build, { Startable } from './engine'
import * as all from './index'
import { Motor, tools } from './index.js'
class Car {
  private spare?: Motor
  made = new Motor()
  list: Motor[] = []
  constructor(private readonly motor: Motor, other) { this.given = Motor.make() }
  async drive(other, near: Startable, answer: Response) {
    this.motor.start() // => start Engine.start
    this.spare?.start() // => start Engine.start
    this.made.start().start() // => start Engine.start
    this.given.start() // => start Engine.start
    other.start() // => start -
    near.start() // => start Startable.start
    answer.close() // => close -
    tools.close() // => close tools.close
    all.Motor.make() // => make Engine.make
    const made = build()
    made.start() // => start Engine.start
    ;(await made.wait()).start() // => start Engine.start
    for (const one of this.list) one.start() // => start Engine.start
    { const made = other; made.start() } // => start -
    console.log("start()") // => log -
  }
}
class Response2 {}
""",
}

GO = {
    "go.mod": "module example.org/shop\n",
    "engine/engine.go": """package engine

import "os"

type Starter interface{ Start() error }

type Engine struct {
	file *os.File
	next *Engine
}

func New() (*Engine, error) { return &Engine{}, nil }

func (e *Engine) Start() error {
	e.file.Close() // => Close -
	e.next.Close() // => Close Engine.Close
	return nil
}

func (e *Engine) Close() {}
""",
    "main.go": """package main

import motor "example.org/shop/engine"

type Car struct {
	*motor.Engine
	parts map[string][]*motor.Engine
}

func (c *Car) Drive(s motor.Starter, x any) {
	c.Close() // => Close Engine.Close
	s.Start() // => Start Starter.Start
	made, err := motor.New()
	made.Start() // => Start Engine.Start
	err.Error() // => Error -
	for _, part := range c.parts["x"] {
		part.Start() // => Start Engine.Start
	}
	switch t := x.(type) {
	case *motor.Engine:
		t.Start() // => Start Engine.Start
	}
	helper() // => helper helper
	if made, ok := x.(*Car); ok {
		made.Drive(nil, nil) // => Drive Car.Drive
	}
}
""",
    "helper.go": "package main\n\nfunc helper() {}\n",
}

JAVA = {
    "shop/Engine.java": """package shop;
public class Engine {
    private int size;
    public int size() { return size; }
    public Engine start() { return this; }
    public void add(int a) {}
    public void add(int a, int b) {}
    static Engine make() { return new Engine(); }
}
""",
    "shop/Car.java": """package shop;
import java.util.*;
public class Car extends Engine {
    private final List<Engine> list = new ArrayList<>();
    private final Engine engine;
    Car(Engine engine) { this.engine = engine; }
    void drive(Object other, Map<String, Engine> parts) {
        engine.start().start(); // => start Engine.start
        list.size(); // => size -
        size(); // => size Engine.size
        list.get(0).size(); // => size Engine.size
        parts.get("x").start(); // => start Engine.start
        other.hashCode(); // => hashCode -
        Engine.make().size(); // => size Engine.size
        var made = new Engine();
        made.add(1, 2); // => add Engine.add
        for (Engine one : list) { one.size(); } // => size Engine.size
        Runnable run = () -> engine.size(); // => size Engine.size
    }
    void stop(int a) {}
    private class Braking implements Runnable {
        public void run() {
            stop(1); // => stop Car.stop
            run(); // => run Car.Braking.run
        }
    }
    private class Waiting implements Watcher {
        public void watch() {
            stop(1); // => stop -
        }
    }
    private class Towing extends Thread {
        public void run() {
            stop(1); // => stop -
            Car.this.stop(2); // => stop Car.stop
        }
    }
}
""",
}

RUST = {
    "Cargo.toml": '[package]\nname = "shop"\n',
    "src/lib.rs": "pub mod engine;\npub mod car;\npub use engine::Engine as Motor;\n",
    "src/engine.rs": """
pub trait Start { fn start(&self) -> u8; fn twice(&self) {} }
pub struct Engine { pub parts: Vec<Engine> }
impl Engine {
    pub fn new() -> Self { Engine { parts: vec![] } }
    pub fn close(&mut self) -> Result<Engine, String> { Ok(Self::new()) }
}
impl Start for Engine { fn start(&self) -> u8 { 1 } }
""",
    "src/car.rs": """
use std::sync::Arc;
use crate::engine::{self, Start};
use super::Motor;
pub struct Car { engine: Arc<Motor>, file: std::fs::File }
impl Car {
    pub fn drive(&self, thing: &dyn Start, other: Other) -> Option<u8> {
        self.engine.start(); // => start Engine.start
        thing.start(); // => start Start.start
        let mut made = engine::Engine::new(); // => new Engine.new
        made.close().unwrap().start(); // => start Engine.start
        other.close(); // => close -
        self.file.close(); // => close -
        for part in &made.parts { part.start(); } // => start Engine.start
        let made = other;
        made.close(); // => close -
        if let Some(one) = made.parts.first() { one.close(); } // => close -
        None
    }
}
fn generic<T: Start>(thing: T) { thing.start(); } // => start Start.start
""",
}

C = {
    "src/depot.h": "static inline int half(int x) { return x / 2; }\nint open_depot(int x);\n"
    "#define TWICE(x) ((x) * 2)\n",
    "src/depot.c": """
#include <stdio.h>
#include "depot.h"
static int step(int x) { return x; }
int open_depot(int x) {
    printf("step(1)"); /* => printf - */
    return step(half(x)); /* => step step */
}
""",
    "src/main.c": """
#include "depot.h"
struct ops { int (*close)(int); };
static int step(int x) { return x + 1; }
int close(int x) { return x; }
int main(int argc, struct ops *ops) {
    int (*run)(int) = step;
    run(1); // => run -
    ops->close(1); // => close -
    step(2); // => step step
    open_depot(3); // => open_depot open_depot
    half(3); // => half half
    return TWICE(4); // => TWICE TWICE
}
""",
}


@pytest.mark.parametrize(
    ("files", "asked"),
    [
        (PYTHON, ("shop/base.py", "shop/depot.py", "other.py")),
        (TYPESCRIPT, ("src/use.ts",)),
        (GO, ("engine/engine.go", "main.go")),
        (JAVA, ("shop/Car.java",)),
        (RUST, ("src/car.rs",)),
        (C, ("src/depot.c", "src/main.c")),
    ],
    ids=("python", "typescript", "go", "java", "rust", "c"),
)
def test_a_call_means_what_its_line_says(
    root: Path, opened: Opened, files: dict[str, str], asked: tuple[str, ...]
) -> None:
    write_files(root, files)
    codebase = opened(root)
    found = {key: told for file in asked for key, told in meanings(codebase, file).items()}
    marks = sum(text.count("=> ") for file, text in files.items() if file in asked)
    assert {key: told for key, told in found.items() if key.partition(" ")[2].removesuffix(" */") != told} == {}
    # A mark in the line of a string is no call.
    assert len(found) >= marks - 1


@pytest.mark.parametrize(("edition", "means"), [("", "condense"), ('edition = "2021"\n', "-")])
def test_a_path_begins_at_the_root_of_the_package_in_rust_2015_alone(
    root: Path, opened: Opened, edition: str, means: str
) -> None:
    files = {
        "Cargo.toml": f'[package]\nname = "shop"\n{edition}',
        "src/main.rs": "mod util;\nmod cmd;\nfn main() {}\n",
        "src/util.rs": "pub fn condense() {}\n",
        "src/cmd/mod.rs": "pub mod table;\n",
        "src/cmd/table.rs": f"use util;\nfn run() {{ util::condense(); }} // => condense {means}\n",
    }
    write_files(root, files)
    assert list(meanings(opened(root), "src/cmd/table.rs").values()) == [f"condense {means}"]


def test_files_that_import_a_whole_module_are_told_by_whether_they_name_it(root: Path, opened: Opened) -> None:
    files = {
        "Cargo.toml": '[package]\nname = "shop"\nedition = "2021"\n',
        "src/lib.rs": "pub mod util;\npub mod one;\npub mod two;\npub mod three;\n",
        "src/util.rs": "pub fn condense() {}\npub fn widen() {}\n",
        "src/one.rs": "use crate::util;\npub fn run() -> fn() { util::condense }\n",
        "src/two.rs": "use crate::util;\npub fn run() -> fn() { util::widen }\n",
        "src/three.rs": "use crate::util::condense;\n",
    }
    write_files(root, files)
    found = explore_symbol_usage(opened(root), "condense").data["importers"]
    assert {row["file"]: row["names_it"] for row in found} == {
        "src/lib.rs": False,
        "src/one.rs": True,
        "src/two.rs": False,
        "src/three.rs": True,
    }


def test_tests_that_give_a_setting_by_its_name_test_it(root: Path, opened: Opened) -> None:
    files = {
        "shop/till.py": """
class Till:
    def __init__(self, **kept):
        self.forbid_coins = kept["forbid_coins"]
        self.open = kept["open"]
""",
        "tests/test_till.py": """from shop.till import Till


def test_no_coins():
    Till(forbid_coins=True, open=1)


def test_others():
    Till(forbid_coins_of_others=True)
""",
    }
    write_files(root, files)
    codebase = opened(root)
    (found,) = explore_symbol_usage(codebase, "Till.forbid_coins").data["tests"]
    assert (found["file"], found["line"], found["enclosing"]) == ("tests/test_till.py", 5, "test_no_coins")
    # A name that is a word like any other is given to many things.
    assert explore_symbol_usage(codebase, "Till.open").data["tests"] == []


def test_the_types_of_arguments_choose_among_overloads(root: Path, opened: Opened) -> None:
    text = """class Box {
    void put(int a) {}
    void put(String a) {}
    void put(Box a) {}
    void use(Other any, Small small) {
        put(1);
        put("x" + 1);
        put(small);
        put(any.thing());
    }
}
class Small extends Box {}
"""
    write_files(root, {"Box.java": text})
    codebase = opened(root)
    told = {line: proven_target(codebase, "Box.java", line, 8) or () for line in (6, 7, 8, 9)}
    assert {line: sorted(one.line for one in targets) for line, targets in told.items()} == {
        6: [2],
        7: [3],
        8: [4],
        9: [2, 3, 4],
    }


def test_a_proof_names_the_lines_that_lead_to_the_definition(root: Path, opened: Opened) -> None:
    write_files(root, PYTHON)
    codebase = opened(root)
    line = next(n for n, text in enumerate(codebase.source("other.py").lines, 1) if "item.start()" in text)
    (target,) = proven_target(codebase, "other.py", line, 9) or ()
    assert (target.file, target.qualified_name) == ("shop/depot.py", "Engine.start")
    kinds = [step.kind for step in target.proof]
    assert kinds[0] == "annotation"
    assert "import" in kinds
    assert all(0 < step.line <= len(codebase.source(step.file).lines) for step in target.proof)


def test_what_no_chain_leads_to_is_counted_and_no_use(root: Path, opened: Opened) -> None:
    write_files(
        root,
        {
            "a.py": "class Depot:\n    def close(self):\n        'close() the depot'\n\n\n"
            "def go(a: Depot, b):\n    a.close()  # close()\n    b.close()\n    open('x').close()\n",
            "test_a.py": "def test_it(depot):\n    depot.close()\n    assert 'a.close()'\n",
        },
    )
    codebase = opened(root)
    (symbol,) = codebase.symbols_named("Depot.close")
    told = codebase.calls_of(symbol)
    assert [(call.file, call.line, call.enclosing) for call in told.calls] == [("a.py", 7, "go")]
    assert (told.unproven, told.unproven_in_tests) == (2, 1)
    data = explore_symbol_usage(codebase, "Depot.close").data
    assert [row["line"] for row in data["callers"]] == [7]
    assert data["callers"][0]["proof"][0] == {"kind": "annotation", "file": "a.py", "line": 6}
    assert (data["references"], data["tests"], data["unproven"]) == ([], [], 2)


def test_calls_of_another_function_of_the_name_are_told_apart_with_its_file(root: Path, opened: Opened) -> None:
    write_files(
        root,
        {
            "a.c": "#define wake(x) ((x) + 1)\nint one(void) {\n  return wake(1);\n}\n",
            "b.c": "int wake(int x) {\n  return x;\n}\nint two(void) {\n  return wake(2);\n}\n",
        },
    )
    result = explore_symbol_usage(opened(root), "wake")
    of = {row["file"] for row in result.data["definitions"]}
    assert of == {"a.c", "b.c"}
    assert [(row["file"], row["line"]) for row in result.data["callers"]] == [("a.c", 3)]
    assert [(row["of"], row["file"], row["line"], row["enclosing"]) for row in result.data["others"]] == [
        ("b.c", "b.c", 5, "two")
    ]


def test_comments_strings_expressions_and_the_definition_itself_are_no_uses(root: Path, opened: Opened) -> None:
    write_files(
        root,
        {
            "a.ts": "export function openDepot() {\n  const openDepotName = 'openDepot'\n  return openDepot\n}\n",
            "b.ts": "import { openDepot } from './a'\n// openDepot opens\nconst a = 'openDepot'\n"
            "const b = /openDepot/\nconst c = `${openDepot} openDepot`\n/* openDepot\nopenDepot */\nkeep(openDepot)\n",
        },
    )
    codebase = opened(root)
    (symbol,) = codebase.symbols_named("openDepot")
    assert [(use.file, use.line) for use in codebase.references(symbol)] == [("b.ts", 1), ("b.ts", 5), ("b.ts", 8)]


def test_a_trace_follows_proven_calls_alone(root: Path, opened: Opened) -> None:
    write_files(
        root,
        {
            "a.py": "class Depot:\n    def close(self):\n        deep()\n\n\ndef deep():\n    pass\n\n\n"
            "def main(thing):\n    thing.close()\n    deep()\n    print()\n",
        },
    )
    data = trace_entry_point(opened(root), "main").data
    assert [step["symbol"] for step in data["steps"]] == ["main", "deep"]
    assert (data["outside"], data["unproven"]) == (["print"], ["close"])


def test_no_place_but_the_name_of_a_call_has_a_target(root: Path, opened: Opened) -> None:
    write_files(root, PYTHON)
    codebase = opened(root)
    assert proven_target(codebase, "other.py", 8, 0) is None
    assert proven_target(codebase, "other.py", 999, 0) is None
    assert proven_target(codebase, "nothing.py", 1, 0) is None


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("deep.py", "f(" * 10_000 + ")" * 10_000 + "\n"),
        ("deep.py", "".join(" " * n + f"def f{n}():\n" for n in range(3_000)) + " " * 3_000 + "f1()\n"),
        ("chain.py", "class A:\n    def b(self):\n        return self\nA()" + ".b()" * 5_000 + "\n"),
        ("deep.ts", "(() => { " * 10_000 + "f()" + " })()" * 10_000),
        ("deep.go", "package a\nfunc f() { " + "{ " * 10_000 + "f()" + " }" * 10_000 + " }\n"),
        ("Deep.java", "class A { void f() { " + "{ " * 10_000 + "f();" + " }" * 10_000 + " } }\n"),
        ("deep.rs", "fn f() { " + "{ " * 10_000 + "f();" + " }" * 10_000 + " }\n"),
        ("deep.c", "int f() { " + "{ " * 10_000 + "f();" + " }" * 10_000 + " }\n"),
    ],
)
def test_deep_nesting_ends_and_leaves_out_what_lies_too_deep(root: Path, opened: Opened, file: str, text: str) -> None:
    write_files(root, {file: text, "plain.py": "def g(): pass\ng()\n"})
    codebase = opened(root)
    for call in codebase.proofs.calls(file):
        codebase.proofs.meaning(file, call)
    assert proven_target(codebase, "plain.py", 2, 0) is not None


def test_cycles_of_imports_bases_and_assignments_end_without_a_target(root: Path, opened: Opened) -> None:
    many = "\n".join(f"x{n} = x{(n + 1) % 300} or x{(n + 7) % 300}" for n in range(300))
    write_files(
        root,
        {
            "a.py": "from b import thing\nfrom b import *\nimport c\nthing()\nc.K().go()\n",
            "b.py": "from a import thing\nfrom a import *\n",
            "c.py": "class K(L):\n    def f(self):\n        self.go()\n\n\nclass L(K):\n    pass\n",
            "d.py": f"def f():\n    {many.replace(chr(10), chr(10) + '    ')}\n    x0.go()\n",
            "e.py": "def f():\n    return g()\n\n\ndef g():\n    return f()\n\n\nf().go()\n",
        },
    )
    codebase = opened(root)
    for file in ("a.py", "c.py", "d.py", "e.py"):
        for call in codebase.proofs.calls(file):
            if call.name in ("go", "thing"):
                assert codebase.proofs.meaning(file, call).targets == ()


def test_the_answer_does_not_depend_on_what_was_asked_before(root: Path, opened: Opened) -> None:
    write_files(root, PYTHON)
    one, other = opened(root), opened(root)
    places = [(file, call) for file in sorted(PYTHON) for call in one.proofs.calls(file)]
    forward = [one.proofs.meaning(file, call) for file, call in places]
    backward = [other.proofs.meaning(file, call) for file, call in reversed(places)]
    assert forward == backward[::-1]


def test_facts_that_cannot_be_read_are_reported_and_count_as_none(
    opened: Opened, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_files(tmp_path / "repo", {"a.py": "def f():\n    f()\n", "b.py": "def g():\n    g()\n"})
    codebase = opened(tmp_path / "repo")
    damaged = sqlite3.connect(codebase.index.path)
    damaged.execute("UPDATE facts SET data = x'00' WHERE file_id = (SELECT id FROM files WHERE path = 'a.py')")
    damaged.commit()
    damaged.close()
    assert [codebase.proofs.has_facts(file) for file in ("a.py", "b.py", "a.py")] == [False, True, False]
    assert [(record.message, vars(record)["path"]) for record in caplog.records] == [("facts.unreadable", "a.py")]


def test_callers_that_are_known_follow_an_edit_a_removal_and_a_new_caller(
    root: Path, opened: Callable[[Path], Codebase]
) -> None:
    write_files(root, {"a.py": "def f():\n    pass\n", "b.py": "from a import f\n\nf()\n"})
    codebase = opened(root)

    def callers() -> list[tuple[str, int]]:
        refresh(root, codebase.index.path)
        symbol = codebase.symbols_named("f")[0]
        rows = [[(call.file, call.line) for call in codebase.calls_of(symbol).calls] for _ in range(2)]
        assert rows[0] == rows[1]
        assert [(call.file, call.line) for call in codebase.calls_of(symbol, limit=1).calls] == rows[0][:1]
        return rows[0]

    assert callers() == [("b.py", 3)]
    (root / "b.py").write_text("from a import f\n\n\nf()\n")
    assert callers() == [("b.py", 4)]
    (root / "c.py").write_text("import a\n\na.f()\n")
    assert callers() == [("b.py", 4), ("c.py", 3)]
    (root / "b.py").unlink()
    assert callers() == [("c.py", 3)]
