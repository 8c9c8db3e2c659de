"""Reports files of the state folder that were damaged and made anew while a command ran."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.database.set_aside import SUFFIX, set_aside_files
from serve.cli.output.terminal import warn_line


@contextmanager
def reporting_rebuilt_files(*folders: Path) -> Iterator[None]:
    """Print a line on standard error for each file of these folders that is set aside within the block.

    Whichever process does it: `Settings.state_folders` are those in which that may happen.
    """
    before = set_aside_files(set(folders))
    try:
        yield
    finally:
        for aside in sorted(set(set_aside_files(set(folders)).items()) - set(before.items())):
            _report(aside[0])


def _report(aside: Path) -> None:
    name = aside.name.removesuffix(SUFFIX)
    warn_line(f"jeeves: {aside.with_name(name)} could not be used and was made anew; the old file is {aside}")
