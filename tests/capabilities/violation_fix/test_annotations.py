"""New functions are annotated as the code around them is: wholly, not at all, or not made under strict typing."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping

import pytest

from actors.capabilities.violation_fix.refactoring.annotations.modules import TypingRules
from actors.capabilities.violation_fix.refactoring.extraction import extract_function
from actors.capabilities.violation_fix.refactoring.outcomes import Refactored, Refused

STRICT = TypingRules(module="shop.orders", is_strict=True, is_checked=True, min_python=(3, 11))


class Sources:
    """Holds the other modules of a package."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules

    def source_of(self, module: str) -> tuple[str, bool] | None:
        text = self._modules.get(module)
        return (textwrap.dedent(text), False) if text is not None else None


def extracted(source: str, rules: TypingRules | None = None, name: str = "_do_part") -> Refactored | Refused:
    """Extract the lines between the two marks of a source."""
    lines = textwrap.dedent(source).lstrip("\n").splitlines()
    first = next(number for number, line in enumerate(lines) if line.strip() == "# begin")
    last = next(number for number, line in enumerate(lines) if line.strip() == "# end")
    text = "\n".join(line for line in lines if line.strip() not in ("# begin", "# end")) + "\n"
    return extract_function(text, first + 1, last - 1, name, line_length=200, typing=rules)


def signature(source: str, rules: TypingRules | None = None) -> str:
    done = extracted(source, rules)
    assert isinstance(done, Refactored), done
    functions = [node for node in ast.walk(ast.parse(done.source)) if isinstance(node, ast.FunctionDef)]
    node = next(each for each in functions if each.name == "_do_part")
    return ast.get_source_segment(done.source, node).partition(":\n")[0]  # type: ignore[union-attr]


def refusal(source: str, rules: TypingRules | None = None) -> str:
    done = extracted(source, rules)
    assert isinstance(done, Refused), done.source
    return str(done)


def test_parameters_and_results_get_the_types_of_what_they_are_assigned() -> None:
    source = """
        def total(rows: list[int], limit: int) -> int:
            count = 0
            label = f"{limit}"
            is_over = limit > 3
            # begin
            for row in rows:
                if row > limit and is_over:
                    count += row
                    print(label)
            # end
            return count
    """
    assert signature(source, STRICT) == (
        "def _do_part(rows: list[int], limit: int, count: int, label: str, is_over: bool) -> int"
    )


@pytest.mark.parametrize(
    ("head", "part"),
    [
        ("rows, limit: int", "rows, limit: int) -> None"),
        ("rows, limit=0", "rows, limit)"),
        ("rows, limit: int = 0, *, row: int", "rows, limit: int) -> None"),
    ],
)
def test_a_parameter_stays_without_a_type_where_its_author_left_it_so(head: str, part: str) -> None:
    source = f"""
        def total({head}):
            # begin
            for row in rows:
                if row > limit:
                    print(row)
            # end
            return limit
    """
    assert signature(source) == f"def _do_part({part}"
    rebound = source.replace("# begin", "rows = rows.all()\n            # begin")
    assert signature(rebound) == "def _do_part(rows, limit)"


def test_a_result_of_unknown_type_is_anything_where_the_module_knows_the_word() -> None:
    source = """
        {imported}


        def total(rows: list[int], limit: int) -> int:
            # begin
            found = unknown(rows)
            if limit:
                found = unknown(limit)
            # end
            return found
    """
    assert signature(source.format(imported="")) == "def _do_part(rows, limit)"
    known = source.format(imported="from typing import Any")
    assert signature(known) == "def _do_part(rows: list[int], limit: int) -> Any"
    with_others = known + "".join(f"\n        def other{number}() -> None: ...\n" for number in range(2))
    assert "unknown_type" in refusal(with_others)


@pytest.mark.parametrize(("bare", "is_strict"), [(0, True), (1, True), (2, False)])
def test_a_file_counts_as_strict_where_nine_of_ten_functions_are_annotated(bare: int, is_strict: bool) -> None:
    others = [f"\n    def other{number}(x: int) -> None: ...\n" for number in range(9 - bare)]
    source = UNKNOWN + "".join([*others, *(f"\n    def bare{number}(x): ...\n" for number in range(bare))])
    assert ("unknown_type" in str(extracted(source))) is is_strict


