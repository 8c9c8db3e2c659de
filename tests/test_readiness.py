from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator

import pytest

from tests.readiness import is_ready

# The first descriptor that `select` refuses.
HIGH = 1024


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    high = fcntl.fcntl(reader, fcntl.F_DUPFD_CLOEXEC, HIGH)
    os.close(reader)
    yield high, writer
    os.close(high)
    os.close(writer)


def test_what_is_written_to_a_high_descriptor_makes_it_ready(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    assert reader >= HIGH
    assert not is_ready(reader, 0)
    os.write(writer, b"1")
    assert is_ready(reader, 5)


def test_the_end_of_the_other_side_makes_it_ready() -> None:
    reader, writer = os.pipe()
    os.close(writer)
    assert is_ready(reader, 5)
    os.close(reader)
