"""A block is named after all that it does, or not at all."""

from __future__ import annotations

import textwrap

import pytest

from actors.capabilities.violation_fix.refactoring.cutting.candidates import find_candidates


def names(source: str, function: str = "work") -> dict[tuple[int, int], str]:
    """Return the names proposed for `function`, by the first and last line of the block, counted from its `def`."""
    found = find_candidates(textwrap.dedent(source).lstrip("\n"), function)
    return {(one.start_line, one.end_line): one.suggested_name for one in found}


def test_a_block_with_one_result_is_named_after_it_and_how_it_comes_about() -> None:
    source = """
        def work(rows, limit):
            widest_row = None
            for row in rows:
                if len(row) > limit:
                    widest_row = row
                    break
            print(widest_row)
            return widest_row
    """
    assert names(source)[2, 6] == "_find_widest_row"


@pytest.mark.parametrize(
    "hidden",
    ["self.status = 1", "self.peer.verify(row)", "totals[row] = 1", "handler(row)"],
    ids=["attribute", "call", "item", "function"],
)
def test_no_result_names_a_block_that_does_something_else_besides(hidden: str) -> None:
    source = f"""
        class Table:
            def work(self, rows, totals, handler):
                widest_row = None
                for row in rows:
                    if row.width > 3:
                        {hidden}
                        widest_row = row
                        break
                print(widest_row)
                return widest_row
    """
    assert "_find_widest_row" not in names(source, "Table.work").values()


def test_a_message_to_the_log_is_nothing_that_a_name_has_to_tell() -> None:
    source = """
        def work(rows, logger):
            widest_row = None
            for row in rows:
                if row.width > 3:
                    logger.debug("wide")
                    widest_row = row
                    break
            print(widest_row)
            return widest_row
    """
    assert names(source)[2, 7] == "_find_widest_row"


def test_a_flag_is_no_result_to_name_a_block_after() -> None:
    source = """
        def work(rows, limit):
            reject = False
            for row in rows:
                if len(row) > limit:
                    reject = True
            print(reject)
            return reject
    """
    assert names(source) == {}


def test_results_of_one_kind_are_named_together() -> None:
    source = """
        def work(start_date, end_date):
            print(start_date)

            if isinstance(start_date, str):
                start_date = start_date.strip()
            if isinstance(end_date, str):
                end_date = end_date.strip()

            print(end_date)
            return start_date, end_date
    """
    found = names(source)
    assert found.get((4, 7), "_normalize_dates") == "_normalize_dates"
    assert not any("_and_" in name for name in found.values())


def test_an_item_under_a_fixed_key_is_set_like_an_attribute() -> None:
    source = """
        def work(figure, image, config):
            print(figure)

            if config.scaled:
                try:
                    figure["width"] = image.size
                except OSError:
                    pass
            elif config.width:
                figure["width"] = config.width

            return figure
    """
    assert names(source)[4, 10] == "_set_figure_width"


def test_no_block_begins_in_the_middle_of_a_chain() -> None:
    source = """
        def work(kind, rows):
            widest_row = None
            if kind == "first":
                widest_row = rows[0]
            elif kind == "last":
                widest_row = rows[-1]
            elif kind == "longest":
                for row in rows:
                    if len(row) > 3:
                        widest_row = row
            return widest_row
    """
    assert not any(start in (5, 7) for start, _ in names(source))


def test_no_name_differs_from_a_called_function_by_underscores_alone() -> None:
    source = """
        def work(rows):
            widest_row = None
            for row in rows:
                if len(row) > 3:
                    widest_row = row
                    break
            print(findwidestrow(rows))
            return widest_row
    """
    assert "_find_widest_row" not in names(source).values()


def test_words_of_names_stay_as_the_code_spells_them() -> None:
    source = """
        def work(rows):
            utf8_header = None
            for row in rows:
                if len(row) > 3:
                    utf8_header = row
                    break
            print(utf8_header)
            return utf8_header
    """
    assert names(source)[2, 6] == "_find_utf8_header"


