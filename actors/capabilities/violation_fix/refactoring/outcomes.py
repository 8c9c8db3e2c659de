"""Defines what a refactoring returns: the new source, or a refusal with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refactored:
    """Carries the whole new source of a file and the names of functions that were added to it."""

    source: str
    description: str
    new_functions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """Explains why a refactoring was not done; `lines` are 1-based lines of the source at fault."""

    code: str
    message: str
    lines: tuple[int, ...] = ()

    def __str__(self) -> str:
        where = f" (line {', '.join(map(str, self.lines))})" if self.lines else ""
        return f"{self.code}: {self.message}{where}"


class RefusedRefactoring(Exception):
    """Interrupts the analysis of a refactoring that must be refused; never leaves this package."""

    def __init__(self, code: str, message: str, lines: tuple[int, ...] = ()) -> None:
        super().__init__(code, message, lines)
        self.refusal = Refused(code, message, lines)
