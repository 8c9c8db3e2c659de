"""The uses of a type by others, all names that begin alike, and all environment variables that are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_analysis.question.analysis import analyse
from tests.capabilities.code_analysis.support import AnalysisHarness, write_files

RUBY = {
    "lib/capture.rb": "module Shop\n  # Captures a block.\n  module Capture\n    def capture; end\n  end\nend\n",
    "lib/content.rb": "module Shop\n  module Content\n    include Capture\n  end\nend\n",
    "lib/haml.rb": "module Shop\n  module Haml\n    include Shop::Capture\n  end\nend\n",
}
RUST = {
    "Cargo.toml": '[package]\nname = "shop"\nedition = "2021"\n',
    "src/lib.rs": "pub mod columns;\npub mod table;\n",
    "src/columns.rs": """/// Chosen columns.
pub struct Columns { kept: u8 }

impl Columns {
    pub fn of(kept: u8) -> Columns {
        Columns { kept }
    }
}

impl Clone for Columns {
    fn clone(&self) -> Self { Columns::of(1) }
}
""",
    "src/table.rs": "use crate::columns::Columns;\n\npub struct Table { shown: Columns }\n",
}


async def test_what_includes_a_module_uses_it(tmp_path: Path) -> None:
    write_files(tmp_path / "repo", RUBY)
    harness = await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")
    answer = (await harness.ask("Who uses `Shop::Capture`?"))["answer"]
    assert "`include Capture` [lib/content.rb:3]" in answer
    assert "`include Shop::Capture` [lib/haml.rb:3]" in answer


async def test_a_type_does_not_use_itself(tmp_path: Path) -> None:
    write_files(tmp_path / "repo", RUST)
    harness = await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")
    answer = (await harness.ask("Who uses `Columns`?"))["answer"]
    assert "`pub struct Table { shown: Columns }` [src/table.rs:3]" in answer
    assert "`impl" not in answer
    assert "pub fn of" not in answer


async def test_who_imports_the_module_alone_does_not_use_what_it_does_not_name(tmp_path: Path) -> None:
    files = {
        **RUST,
        "src/lib.rs": "pub mod columns;\npub mod table;\npub mod other;\n",
        "src/columns.rs": "pub fn widen() {}\npub fn narrow() {}\n",
        "src/table.rs": "use crate::columns;\npub fn run() -> fn() { columns::widen }\n",
        "src/other.rs": "use crate::columns;\npub fn run() -> fn() { columns::narrow }\n",
    }
    write_files(tmp_path / "repo", files)
    harness = await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")
    answer = (await harness.ask("Who uses `widen`?"))["answer"]
    assert "src/table.rs" in answer
    assert "src/other.rs" not in answer


async def test_all_names_that_begin_so_are_listed(tmp_path: Path) -> None:
    lines = [f"#define SHOP_ERR_{name} {number}\n" for number, name in enumerate(("IO", "EOF", "OTHER"))]
    files = {"shop.h": "".join(lines) + "#define SHOP_ERROR 9\nint shop_err_io(void);\n"}
    write_files(tmp_path / "repo", files)
    harness = await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")
    answer = (await harness.ask("list all SHOP_ERR_* codes"))["answer"]
    assert [line.partition(":")[0] for line in answer.splitlines() if line.startswith("- ")] == [
        "- `SHOP_ERR_IO`",
        "- `SHOP_ERR_EOF`",
        "- `SHOP_ERR_OTHER`",
    ]


@pytest.mark.parametrize(
    "question",
    [
        "list all environment variables",
        "Which env vars does it read?",
        "what environment variables are there",
        "List all environment variables that the shop reads from whoever starts it, and for what.",
    ],
)
async def test_all_environment_variables_that_are_read_are_listed(tmp_path: Path, question: str) -> None:
    files = {
        "shop.py": 'import os\n\nPORT = os.environ.get("SHOP_PORT", "80")\n\n\n'
        'def home():\n    return os.environ["HOME"]\n',
        "more.py": 'import os\n\nos.environ["SET_BY_US"] = "1"\n',
        "tests/test_shop.py": 'import os\n\nos.getenv("OF_TESTS")\n',
    }
    write_files(tmp_path / "repo", files)
    harness = await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")
    answer = (await harness.ask(question))["answer"]
    assert [line for line in answer.splitlines() if line.startswith("- ")] == [
        '- `SHOP_PORT`: `PORT = os.environ.get("SHOP_PORT", "80")` [shop.py:3]',
        '- `HOME`: `return os.environ["HOME"]` [shop.py:7]',
    ]


def test_which_variable_sets_a_thing_is_no_list() -> None:
    assert analyse("Which environment variable sets the port?").kind == "configured"
    assert analyse("Which environment variables set the port?").kind == "configured"


async def test_of_what_nothing_uses_this_is_said(tmp_path: Path) -> None:
    files = {
        "shop/config.py": "def load(path):\n    return path\n\n\ndef upgrade_config(path):\n    return load(path)\n",
        "shop/main.py": "from shop.config import load\n\nSETTINGS = load('shop.ini')\n",
        "tests/test_config.py": "from shop.config import load\n\n\ndef test_load():\n    assert load('a') == 'a'\n",
    }
    write_files(tmp_path / "repo", files)
    harness = await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")
    answer = (await harness.ask("Who calls upgrade_config?"))["answer"]
    assert "No use of `upgrade_config` was proven in this repository." in answer
    assert "No test was proven to use `upgrade_config`." in answer
    assert "No use of" not in (await harness.ask("Who calls load?"))["answer"]


async def test_of_files_of_tests_that_do_not_name_it_those_are_told_that_are_called_like_its_file(
    tmp_path: Path,
) -> None:
    files = {
        "shop/till.py": "class Till:\n    def shut(self):\n        return 1\n\n    def open(self):\n        return 2\n",
        "tests/test_till.py": "from shop.till import Till\n\n\ndef test_it():\n    assert Till().open() == 2\n",
        "tests/test_doors.py": "from shop.till import Till\n\n\ndef test_doors():\n    assert Till().open() == 2\n",
        "tests/test.py": "from shop.till import Till\n\n\ndef test_all():\n    assert Till().open() == 2\n",
    }
    write_files(tmp_path / "repo", files)
    harness = await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")
    answer = (await harness.ask("Which tests cover `Till.shut`?"))["answer"]
    told = [line.partition("`")[2].partition("`")[0] for line in answer.splitlines() if "goes with its file" in line]
    assert told == ["tests/test_till.py"]