@pytest.mark.parametrize(("bound", "part"), [("", "mask: ArrayLike, limit: int) -> None"), ("mask = wash(mask)", None)])
def test_an_alias_tells_nothing_of_what_was_bound_since(bound: str, part: str | None) -> None:
    source = f"""
        from arrays import ArrayLike


        def total(mask: ArrayLike, limit: int) -> None:
            {bound or "print(limit)"}
            # begin
            for row in mask:
                if row > limit:
                    print(row)
            # end
    """
    done = signature(source, TypingRules(is_checked=True))
    assert done == (f"def _do_part({part}" if part else "def _do_part(mask, limit)")


def test_a_function_without_annotations_stays_without() -> None:
    source = """
        def total(rows):
            count = 0
            # begin
            for row in rows:
                if row:
                    count += 1
            # end
            return count
    """
    assert signature(source) == "def _do_part(rows, count)"


UNKNOWN = """
    def total(limit: int) -> int:
        rows = anything.at_all()
        # begin
        for row in rows:
            if row > limit:
                print(row)
        # end
        return limit
"""


def test_an_unknown_type_is_refused_under_strict_typing_and_never_invented() -> None:
    assert "the type of rows is not known" in refusal(UNKNOWN, STRICT)
    assert signature(UNKNOWN + "\n    def other(x): pass\n") == "def _do_part(limit, rows)"


@pytest.mark.parametrize(("others", "is_strict"), [(0, False), (1, False), (2, True), (3, True)])
def test_a_file_of_three_functions_that_are_all_annotated_counts_as_strict(others: int, is_strict: bool) -> None:
    source = UNKNOWN + "".join(f"\n    def other{number}(x: int) -> None: ...\n" for number in range(others))
    if is_strict:
        assert "unknown_type" in refusal(source)
    else:
        assert signature(source) == "def _do_part(limit, rows)"


def test_callees_of_the_package_tell_what_they_return() -> None:
    rules = TypingRules(
        module="shop.orders",
        is_strict=True,
        is_checked=True,
        sources=Sources(
            {
                "shop.prices": "from shop.money import Money\ndef price_of(name: str) -> 'Money': ...",
                "shop.money": "class Money:\n    cents: int\n    def parts(self) -> list[str]: ...",
            }
        ),
    )
    source = """
        from shop.money import Money
        from .prices import price_of

        def show(name: str) -> None:
            price = price_of(name)
            parts = price.parts()
            # begin
            for part in parts:
                if part and price.cents:
                    print(part)
            # end
            print(name)
    """
    assert signature(source, rules) == "def _do_part(price: Money, parts: list[str]) -> None"


def test_a_type_that_the_module_has_no_name_for_is_not_written() -> None:
    rules = TypingRules(
        module="shop.orders",
        is_strict=True,
        sources=Sources(
            {"shop.prices": "from shop.money import Money\ndef price() -> Money: ...", "shop.money": "class Money: ..."}
        ),
    )
    source = """
        from shop.prices import price

        def show(name: str) -> None:
            found = price()
            # begin
            for letter in name:
                if letter:
                    print(letter, found)
            # end
            print(name)
    """
    assert "the type of found is not known" in refusal(source, rules)


def test_attributes_of_self_and_files_that_are_opened_have_types() -> None:
    source = """
        from typing import TextIO

        class Reader:
            limit: int

            def __init__(self, names: list[str]) -> None:
                self.names = names

            def read(self, path: str) -> list[str]:
                names = self.names
                found: list[str] = []
                with open(path) as file:
                    # begin
                    for line in file:
                        if line in names:
                            found.append(line)
                    # end
                return found
    """
    assert signature(source, STRICT) == "def _do_part(found: list[str], names: list[str], file: TextIO) -> None"


