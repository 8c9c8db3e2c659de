"""Who calls a method that several types have: the calls of the type that they override are told, and no imports."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capabilities.code_analysis.support import AnalysisHarness, write_files

FILES = {
    "stores/sql.py": "from stores.store import Store\n\n\nclass SqlStore(Store):\n    def reap_jobs(self, name):\n"
    "        rows = self.select(name)\n        for row in rows:\n            self.delete(row)\n"
    "        self.commit()\n        return len(rows)\n\n    def vacuum_all(self):\n        return self.delete('')\n",
    "stores/memory.py": "from stores.store import Store\n\n\nclass MemoryStore(Store):\n"
    "    def reap_jobs(self, name):\n        self.jobs.pop(name)\n",
    "stores/store.py": "class Store:\n    def reap_jobs(self, name):\n"
    '        """Release the jobs that a scheduler has left."""\n        raise NotImplementedError\n',
    "app.py": "from stores.store import Store\n\n\nclass App:\n    def __init__(self, store: Store):\n"
    "        self.store: Store = store\n\n    def run(self, name):\n        self.store.reap_jobs(name)\n",
    **{f"example{number}.py": "from stores.sql import SqlStore\n\nSqlStore()\n" for number in range(6)},
}


@pytest.fixture
async def desk(tmp_path: Path) -> AnalysisHarness:
    return await AnalysisHarness.open(write_files(tmp_path / "repo", FILES), tmp_path / "state")


async def test_the_calls_of_an_overridden_method_answer_for_its_name(desk: AnalysisHarness) -> None:
    answer = (await desk.ask("Who calls reap_jobs?"))["answer"]
    assert answer.startswith("`Store.reap_jobs` is a method in `stores/store.py`")
    assert "- `App.run`: `self.store.reap_jobs(name)` [app.py:9]" in answer
    assert "Imported by" not in answer


async def test_imports_of_a_type_are_no_uses_of_its_method(desk: AnalysisHarness) -> None:
    answer = (await desk.ask("Who calls vacuum_all?"))["answer"]
    assert answer.startswith("`SqlStore.vacuum_all` is a method in `stores/sql.py`")
    assert "Imported by" not in answer
    assert "example0.py" not in answer
