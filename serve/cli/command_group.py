"""Extends Typer's group of commands: what errors of usage quote from the command line is made visible."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from typer.core import TyperGroup

from runtime.primitives.visible_text import visible_line


class CommandGroup(TyperGroup):
    """Makes the arguments visible that errors of usage quote."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Read the arguments of the group."""
        with _visible_usage_errors():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Read the arguments of the command and run it."""
        with _visible_usage_errors():
            return super().invoke(ctx)


@contextmanager
def _visible_usage_errors() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # Typer does not export the base class of its errors of usage.
        if hasattr(error, "format_message") and isinstance(getattr(error, "message", None), str):
            error.message = visible_line(error.message)  # type: ignore[attr-defined]
        raise
