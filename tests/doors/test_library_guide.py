"""The examples of the guide to the library run as written, each in a process of its own beside a small repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.doors.program import TREE
from tests.doors.sample_repo import FILES, write_files
from tests.examples import long_but

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "library.md"
EXAMPLES = dict(re.findall(r"^```python (\S+)\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.M | re.S))
TOLD = {
    "ask.py": "post/office.py:12-19",
    "notebook.py": "post/office.py",
    "stream.py": "run.finished\n[True]\n",
    "outputs.py": "critic ['add_goals_hint', 'because', 'blocking_issues']\n",
    "waiting.py": "True completed\n",
    "sessions.py": "['tour']\n['Where is PostOffice?', 'Who calls it?']\n2 turns deleted\n",
    "batch.py": "answered\nbad_question\nanswered\n",
    "errors.py": "bad_question\nunknown_name\nrun_state\n",
}


def test_every_example_of_the_guide_is_run() -> None:
    assert list(EXAMPLES) == list(TOLD)
    assert GUIDE.read_text(encoding="utf-8").count("```python") == len(TOLD)


@pytest.mark.parametrize("name", long_but(list(TOLD), 0))
def test_an_example_of_the_guide_does_what_it_says(name: str, tmp_path: Path) -> None:
    repo = write_files(tmp_path / "repo", FILES)
    environment = {
        **os.environ,
        **TREE,
        "JEEVES_STATE_DIR": str(tmp_path / "state"),
        "JEEVES_CODE_INDEX__EMBEDDINGS": "false",
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", EXAMPLES[name]],
        cwd=repo,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert TOLD[name] in done.stdout
