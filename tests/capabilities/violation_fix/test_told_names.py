"""A name tells what comes about on every path: the author's comment before the names of variables."""

from __future__ import annotations

import pytest

from tests.capabilities.violation_fix.test_names_of_blocks import names

COMMENTED = """
        def work(indices, limit):
            log.debug(limit)

            # {comment}
            new_indices = []
            seen = {{}}
            {sub} = {{}}
            for place, index in enumerate(indices):
                if index in seen:
                    {sub}[place] = seen[index]
                else:
                    seen[index] = len(new_indices)
                    {sub}[place] = len(new_indices)
                    new_indices.append(index)

            {last}
            log.debug(limit)
            return limit.ask({sub}, new_indices)
"""
GOES_ON = "{sub} = {{key: str(value) for key, value in {sub}.items()}}"


@pytest.mark.parametrize(
    ("comment", "name"),
    [
        ("De-duplicate indices like [a, b, a] -> [a, b]", "_deduplicate_indices"),
        ("first parse all indices", "_parse_indices"),
        ("handle all indices", "_determine_new_indices_and_sub"),
        ("collect indices from below", "_collect_indices_from_below"),
        ("the indices are important", "_determine_new_indices_and_sub"),
    ],
)
@pytest.mark.parametrize("goes_on", [True, False])
def test_what_a_comment_commands_comes_before_the_names_of_two_outputs(comment: str, name: str, goes_on: bool) -> None:
    last = (GOES_ON if goes_on else "{sub}.sort()").format(sub="sub")
    found = names(COMMENTED.format(comment=comment, sub="sub", last=last))
    assert found[(4, 16) if goes_on else (4, 14)] == name


def test_a_comment_does_not_tell_of_another_thing_that_is_made_behind_a_blank_line() -> None:
    source = COMMENTED.format(comment="De-duplicate indices like these", sub="sub", last="task = limit.fuse(sub)")
    found = names(source.replace("limit.ask(sub", "limit.ask(task"))
    assert found.get((4, 16)) != "_deduplicate_indices"


def test_a_comment_tells_what_one_letter_does_not() -> None:
    source = """
        def work(parts, slots):
            log.debug(parts)
            # collect all inherited __slots__ attrs
            # from list, tuple or dict __slots__,
            # while removing any duplicates
            s = {}
            for c in parts:
                for a in getattr(c, slots, ()):
                    s.setdefault(a, getattr(c, a))
            return parts.of(s)
    """
    assert names(source)[3, 9] == "_collect_inherited_slots_attrs"


PLURAL = """
        def work(self, model, limit):
            log.debug(limit)
            if model.is_wide:
                {outputs} = model.columns
            elif model.is_long{also}:
                {outputs} = model.rows
            else:
                {outputs} = model.cells
            return limit.ask({outputs})
"""


@pytest.mark.parametrize(
    ("outputs", "also", "name"),
    [
        ("products", " or limit", None),
        ("products", "", "_determine_model_products"),
        ("wide_products", " or limit", "_determine_wide_products"),
        ("product", " or limit", "_determine_product"),
        ("address", " or limit", "_determine_address"),
    ],
)
def test_which_of_several_things_are_determined_is_told(outputs: str, also: str, name: str | None) -> None:
    found = names(PLURAL.format(outputs=outputs, also=also))
    assert found.get((3, 8)) == name


DEED = """
        def work(original, rows, limit):
            log.debug(limit)
            machine = clone(original)
            if rows.are_wide:
                machine.{first}(rows, limit)
            else:
                machine.{second}(rows)
            log.debug(limit)
            return limit.ask(machine)
"""


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        ("partial_fit", "partial_fit", "_clone_and_fit_machine"),
        ("start", "start_later", "_clone_and_start_machine"),
        ("start", "fit", None),
        ("add_rows", "set_rows", "_clone_machine"),
    ],
)
def test_what_is_done_with_a_thing_once_it_is_made_is_in_the_name(first: str, second: str, name: str | None) -> None:
    assert names(DEED.format(first=first, second=second)).get((3, 7)) == name


CHANGED = """
        def work(rows, column, limit):
            log.debug(limit)
            if isinstance(column, list):
                raise KeyError(column)
            elif not isinstance(column, slice):
                {change}
            log.debug(limit)
            return rows.at(column)
"""


@pytest.mark.parametrize("value", ["slice(column, column)", "sort(column)", "parse_column(column)"])
def test_a_name_does_not_tell_what_is_done_on_one_path_only(value: str) -> None:
    found = names(CHANGED.format(change=f"column = {value}"))
    # Authors rarely say so, and then there is no name.
    assert found.get((3, 6)) in (None, "_normalize_column")


def test_what_is_asked_for_where_it_is_missing_is_told_by_the_asking() -> None:
    source = """
        def work(rows, column, limit):
            log.debug(limit)
            if not column:
                console.print("Which one?")
                column = prompt("Column")
            log.debug(limit)
            return rows.at(column)
    """
    assert names(source)[3, 5] == "_prompt_column"


KEYS = """
        def work(name, kind, headers, limit):
            log.debug(limit)
            if kind == "auto":
                kind, encoding = guess(name)
                if encoding:
                    headers[{first}] = encoding

            if kind:
                headers[{second}] = kind
            log.debug(headers)
            return limit.ask(headers)
"""


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        ("'Content-Encoding'", "'Content-Type'", "_set_content_encoding_and_type"),
        ("'Content-Type'", "'Content-Type'", "_set_content_type"),
        ("'content_type'", "'content_type'", "_set_content_type"),
        ("'Content-Type'", "'Length'", None),
        ("'Content-Type'", "kind", None),
    ],
)
def test_what_sets_fixed_items_is_named_after_them(first: str, second: str, name: str | None) -> None:
    found = names(KEYS.format(first=first, second=second))
    assert found.get((3, 9)) == name


@pytest.mark.parametrize(("end", "is_told"), [("yield row, schema", True), ("limit.show(row, schema)", False)])
def test_a_branch_that_yields_is_named_after_what_the_function_does_and_its_case(end: str, is_told: bool) -> None:
    source = f"""
        def filter(rows, group_schema, limit):
            log.debug(limit)
            if group_schema:
                for row, schema in rows.of(group_schema):
                    if schema is None:
                        continue
                    {end}
            if rows:
                log.debug(rows)
                log.debug(limit)
                log.debug(limit, rows)
                log.debug(limit, limit)
                log.debug(rows, rows)
                log.debug(rows, limit)
                log.debug(limit, None)
            yield rows, limit
    """
    found = names(source, "filter")
    assert (found.get((4, 7)) == "_filter_group_schema") is is_told


@pytest.mark.parametrize(
    ("first", "second", "output", "name"),
    [
        ("CreateViewToTableOp", "CreateViewOp", "create", "_build_create_view_op"),
        ("DropViewToTableOp", "DropViewOp", "drop", "_build_drop_view_op"),
        ("ViewToTable", "ViewOfRows", "drop", None),
        ("CreateViewOp", "make_view", "create", None),
        ("CreateViewOp", "CreateViewList", "wide_change", "_create_wide_change"),
    ],
)
def test_one_of_two_things_is_named_after_what_their_classes_share(
    first: str, second: str, output: str, name: str | None
) -> None:
    source = f"""
        def work(view, limit):
            log.debug(limit)
            if view.table:
                {output} = {first}(view.name, view.table)
            else:
                columns = view.columns
                {output} = {second}(view.name, *columns)
            log.debug(limit)
            return limit.ask({output})
    """
    assert names(source).get((3, 7)) == name
