"""Defines the type facts of one file: its scopes and what they bind, declared types, and calls.

The records are the same for every language; a language's walker in `runtime/codebase/language_facts` extracts them from
a syntax tree when a file is indexed. `runtime/codebase/resolution` follows them. Positions in `scopes`, `expressions`
and `imports` refer to the lists of `FileFacts`; `NOTHING` stands for what is not known. Lines are counted from 1,
columns from 0, in bytes of UTF-8.

An expression is a tuple that begins with its form:

    ("name", NAME, LINE)        ("attribute", OBJECT, NAME)   ("call", FUNCTION, LINE, ARGUMENTS)
    ("new", TYPE)               ("typed", TYPE)               ("apply", TYPE, ARGUMENT …)
    ("union", ONE, OTHER …)     ("literal", NAME)             ("element", EXPRESSION)
    ("index", EXPRESSION)       ("await", EXPRESSION)         ("enter", EXPRESSION)
    ("item", VALUE, PLACE)      ("self", LINE)                ("super", LINE)
    ("module", IMPORT)          ("scope", SCOPE)
"""

from __future__ import annotations

import zlib
from typing import Literal

import msgspec

NOTHING = -1
TO_THE_END = 1 << 30

Expression = tuple[str | int, ...]

# An extension is a block that adds members to a class that stands elsewhere.
ScopeKind = Literal["module", "class", "function", "block", "extension"]

# `scope`: a function or class, `import`: an import, `value`: an expression, `type`: a declared type. `self` and
# `class`: the first parameter of a method; `unknown`: anything else; these have no `ref`.
BindingKind = Literal["scope", "import", "value", "type", "self", "class", "unknown"]


class Binding(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Records that a name is bound at a line; `ref` is a position in the list that `kind` names.

    It holds for the lines after `after` up to `until`, unless a later binding follows.
    """

    kind: BindingKind
    line: int
    ref: int
    after: int
    until: int


class Scope(msgspec.Struct, array_like=True, gc=False):
    """Describes a scope. `fields` are members assigned on the object itself; of a module, the names that it exports.

    `bases`: expressions of a class's bases; for an extension, the type that it extends. `returns`: the declared type of
    a function's result, or the type that a class is another name of; `results`: the expressions that a function
    returns, each with the scope in which it stands. `marks`: words such as static, property, async, interface, stub.
    `arity`: the least and the greatest number of arguments; `loops`: first and last lines of the loops in a scope.
    `parameters`: declared types, in languages whose definitions are told apart by them.
    """

    kind: ScopeKind
    name: str
    parent: int
    line: int
    end_line: int
    bindings: dict[str, list[Binding]] = {}
    fields: dict[str, list[Binding]] = {}
    bases: list[int] = []
    returns: int = NOTHING
    results: list[tuple[int, int]] = []
    marks: list[str] = []
    arity: tuple[int, int] = (0, TO_THE_END)
    loops: list[tuple[int, int]] = []
    parameters: list[int] = []


class Call(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Records a call: the place of the called name, the scope around it, and the expression that is called.

    `arguments` counts them; `given` are their expressions, in languages whose definitions are told apart by them.
    """

    name: str
    line: int
    column: int
    scope: int
    callee: int
    arguments: int = NOTHING
    given: list[int] = []


class FactImport(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Records an imported name as `parsing.syntax.Import` does; `name` is empty for the module itself, `*` for all."""

    module: str
    name: str
    line: int


class FileFacts(msgspec.Struct, array_like=True, gc=False):
    """Holds the type facts of one file; scope 0 is the module. `stars` are imports of every name of a module."""

    package: str = ""
    scopes: list[Scope] = []
    expressions: list[Expression] = []
    imports: list[FactImport] = []
    stars: list[int] = []
    calls: list[Call] = []
    is_cut: bool = False

    def places(self, name: str, line: int) -> list[int]:
        """Return the scopes of a name that begin at a line."""
        return [place for place, scope in enumerate(self.scopes) if scope.line == line and scope.name == name]


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(FileFacts)


def encoded(facts: FileFacts) -> bytes:
    """Return the facts as bytes."""
    return zlib.compress(_ENCODER.encode(facts), 1)


def decoded(data: bytes) -> FileFacts:
    """Return the facts that `encoded` wrote."""
    return _DECODER.decode(zlib.decompress(data))