def test_what_tests_have_excluded_is_not_in_the_annotation() -> None:
    source = """
        from typing import Optional, Union

        def show(name: Optional[str], size: Union[int, str, None], both: Optional[int]) -> None:
            if name is None:
                return
            if isinstance(size, int):
                # begin
                for letter in name:
                    if letter:
                        print(letter, size, both)
                # end
            print(name)
    """
    assert signature(source, STRICT) == "def _do_part(name: str, size: int, both: Optional[int]) -> None"


def test_what_is_read_from_something_that_may_be_none_has_its_type() -> None:
    source = """
        class Parent:
            names: list[str]

        def show(parent: Parent | None, names: list[str] | None) -> str:
            # begin
            if names is None:
                if parent is not None:
                    names = parent.names
                else:
                    names = ["help"]
            # end
            return names[0]
    """
    assert signature(source, STRICT) == "def _do_part(parent: Parent | None, names: list[str] | None) -> list[str]"


def test_a_test_that_later_statements_rely_on_stays_with_them() -> None:
    source = """
        def show(name: str | int) -> str:
            # begin
            if not isinstance(name, str):
                if name > 3:
                    print(name)
                raise TypeError(name)
            # end
            return name.strip()
    """
    assert "the type of name is not known" in refusal(source, STRICT)


@pytest.mark.parametrize(
    ("assigned", "annotation"), [("Path(path)", "Path"), ("anything(path)", None), ("'x'", "str"), ("None", None)]
)
def test_a_name_of_several_types_has_that_of_what_was_assigned_last(assigned: str, annotation: str | None) -> None:
    source = f"""
        from os import PathLike
        from pathlib import Path

        def show(path: str | PathLike[str] | None) -> None:
            path = {assigned}
            # begin
            for each in [1, 2]:
                if each:
                    print(path)
            # end
            print(1)
    """
    if annotation is None:
        assert "the type of path is not known" in refusal(source, STRICT)
    else:
        assert signature(source, STRICT) == f"def _do_part(path: {annotation}) -> None"


def test_an_attribute_of_a_function_names_no_class() -> None:
    source = """
        def leave() -> None: ...
        leave.Error = ValueError

        def show() -> None:
            try:
                print(1)
            except leave.Error as error:
                # begin
                for each in [1, 2]:
                    if each:
                        print(error)
                # end
                print(1)
    """
    assert "the type of error is not known" in refusal(source, STRICT)


def test_a_narrowed_parameter_that_is_bound_anew_keeps_its_declared_type() -> None:
    source = """
        def show(name: str | None) -> str | None:
            if name is not None:
                # begin
                for letter in name.split():
                    if letter:
                        name = None
                # end
            return name
    """
    assert signature(source, STRICT) == "def _do_part(name: str | None) -> str | None"


def test_several_results_are_a_tuple_and_a_jump_is_a_truth_value() -> None:
    several = """
        def show(names: list[str]) -> str:
            # begin
            count = 0
            last = ""
            for name in names:
                if name:
                    count += 1
                    last = name
            # end
            return last * count
    """
    assert signature(several, STRICT) == "def _do_part(names: list[str]) -> tuple[int, str]"
    jump = """
        def show(names: list[str]) -> None:
            for name in names:
                # begin
                if name:
                    if len(name) > 3:
                        continue
                    print(name)
                # end
                print(names)
    """
    assert signature(jump, STRICT) == "def _do_part(name: str) -> bool"


def test_no_function_that_may_return_none_promises_a_text() -> None:
    source = """
        def show(name: str) -> str:
            print(name)
            # begin
            if name == "a":
                print(1)
                return "b"
            if name == "b":
                return "c"
            # end
    """
    assert "the type of the result is not known" in refusal(source, STRICT)


def test_annotations_that_could_not_be_evaluated_there_are_quoted() -> None:
    source = """
        from typing import TYPE_CHECKING, List
        if TYPE_CHECKING:
            from shop.money import Money

        def show(prices: "List[Money]") -> None:
            first = prices[0]
            # begin
            for each in prices:
                if each != first:
                    print(each)
            # end
            print(prices)
    """
    assert signature(source, STRICT) == 'def _do_part(prices: "List[Money]", first: "Money") -> None'
    assert signature("from __future__ import annotations\n" + textwrap.dedent(source), STRICT).count('"') == 2