@pytest.mark.parametrize("noun", ["found", "trcbck", "res", "x1"])
def test_a_result_that_nobody_could_read_out_names_nothing(noun: str) -> None:
    source = f"""
        def work(rows):
            {noun} = None
            for row in rows:
                if len(row) > 3:
                    {noun} = row
                    break
            print({noun})
            return {noun}
    """
    assert names(source) == {}


@pytest.mark.parametrize(
    ("comment", "name"),
    [
        ("# Check required keys", "_check_required_keys"),
        ("# Set up what nobody needs", None),
        ("# Almost silly how complex this is: keys", None),
    ],
)
def test_a_comment_names_a_block_only_as_a_command_about_what_is_in_it(comment: str, name: str | None) -> None:
    source = f"""
        def work(settings, strict):
            print(settings)
            {comment}
            for key in ("name", "version"):
                if key not in settings:
                    if strict:
                        raise KeyError(key)
                    settings[key] = None
                    print(key)
            return settings
    """
    assert names(source).get((3, 9)) == name


def test_an_item_that_a_loop_stops_at_is_found() -> None:
    source = """
        def work(sequences, text):
            print(text)
            for sequence in sequences:
                if sequence.match(text):
                    break
            else:
                raise ValueError(text)
            print(text)
            return sequence
    """
    assert names(source)[3, 7] == "_find_sequence"


def test_a_comment_does_not_name_what_stands_behind_a_blank_line() -> None:
    source = """
        def work(tokens, rows):
            if tokens:
                # Ensure tokens
                for token in tokens:
                    token.ensure(1)

                for row in rows:
                    row.finish(tokens)
                rows.sort()
            print(rows)
            return tokens
    """
    assert names(source).get((3, 9)) != "_ensure_tokens"
    assert names(source).get((4, 5)) in (None, "_ensure_tokens")


def test_a_name_that_promises_a_result_is_not_given_to_a_block_without_one() -> None:
    source = """
        def work(pipe, converters):
            print(converters)
            # Get parameter type
            if converters:
                parameter = converters[0]
                if parameter:
                    pipe.annotations["type"] = parameter.kind
            print(pipe)
    """
    assert "_get_parameter_type" not in names(source).values()


def test_a_function_defined_in_a_block_is_no_result_that_was_got() -> None:
    source = """
        def work(types, strict):
            if types is None:
                types = {}

            def convert(value):
                if strict:
                    return types[value]
                return value

            return convert
    """
    assert not any("convert" in name for name in names(source).values())


def test_half_of_something_symmetric_stays_beside_its_other_half() -> None:
    source = """
        def work(rows, columns, limit):
            {before}
            row_width = 0
            for row in rows:
                if row.width > limit:
                    row_width += row.width * 2
            return row_width, column_width
    """
    twin = """column_width = 0
            for column in columns:
                if column.width > limit:
                    column_width += column.width * 2"""
    assert "_compute_row_width" in names(source.format(before="column_width = len(columns)")).values()
    assert names(source.format(before=twin)) == {}


def test_what_calls_for_an_effect_is_not_told_to_determine_something() -> None:
    source = """
        def work(peer, text, is_long):
            if is_long:
                reply = peer.{call}(text)
            else:
                reply = peer.{call}(text, 1)
            print(reply)
            return reply
    """
    assert names(source.format(call="lookup")) != {}
    assert all("determine" not in name for name in names(source.format(call="request")).values())


def test_a_loop_over_pairs_is_named_after_the_second_of_each() -> None:
    source = """
        def index_rows(table, columns):
            for number, row in enumerate(table):
                if row.width > 3 and number:
                    columns.append(row.width)
                elif row.height:
                    columns.append(row.height)
            print(table)
            return columns
    """
    assert "_index_row" in names(source, "index_rows").values()


def test_guards_are_no_part_of_getting_a_result() -> None:
    source = """
        def work(request):
            {guard}
            headers = request.headers
            if "host" in headers:
                headers = headers["host"]

            print(headers)
            return headers
    """
    guard = "if request.protocol != 1:\n                raise ValueError(request)"
    assert all("get" not in name for name in names(source.format(guard=guard)).values())


