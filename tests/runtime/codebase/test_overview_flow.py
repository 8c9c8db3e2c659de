"""What a program calls first, what libraries are entered by, and links that no import tells."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.tools.describe_folder import describe_folder
from tests.repositories import write_files

SHOP_IN_C = {
    "main.c": '#include "shop.h"\nint main(void) { return shop_main(); }\n',
    "shop.h": "int shop_main(void);\n",
    "shop.c": (
        '#include "shop.h"\n#include "boxes.h"\n#include "shelf.h"\n#include "door.h"\n'
        "int shop_main(void) {\n  shelf_init();\n  box_log();\n  box_new();\n  door_close();\n  shelf_run();\n"
        "  door_open();\n  return 0;\n}\n"
    ),
    "boxes.h": "int box_new(void);\nint box_log(void);\n",
    "boxes.c": '#include "boxes.h"\nint box_new(void) { return 1; }\nint box_log(void) { return 1; }\n',
    "shelf.h": "int shelf_init(void);\nint shelf_run(void);\n",
    "shelf.c": '#include "shelf.h"\nint shelf_init(void) { return 1; }\nint shelf_run(void) { return 1; }\n',
    "door.h": "int door_open(void);\nint door_close(void);\n",
    "door.c": '#include "door.h"\nint door_open(void) { return 1; }\nint door_close(void) { return 1; }\n',
}


def described(tmp_path: Path, files: Mapping[str, str]) -> ToolResult:
    root = tmp_path / "depot"
    write_files(root, files)
    refresh(root, tmp_path / "depot.sqlite")
    codebase = Codebase.open(root, tmp_path / "depot.sqlite")
    try:
        return describe_folder(codebase)
    finally:
        codebase.close()


def edges_of(data: Mapping[str, Any]) -> set[tuple[str, str]]:
    return {(row["source"], row["target"]) for row in data["edges"]}


def test_the_calls_into_parts_of_the_function_where_a_program_begins_are_told_in_order(tmp_path: Path) -> None:
    result = described(tmp_path, SHOP_IN_C)
    rows = result.data["calls"]
    assert [row["name"] for row in rows if row["is_step"]] == ["shop_main"]
    # One for each part: what runs or begins rather than what ends or reports.
    calls = [(row["name"], row["part"]) for row in rows if not row["is_step"]]
    assert calls == [("box_new", "boxes.c"), ("shelf_run", "shelf.c"), ("door_open", "door.c")]
    assert {(row["entry"], row["caller"]) for row in rows} == {("main", "shop_main")}
    places = [result.citations[row["citation"]] for row in rows]
    assert [(place.file, place.start_line) for place in places] == [
        ("main.c", 2),
        ("shop.c", 8),
        ("shop.c", 10),
        ("shop.c", 11),
    ]


def test_a_program_that_calls_one_part_alone_tells_no_way_through(tmp_path: Path) -> None:
    files = {"main.c": '#include "boxes.h"\nint main(void) { return box_new(); }\n'}
    files |= {name: text for name, text in SHOP_IN_C.items() if name.startswith("boxes")}
    assert described(tmp_path, files).data["calls"] == []


def test_functions_that_call_each_other_are_read_once(tmp_path: Path) -> None:
    text = "from depot.b import two\n\n\ndef main():\n    two()\n"
    files = {
        "pyproject.toml": '[project]\nname = "depot"\n[project.scripts]\ndepot = "depot.a:main"\n',
        "depot/a.py": text,
        "depot/b.py": "from depot.a import main\n\n\ndef two():\n    main()\n",
    }
    assert described(tmp_path, files).data["calls"] == []


def test_a_program_without_functions_tells_the_calls_of_its_file(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": '[project]\nname = "depot"\n[project.scripts]\ndepot = "depot.run:main"\n',
        "depot/boxes.py": "def make_box():\n    return 1\n",
        "depot/doors.py": "def open_door():\n    return 1\n",
        "depot/run.py": (
            "from depot.boxes import make_box\nfrom depot.doors import open_door\n\nmake_box()\nopen_door()\n"
            "\n\ndef main():\n    pass\n"
        ),
    }
    calls = described(tmp_path, files).data["calls"]
    assert [(row["caller"], row["name"]) for row in calls] == [
        ("depot/run.py", "make_box"),
        ("depot/run.py", "open_door"),
    ]


def test_files_of_ruby_that_name_each_others_classes_hang_together_without_a_require(tmp_path: Path) -> None:
    files = {
        "lib/depot.rb": 'module Depot\n  autoload :Shelf, "depot/shelf"\nend\n',
        "lib/depot/shelf.rb": "module Depot\n  class Shelf\n    def put\n      Depot::Crate.new\n    end\n  end\nend\n",
        "lib/depot/crate.rb": "module Depot\n  class Crate\n  end\nend\n",
        "lib/depot/logger.rb": "module Depot\n  class Logger\n  end\nend\n",
        "lib/depot/other.rb": "module Depot\n  class Other\n    Logger.new\n    ::Parts::Crate.new\n  end\nend\n",
        "lib/depot/hooks.rb": "class Gears\nend\n",
        "lib/depot/user.rb": "module Depot\n  class Keeper\n    Gears.new\n  end\nend\n",
    }
    edges = edges_of(described(tmp_path, files).data)
    assert ("lib/depot/shelf.rb", "lib/depot/crate.rb") in edges
    # The language's own `Logger`, a class of another module, and one that its file is not called by.
    assert not edges & {
        ("lib/depot/other.rb", "lib/depot/logger.rb"),
        ("lib/depot/other.rb", "lib/depot/crate.rb"),
        ("lib/depot/user.rb", "lib/depot/hooks.rb"),
    }


def test_an_include_that_several_headers_may_mean_joins_no_parts(tmp_path: Path) -> None:
    header = "int platform(void);\n"
    files = {
        "main.c": '#include "platform.h"\n#include "linux/disk.h"\nint main(void) { return platform(); }\n',
        "linux/platform.h": header,
        "linux/platform.c": '#include "platform.h"\nint platform(void) { return 1; }\n',
        "linux/disk.h": header.replace("platform", "disk"),
        "mac/platform.h": header,
        "mac/platform.c": '#include "platform.h"\nint platform(void) { return 2; }\n',
        "mac/disk.h": header.replace("platform", "disk"),
    }
    assert edges_of(described(tmp_path, files).data) == {("main.c", "linux")}


def test_what_the_documents_of_a_library_use_most_is_where_its_callers_begin(tmp_path: Path) -> None:
    use = "$shop = new Warehouse();\n$shop->open();\n"
    files = {
        "README.md": f"# Depot\n\nKeeps boxes.\n\n```php\n{use * 3}```\n",
        "src/Warehouse.php": "<?php\nclass Warehouse {\n    function open() {}\n}\n",
        "src/Box.php": "<?php\nclass Box {\n}\n",
        "src/inner/README.md": "Box(1)\nBox(2)\nBox(3)\n",
    }
    result = described(tmp_path, files)
    rows = [(row["kind"], row["name"], row["target"], row["names_total"]) for row in result.data["entries"]]
    assert rows == [("documented", "Warehouse", "src/Warehouse.php", 3)]
    cited = result.citations[result.data["entries"][0]["citation"]]
    assert (cited.file, cited.start_line) == ("README.md", 6)
    files["README.md"] = f"# Depot\n\nKeeps boxes.\n\n```php\n{use * 2}```\n"
    assert described(tmp_path / "two", files).data["entries"] == []


def test_commands_of_a_gem_come_from_its_specification_and_other_programs_beside_them_are_left_out(
    tmp_path: Path,
) -> None:
    script = "#!/usr/bin/env ruby\nputs 1\n"
    spec = 'Gem::Specification.new do |gem|\n  gem.name = "depot"\n  {}\nend\n'
    files = {"lib/depot.rb": "class Depot\nend\n", "bin/depot": script, "bin/bench": script}
    for number, line in enumerate(
        ['gem.executables = ["depot"]', "gem.executables << 'depot'", "gem.executables = %w[depot]"]
    ):
        result = described(tmp_path / str(number), {**files, "depot.gemspec": spec.format(line)})
        entries = [(row["kind"], row["name"], row["target"]) for row in result.data["entries"]]
        assert entries == [("command", "depot", "bin/depot")]
        assert result.citations[result.data["entries"][0]["citation"]].start_line == 3


def test_calls_of_a_function_beside_an_entry_are_told_where_that_calls_few_parts_itself(tmp_path: Path) -> None:
    files = {name: text for name, text in SHOP_IN_C.items() if not name.startswith("shop")}
    files["main.c"] = (
        '#include "boxes.h"\n#include "shelf.h"\n#include "door.h"\nint serve(void) { return door_open(); }\n'
        "int main(void) {\n  box_new();\n  shelf_init();\n  return serve();\n}\n"
    )
    rows = described(tmp_path, files).data["calls"]
    assert [(row["caller"], row["name"]) for row in rows] == [
        ("main", "box_new"),
        ("main", "shelf_init"),
        ("serve", "door_open"),
    ]


def test_a_folder_of_small_functions_tells_its_largest_files_and_one_called_as_its_type_that_type(
    tmp_path: Path,
) -> None:
    small = "def put_{0}(box):\n    return box\n\n\ndef take_{0}(box):\n    return box\n"
    files = {
        f"depot/views/{name}.py": small.format(name) + "# \n" * size for name, size in (("a", 1), ("b", 9), ("c", 5))
    }
    files |= {
        "depot/shelf/shelf.py": 'class Shelf:\n    """Keeps boxes apart."""\n',
        "depot/shelf/one.py": small.format("one") * 2,
        "depot/shelf/two.py": small.format("two"),
        "depot/main.py": "from depot.views.a import put_a\n\nput_a(1)\n",
        "depot/crate/crate.py": "def crate_box(box):\n    return box\n",
    }
    parts = {row["part"]: row for row in described(tmp_path, files).data["parts"]}
    assert [(one["name"], one["is_file"]) for one in parts["depot/views"]["names"]] == [
        ("b.py", True),
        ("c.py", True),
        ("a.py", True),
    ]
    assert (parts["depot/shelf"]["about"], parts["depot/shelf"]["text"]) == ("Shelf", "Keeps boxes apart.")


def test_a_header_of_all_belongs_to_no_file_that_is_called_so_by_chance(tmp_path: Path) -> None:
    files = {
        "config.h": "#define BOXES 1\n",
        "include/door.h": "int door(void);\n",
        "src/main.c": '#include "config.h"\n#include "door.h"\nint main(void) { return BOXES; }\n',
        "src/door.c": '#include "door.h"\nint door(void) { return 1; }\n',
        "plugins/keys/config.c": '#include "config.h"\nint keys(void) { return BOXES; }\n',
        "plugins/keys/keys.c": "int all(void) { return 1; }\n",
    }
    edges = edges_of(described(tmp_path, files).data)
    assert ("src", "plugins/keys") not in edges
    assert {target for _, target in edges} <= {"config.h"}


def test_files_of_the_package_at_the_top_are_told_to_import_other_packages(tmp_path: Path) -> None:
    files = {
        "go.mod": "module example.com/shop/depot/v4\n\ngo 1.25.0\n",
        "depot.go": 'package depot\n\nimport "example.com/shop/depot/v4/shelf"\n\nfunc New() { shelf.Open() }\n',
        "box.go": "package depot\n\ntype Box struct{}\n",
        "shelf/shelf.go": "package shelf\n\nfunc Open() {}\n",
    }
    assert edges_of(described(tmp_path, files).data) == {(".", "shelf")}


def test_programs_of_a_gem_that_finds_its_commands_itself_stay_entries(tmp_path: Path) -> None:
    script = "#!/usr/bin/env ruby\nputs 1\n"
    spec = 'Gem::Specification.new do |gem|\n  gem.name = "depot"\n{}end\n'
    files = {"lib/depot.rb": "class Depot\nend\n", "bin/console": script}
    found = '  gem.executables = Dir["bin/*"].map { |path| File.basename(path) }\n'
    for place, (line, entries) in enumerate(
        (("", ["Depot"]), (found.replace('["bin/*"]', ".bin"), ["bin/console", "Depot"]))
    ):
        rows = described(tmp_path / str(place), {**files, "depot.gemspec": spec.format(line)}).data["entries"]
        assert [row["name"] if row["kind"] != "script" else row["file"] for row in rows] == entries