def test_an_alternative_is_written_as_the_oldest_python_can_evaluate_it() -> None:
    source = """
        def show(names: {annotation}) -> int:
            found = None
            for name in names:
                found = name
            # begin
            if found:
                for letter in found:
                    if letter:
                        print(letter)
            # end
            return 1
    """
    annotated = source.format(annotation="'list[str]'")
    assert signature(annotated, STRICT) == "def _do_part(found: str | None) -> None"
    old = TypingRules(is_strict=True, is_checked=True, min_python=(3, 8))
    assert "the type of found is not known" in refusal(annotated, old)


def test_names_of_the_class_body_do_not_stand_for_what_the_module_calls_so() -> None:
    source = """
        class Table:
            def list(self) -> int:
                return 1

            def show(self, names: str) -> None:
                parts = names.split()
                # begin
                for part in parts:
                    if part:
                        print(part, self)
                # end
                print(names)
    """
    assert "the type of parts is not known" in refusal(source, STRICT)


def test_an_empty_list_whose_elements_come_from_the_block_stays_with_them() -> None:
    source = """
        def show(names: list[str]) -> list[str]:
            found = []
            print(1)
            # begin
            for name in names:
                if name:
                    found.append(name)
            # end
            return found
    """
    assert "the type of found is not known" in refusal(source, STRICT)


def test_a_part_of_a_generator_promises_what_the_whole_does() -> None:
    source = """
        from collections.abc import Iterator

        def walk(names: list[str]) -> Iterator[str]:
            print(names)
            # begin
            for name in names:
                if name:
                    yield name
            # end
            print(1)
    """
    assert signature(source, STRICT) == "def _do_part(names: list[str]) -> Iterator[str]"


def test_a_generic_class_is_written_as_the_builtin_one_where_only_typing_is_imported() -> None:
    source = """
        import typing

        def show(names: {}[str], *more: str, **options: str) -> None:
            parts = names[0].split()
            # begin
            for part in parts:
                if part:
                    print(part, options)
            # end
            print(names)
    """
    plain = "def _do_part(options: dict[str, str], parts: list[str]) -> None"
    assert signature(source.format("typing.List"), STRICT) == plain
    old = TypingRules(is_strict=True, is_checked=True, min_python=(3, 8))
    assert signature(source.format("typing.List"), old) == (
        "def _do_part(options: typing.Dict[str, str], parts: typing.List[str]) -> None"
    )


@pytest.mark.parametrize(
    ("value", "annotation"),
    [
        ("' '.join(names)", "str"),
        ("names[0].split()", "list[str]"),
        ("{name: len(name) for name in names}", "dict[str, int]"),
        ("[len(name) for name in names]", "list[int]"),
        ("dict(zip(names, names))", "dict[str, str]"),
        ("dict({names[0]: 1})", "dict[str, int]"),
        ("dict(enumerate(names))", "dict[int, str]"),
        ("dict({names[0]: 1}, other='x')", None),
        ("dict(names)", None),
        ("dict([(names[0], 1, 2)])", None),
        ("dict([tuple(names)])", None),
        ("names and names[0]", "list[str] | str"),
        ("os.path.join(names[0], 'x')", "str"),
        ("sorted(set(names))", "list[str]"),
        ("len(names) / 2", "float"),
        ("not names", "bool"),
        ("{**{}}", None),
        ("lambda: 1", None),
        ("(1, 'a')", "tuple[int, str]"),
        ("[one for one in [names[0], None] if one]", "list[str]"),
        ("[one for one in [names[0], None] if len(names)]", None),
        ("names.index(names[0])", "int"),
        ("json.loads(names[0])", "typing.Any"),
        ("json.loads(names[0])['a'].b(1)", "typing.Any"),
        ("getattr(names, 'x')", "typing.Any"),
        ("getattr(names, 'x', None)", "typing.Any | None"),
        ("getattr(names, 'x', names)", None),
        ("typing.cast('list[int]', names)", "list[int]"),
        ("sum(len(name) for name in names)", "int"),
        ("sum([names], [])", None),
        ("urllib.parse.urlsplit(names[0]).port", "int | None"),
        ("measure(names)", "int"),
        ("[measure]", None),
    ],
)
def test_expressions_have_types_or_are_unknown(value: str, annotation: str | None) -> None:
    source = f"""
        import json
        import os
        import typing
        import urllib.parse

        def show(names: list[str]) -> None:
            def measure(each: list[str] | str) -> int:
                return len(each)

            found = {value}
            # begin
            for name in names:
                if name:
                    print(found)
            # end
            print(1)
    """
    if annotation is None:
        assert "the type of found is not known" in refusal(source, STRICT)
    else:
        assert signature(source, STRICT) == f"def _do_part(names: list[str], found: {annotation}) -> None"