def test_an_ordinal_that_opens_a_comment_is_no_noun() -> None:
    source = """
        def collect_rows(table, limit):
            found = []
            # Second, drop empty rows.
            for row in table.rows:
                if not row and limit:
                    table.rows.remove(row)
                    table.count(row)

            print(limit)
            return found
    """
    proposed = names(source, "collect_rows").values()
    assert "_drop_empty_rows" in proposed
    assert all("second" not in name for name in proposed)


def test_all_statements_that_make_one_result_are_a_block() -> None:
    source = """
        def work(lines, files, strict):
            print(strict)
            wanted_names = []
            for line in lines:
                if line.startswith("+"):
                    wanted_names.append(line)
            for file in files:
                wanted_names.extend(file.names)
            if strict:
                print(files)
            return wanted_names
    """
    assert names(source)[3, 8] == "_collect_wanted_names"


def test_what_a_loop_does_before_it_hands_on_a_result_is_a_block() -> None:
    source = """
        def work(lines, output):
            for line in lines:
                line = line.strip()
                size = len(line)
                log.debug(size)
                log.debug(line)
                log.debug(output)
                label = None
                for word in line.split():
                    if word.isupper():
                        label = word
                        break
                output.append(label)
            return output
    """
    assert names(source)[3, 12] == "_find_label"


def test_what_follows_a_docstring_begins_a_paragraph() -> None:
    source = """
        def work(rows, limit):
            '''Work.'''
            log.debug(limit)
            log.debug(rows)
            log.debug(1)
            log.debug(2)
            log.debug(3)
            widest_row = None
            for row in rows:
                if row.width > limit:
                    widest_row = row
                    break
            log.debug(4)
            log.debug(5)

            log.debug(widest_row)
            return widest_row
    """
    assert (3, 14) in names(source)


@pytest.mark.parametrize(("other", "is_named"), [("default not in {MISSING, False}", False), ("default < 0", True)])
def test_a_check_that_stands_twice_with_other_values_stays_where_it_is(other: str, is_named: bool) -> None:
    source = f"""
        def work(action, default):
            if action == "store_false":
                if default not in {{MISSING, True}}:
                    raise RuntimeError(
                        "default should not be passed or set "
                        "to True when using store_false."
                    )
                default = True
            elif action == "store_true":
                if {other}:
                    raise RuntimeError("default should not be passed or set to False when using store_true.")
                default = False
            return default
    """
    assert ((3, 7) in names(source)) is is_named


def test_what_a_function_creates_is_not_what_it_goes_through() -> None:
    source = """
        class Store:
            def create_index(self, fields, is_sparse):
                print(fields)
                if is_sparse:
                    stored = self.documents
                    for doc in stored:
                        key = tuple(doc.get(field) for field in fields)
                        if key in self.seen:
                            stored.throw(KeyError(key))
                        self.seen.add(key)
                return fields
    """
    assert not any(name.startswith("_create_doc") for name in names(source, "Store.create_index").values())


def test_what_a_function_creates_one_by_one_names_the_loop() -> None:
    source = """
        class Store:
            def create_indexes(self, indexes):
                print(indexes)
                for index in indexes:
                    if index.is_sparse:
                        self.drop(index)
                    self.add(index)
                    self.count(index)
                return 1
    """
    assert "_create_indexes" not in names(source, "Store.create_indexes").values()
    assert "_create_index" in names(source, "Store.create_indexes").values()


def test_a_result_that_is_always_the_same_constant_names_nothing() -> None:
    source = """
        def work(element, children):
            print(element)
            element.check()
            index = 0
            for child in children:
                descendant = None
                if index == 0:
                    assert child.previous is element
                    assert child.parent is element
                else:
                    assert child.previous is children[index - 1]
                    assert child.parent is None

                if child.contents:
                    descendant = work(child, child.contents)
                print(child)
                index += 1
                element = descendant or child
            return element
    """
    assert "_get_descendant" not in names(source).values()
