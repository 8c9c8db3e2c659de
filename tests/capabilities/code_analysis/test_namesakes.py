"""An answer about a name that several definitions bear says how many there are, and where others stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.capabilities.code_analysis.support import AnalysisHarness, mark_faults, write_files


async def desk_of(folder: Path, count: int) -> AnalysisHarness:
    files = {
        f"shop/part{number:02}.py": f'"""Part {number}."""\n\n\ndef build():\n    return {number}\n'
        for number in range(count)
    }
    files |= {f"tests/test_part{number}.py": "def build():\n    return None\n" for number in range(3)}
    write_files(folder / "repo", files)
    return await AnalysisHarness.open(folder / "repo", folder / "state")


@pytest.mark.parametrize("question", ["Where is build?", "Who calls build?", "What does `build` do?"])
async def test_a_name_of_fifty_definitions_is_told_with_their_number_and_some_places(
    tmp_path: Path, question: str
) -> None:
    document = await (await desk_of(tmp_path, 50)).ask(question)
    answer = document["answer"]
    assert "`build` is defined at 50 places, also in `shop/part" in answer
    assert mark_faults(answer, document["citations"]) == []


@pytest.mark.parametrize(("count", "is_told"), [(1, False), (2, True), (3, True)])
async def test_one_definition_outside_tests_has_no_namesakes(tmp_path: Path, count: int, is_told: bool) -> None:
    answer = (await (await desk_of(tmp_path, count)).ask("Where is build?"))["answer"]
    assert (f"is defined at {count} places" in answer) is is_told
    assert ("defined at" in answer) is is_told


async def test_who_names_the_file_has_said_which_one_is_meant(tmp_path: Path) -> None:
    answer = (await (await desk_of(tmp_path, 5)).ask("Where is build in shop/part03.py?"))["answer"]
    assert "[shop/part03.py:4-5]" in answer
    assert "defined at" not in answer


GREETER = """package shop;

public class Greeter {
    /** Greet somebody. */
    public String greet(String name) {
        return greet(name, 1);
    }

    public String greet(String name, int times) {
        StringBuilder text = new StringBuilder();
        for (int done = 0; done < times; done++) {
            if (done > 0) {
                text.append(' ');
            }
            text.append("hello ");
            text.append(name);
        }
        return text.toString();
    }
}
"""


async def test_an_overload_is_no_other_thing(tmp_path: Path) -> None:
    others = {
        f"shop/{name}.java": GREETER.replace("Greeter", name).replace("/** Greet somebody. */", "") for name in "AB"
    }
    write_files(tmp_path / "repo", {"shop/Greeter.java": GREETER, **others})
    answer = (await (await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")).ask("What does greet do?"))[
        "answer"
    ]
    (also_in,) = re.findall("`greet` is defined at 6 places, also in (.*); name its file", answer)
    assert answer.startswith("`Greeter.greet` is a method in `shop/Greeter.java`: ")
    assert set(also_in.split(" and ")) <= {"`shop/A.java`", "`shop/B.java`"}


@pytest.mark.parametrize(
    "question", ["Who uses Limiter?", "Where is Limiter used?", "Which callers of `Limiter` are there?"]
)
async def test_of_namesakes_the_one_that_other_files_import_is_told_with_its_own_users(
    tmp_path: Path, question: str
) -> None:
    files = {
        "pool/__init__.py": "from pool._core import Limiter as Limiter\n",
        "pool/_backends.py": "class Limiter:\n    total = 1\n\n\ndef made():\n    return Limiter()\n",
        "pool/_core.py": "class Limiter:\n    total = 2\n",
        "pool/tasks.py": "from pool._core import Limiter\n\n\ndef start():\n    return Limiter()\n",
    }
    write_files(tmp_path / "repo", files)
    answer = (await (await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")).ask(question))["answer"]
    assert answer.startswith("`Limiter` is a class in `pool/_core.py`")
    assert "`Limiter` is defined at 2 places, also in `pool/_backends.py`" in answer
    assert "`start`: `return Limiter()` [pool/tasks.py:5]" in answer
    assert "`made`" not in answer


async def test_a_crate_with_the_name_of_a_function_is_no_user_of_it(tmp_path: Path) -> None:
    files = {
        "src/main.rs": "extern crate num_cpus;\nmod util;\n\nfn main() {\n    println!();\n}\n",
        "src/util.rs": "pub fn num_cpus() -> usize {\n    4\n}\n",
    }
    write_files(tmp_path / "repo", files)
    answer = (await (await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")).ask("Who uses num_cpus?"))[
        "answer"
    ]
    assert "extern crate" not in answer