@pytest.mark.parametrize("is_checked", [False, True])
def test_names_that_are_bound_to_one_another_have_the_type_of_the_first_value(is_checked: bool) -> None:
    source = """
        def scan(text: str) -> int:
            begin, end = 0, len(text)
            while begin < end:
                stop = begin
                # begin
                if text[stop] == "!":
                    stop += 1
                    print(stop)
                # end
                begin = stop + 1
            return begin
    """
    rules = TypingRules(module="shop.orders", is_strict=True, is_checked=is_checked)
    assert signature(source, rules) == "def _do_part(text: str, stop: int) -> int"


def test_a_name_that_is_bound_to_another_type_later_has_none_where_no_checker_looks() -> None:
    source = """
        def scan(text: str) -> None:
            size = 1
            # begin
            if size:
                print(size)
                print(text)
            # end
            size = size + 1
            size = str(size)
    """
    assert "the type of size is not known" in refusal(source, TypingRules(is_strict=True))
    assert signature(source, STRICT) == "def _do_part(text: str, size: int) -> None"


@pytest.mark.parametrize(
    ("bound", "is_checked", "written"),
    [
        ("rows = str(rows)", False, "def _do_part(rows)"),
        ("rows = wash(rows)", False, "def _do_part(rows)"),
        ("rows = str(rows)", True, "def _do_part(rows: list[int]) -> int"),
        ("rows = [1]", False, "def _do_part(rows: list[int]) -> int"),
        ("rows += [1]", False, "def _do_part(rows: list[int]) -> int"),
        ("pass", False, "def _do_part(rows: list[int]) -> int"),
    ],
)
def test_a_parameter_that_is_bound_to_something_else_has_its_declared_type_only_where_a_checker_looks(
    bound: str, is_checked: bool, written: str
) -> None:
    source = f"""
        def total(rows: list[int]) -> int:
            {bound}
            # begin
            count = 0
            for row in rows:
                count = count + 1
            # end
            return count
    """
    assert signature(source, TypingRules(module="shop.orders", is_checked=is_checked)) == written


def test_what_annotations_say_beside_the_type_is_left_out_and_a_bare_list_holds_anything() -> None:
    source = """
        from typing import Annotated, Any

        class Card:
            @classmethod
            def load(cls, name: str) -> "Card":
                return cls()

            def show(self) -> None: ...

        def show(kind: type[Card], size: Annotated[int | None, "pixels"], rows: list) -> None:
            card, other = kind.load(""), kind()
            if size is None:
                return
            for row in rows:
                # begin
                if row:
                    print(card, other, size, row)
                # end
                print(1)
    """
    parameters = "size: int, card: Card, other: Card, row: Any"
    assert signature(source, STRICT) == f"def _do_part({parameters}) -> None"


def test_what_handlers_of_one_name_catch_is_known_where_they_catch_the_same() -> None:
    source = """
        def run(path: str) -> None:
            try:
                print(path)
            except SystemExit as error:
                print(error)
            try:
                print(path)
            except SystemExit as error:
                # begin
                if path:
                    print(error, path)
                # end
    """
    assert "error: SystemExit" in signature(source)
    assert signature(source.replace("SystemExit", "Exception", 1)) == "def _do_part(path, error)"


