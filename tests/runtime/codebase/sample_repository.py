"""The files of a small repository in several languages."""

from __future__ import annotations

from tests.repositories import repository_files
from tests.repositories import write_files as write_files

FILES = repository_files("shop")
