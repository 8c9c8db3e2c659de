"""A small repository to ask about, as it is right after it was written."""

from __future__ import annotations

from functools import partial

from tests import repositories
from tests.repositories import repository_files

FILES = repository_files("post_office")
QUESTION = "How does PostOffice.deliver handle a full box?"

write_files = partial(repositories.write_files, age_s=0)