ANY = """
    from typing import Any

    from elsewhere import load


    def total(rows: list[int]) -> int:
        limit = load()
        other = load()
        count = 0
        # begin
        for row in rows:
            if row > limit:
                count += row
                print({used})
        # end
        return count
"""


def test_one_parameter_of_unknown_type_may_be_anything_where_the_module_knows_the_word() -> None:
    assert signature(ANY.format(used="row"), STRICT) == "def _do_part(rows: list[int], limit: Any, count: int) -> int"
    assert "unknown_type" in refusal(ANY.format(used="other"), STRICT)
    assert "unknown_type" in refusal(ANY.format(used="row").replace("from typing import Any", "import typing"), STRICT)


def test_what_a_test_above_the_block_tells_of_an_attribute_keeps_the_block_where_it_is() -> None:
    source = """
        class Order:
            line: "Line | None" = None

            def price(self, rows: list[int]) -> int:
                {test}
                count = 0
                # begin
                for row in rows:
                    if row > 1:
                        count += self.line.price
                # end
                return count
    """
    assert "self.line" in refusal(source.format(test="assert self.line is not None"), STRICT)
    assert "count" in signature(source.format(test="print(self.line)"), STRICT)


@pytest.mark.parametrize(
    ("imported", "made", "returned"),
    [
        ("from rich.table import Table", "Table(3)", "Table"),
        ("import rich", "rich.Table(3)", "rich.Table"),
        ("from rich.table import make_table", "make_table(3)", None),
        ("from rich.table import TABLE", "TABLE(3)", None),
        ("from typing import NewType", "NewType('A', int)", None),
        ("from threading import Lock", "Lock()", None),
    ],
)
def test_a_call_of_what_is_spelled_as_a_class_of_another_project_makes_one(
    imported: str, made: str, returned: str | None
) -> None:
    source = f"""
        {imported}

        def work(size: int) -> int:
            # begin
            found = {made}
            if size:
                print(size)
            # end
            print(found)
            return size
    """
    expected = f"def _do_part(size: int) -> {returned}" if returned is not None else "def _do_part(size)"
    assert signature(source) == expected
    strict = extracted(source, STRICT)
    assert isinstance(strict, Refused)


@pytest.mark.parametrize(
    ("parameter", "value", "written"),
    [
        ("store: Store | None", "store or Store()", "Store"),
        ("store: list[int] | None", "store or []", "list[int]"),
        ("store: list[int] | None", "store or {}", None),
        ("store", "store or Store()", None),
        ("store: Store | None", "store and Store()", None),
    ],
)
def test_an_attribute_that_is_given_or_made_is_of_either_type(parameter: str, value: str, written: str | None) -> None:
    source = f"""
        class Store:
            size: int

        class Shop:
            def __init__(self, {parameter}) -> None:
                self.store = {value}

            def work(self, size: int) -> int:
                store = self.store
                # begin
                if size:
                    print(store)
                    print(size)
                # end
                return size
    """
    done = extracted(source, STRICT)
    if written is None:
        assert isinstance(done, Refused)
    else:
        assert signature(source, STRICT) == f"def _do_part(size: int, store: {written}) -> None"


@pytest.mark.parametrize(
    ("declared", "annotation"),
    [("Literal['?'] | None", "str"), ("Literal[3] | None", "str | Literal[3]")],
)
def test_a_literal_text_beside_any_text_is_not_written(declared: str, annotation: str) -> None:
    source = f"""
        from __future__ import annotations
        from typing import Literal

        def check(nargs: str | {declared}, options: list[str]) -> int:
            if nargs is None:
                return 0
            # begin
            for option in options:
                if option != nargs:
                    print(option)
            # end
            return 1
    """
    assert signature(source, STRICT) == f"def _do_part(nargs: {annotation}, options: list[str]) -> None"


GIVEN = """
    {imported}

    def total(rows: object, limit: int) -> int:
        count = 0
        if not isinstance(rows, {asked}):
            return count
        # begin
        for row in rows:
            if row:
                count += limit
        # end
        return count
"""


