"""Defines what an expression is known to be, with the evidence for it."""

from __future__ import annotations

from typing import Literal, NamedTuple

MAX_STEPS = 12

ValueKind = Literal[
    "module", "folder", "package", "class", "instance", "super", "function", "external", "external_instance"
]
EvidenceKind = Literal[
    "scope", "import", "constructor", "assignment", "field", "annotation", "return", "self", "base", "package"
]


class Step(NamedTuple):
    """Names one piece of evidence: its kind, and the line where it stands."""

    kind: EvidenceKind
    file: str
    line: int


class Value(NamedTuple):
    """Describes what an expression is known to be.

    `file` and `scope` place a class, the class of an instance, or a function; `name` is that of something external.
    `others` are further definitions of a function. `arguments` are those of a generic type; of a function, the object
    that it was taken from. `steps` are the evidence, first the one nearest to the expression.
    """

    kind: ValueKind
    file: str = ""
    scope: int = -1
    name: str = ""
    others: tuple[tuple[str, int], ...] = ()
    arguments: tuple[Value | None, ...] = ()
    steps: tuple[Step, ...] = ()

    def after(self, *steps: Step) -> Value:
        """Return the value with further evidence before its own."""
        fresh = [step for step in steps if step not in self.steps]
        return self._replace(steps=(*fresh, *self.steps)[:MAX_STEPS]) if fresh else self

    @property
    def identity(self) -> tuple[str, str, int, str, tuple[tuple[str, int], ...]]:
        """The parts that two values must share to be the same."""
        return (self.kind, self.file, self.scope, self.name, self.others)

    @property
    def is_external(self) -> bool:
        """True for what is defined outside the repository."""
        return self.kind in ("external", "external_instance")

    @property
    def is_none(self) -> bool:
        """True for the absent value of the language."""
        return self.kind == "external_instance" and self.name in _NONE


_NONE = frozenset({"None", "null", "undefined", "nil", "void"})
NONE = Value("external_instance", name="None")


def agreed(values: list[Value | None]) -> Value | None:
    """Return the value that all have in common, apart from absent ones; None if one is unknown or they differ."""
    if any(value is None for value in values):
        return None
    known = [value for value in values if value is not None]
    told = [value for value in known if not value.is_none] or known
    if not told or any(value.identity != told[0].identity for value in told):
        return None
    return told[0]