@pytest.mark.parametrize(
    ("imported", "asked", "annotation"),
    [
        ("from typing import Any, Mapping", "Mapping", "Mapping[Any, Any]"),
        ("from typing import Any; from collections.abc import Sequence", "Sequence", "Sequence[Any]"),
        ("from typing import Any", "str", "str"),
        ("from typing import Mapping", "Mapping", None),
    ],
)
def test_a_generic_class_is_never_written_without_its_arguments(
    imported: str, asked: str, annotation: str | None
) -> None:
    source = GIVEN.format(imported=imported, asked=asked)
    if annotation is None:
        assert "the type of rows is not known" in refusal(source, STRICT)
    else:
        assert f"rows: {annotation}" in signature(source, STRICT)


@pytest.mark.parametrize(
    ("declared", "annotation"),
    [("list", "list[Any]"), ("dict", "dict[Any, Any]"), ("tuple", "tuple[Any, ...]"), ("set[int]", "set[int]")],
)
def test_a_bare_class_that_is_no_longer_none_holds_anything(declared: str, annotation: str) -> None:
    source = GIVEN.format(imported="from typing import Any", asked="x")
    source = source.replace("not isinstance(rows, x)", "rows is None").replace("object", f"{declared} | None")
    assert f"rows: {annotation}" in signature(source, STRICT)


@pytest.mark.parametrize(
    ("imported", "annotation"),
    [
        ("import typing\n        from typing import Any", "Any"),
        ("import typing\n        if typing.TYPE_CHECKING:\n            from typing import Any", "typing.Any"),
    ],
)
def test_a_type_is_written_by_the_shortest_name_that_the_module_has_where_it_runs(
    imported: str, annotation: str
) -> None:
    source = f"""
        {imported}

        def total(rows: list[int], given: str | int) -> int:
            limit = getattr(given, "limit", False)
            count = 0
            # begin
            for row in rows:
                if row > limit:
                    count += row
            # end
            return count
    """
    assert f"limit: {annotation}, count" in signature(source, STRICT)


def test_beside_anything_no_other_type_is_written() -> None:
    source = """
        from typing import Any

        def total(rows: list[int], given: str | int) -> int:
            limit = getattr(given, "limit", False)
            count = 0
            # begin
            for row in rows:
                if row > limit:
                    count += row
            # end
            return count
    """
    assert "limit: Any, count" in signature(source, STRICT)


def test_a_class_is_known_that_a_module_of_the_package_takes_over_from_another() -> None:
    source = """
        import shop.parts as parts

        def work(size: int) -> int:
            made = parts.Board(3)
            # begin
            if size:
                print(made)
                print(size)
            # end
            return size
    """

    def rules(text: str) -> TypingRules:
        return TypingRules(module="shop.orders", sources=Sources({"shop.parts": text}), min_python=(3, 11))

    expected = "def _do_part(size: int, made: parts.Board) -> None"
    assert signature(source, rules("from shop.made_parts import *\n")) == expected
    assert signature(source, rules("x = 1\n")) == "def _do_part(size, made)"


RESULT = """
    {known}

    from elsewhere import load


    def work(rows: list[int], limit: int) -> {returns}:
        # begin
        if limit:
            found = load(rows)
        else:
            found = load(limit)
        # end
        found.show(limit)
        {end}
"""


@pytest.mark.parametrize(
    ("known", "returns", "end", "written"),
    [
        ("from typing import Any", "None", "return", "def _do_part(rows: list[int], limit: int) -> Any"),
        ("from typing import Iterator", "None", "return", None),
        ("from typing import Any", "int", "return limit", None),
        ("from typing import Any", "Any", "return limit", None),
    ],
)
def test_one_result_of_unknown_type_may_be_anything_in_a_function_that_returns_nothing(
    known: str, returns: str, end: str, written: str | None
) -> None:
    source = RESULT.format(known=known, returns=returns, end=end)
    if written is None:
        assert "the type of the result is not known" in refusal(source, STRICT)
    else:
        assert signature(source, STRICT) == written
