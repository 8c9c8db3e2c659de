"""No cut leaves half of a piece of work behind, and new functions look as if they had always been there."""

from __future__ import annotations

import ast
import textwrap

import pytest

from actors.capabilities.violation_fix.refactoring.cutting.candidates import find_candidates
from actors.capabilities.violation_fix.refactoring.extraction import extract_function
from actors.capabilities.violation_fix.refactoring.outcomes import Refactored
from actors.capabilities.violation_fix.refactoring.simplifications.registry import simplify_statement


def written(source: str) -> str:
    return textwrap.dedent(source).lstrip("\n")


def names(source: str, function: str = "work") -> set[str]:
    return {one.suggested_name for one in find_candidates(written(source), function)}


FILLED = """
    def work(record, reader):
        print(record)

        metadata = {{}}
        for key in record.keys:
            if record.known(key):
                metadata[key] = record.sizes[key]

        print(reader)
        {after}
        return metadata
"""


@pytest.mark.parametrize(
    ("after", "is_half"),
    [
        ("metadata['size'] = 3", True),
        ("metadata.update(reader.defaults)", True),
        ("if not metadata: metadata = reader.defaults", True),
        ("if metadata is None: metadata = reader.defaults", True),
        ("if metadata is not record: metadata = reader.defaults", False),
        ("reader.accept(metadata)", False),
    ],
)
def test_no_result_is_returned_half_built(after: str, is_half: bool) -> None:
    found = find_candidates(written(FILLED.format(after=after)), "work")
    assert any(one.end_line == 7 for one in found) is not is_half


SUMMED = """
    def work(case, used):
        print(case)

        score = 0.0
        for word in case.words:
            if word in used:
                score += word.weight

        print(used)
        {after}
        return score
"""


@pytest.mark.parametrize(
    ("after", "is_half"),
    [("score += 0.2", True), ("if used: score += 0.2", True), ("used += [score]", False), ("score = -score", False)],
)
def test_no_sum_is_returned_before_it_is_complete(after: str, is_half: bool) -> None:
    found = find_candidates(written(SUMMED.format(after=after)), "work")
    assert any(one.end_line == 7 for one in found) is not is_half


@pytest.mark.parametrize(("before", "is_half"), [("self.column_width = 0", True), ("self.row_height = 0", False)])
def test_no_attribute_is_assigned_half_in_the_function_and_half_in_a_new_one(before: str, is_half: bool) -> None:
    source = f"""
        class Table:
            def work(self, rows):
                {before}
                print(rows)

                if rows.wide:
                    self.column_width = rows.width
                elif rows.narrow:
                    self.column_width = rows.width / 2

                print(rows)
    """
    assert ("_set_column_width" in names(source, "Table.work")) is not is_half


@pytest.mark.parametrize(("start", "is_half"), [("0", True), ("rows.start", False)])
def test_no_start_value_is_left_behind(start: str, is_half: bool) -> None:
    source = f"""
        def work(rows, writer):
            print(rows)
            if rows:
                offset = {start}
                for row in rows:
                    offset += len(row)
                    if offset > 3:
                        writer.verify(row)
            print(writer)
    """
    found = find_candidates(written(source), "work")
    assert any("offset" in one.inputs for one in found) is not is_half


def test_no_function_beside_a_class_takes_self() -> None:
    source = """
        class Client:
            def handler(function):
                def work(self, request):
                    print(request)

                    metadata = {}
                    for name in request.names:
                        if self.known(name):
                            metadata[name] = request.sizes[name]

                    print(request)
                    return function(metadata)

                return work
    """
    assert names(source, "Client.handler.<locals>.work") == set()


def test_what_is_inserted_is_the_argument_not_what_a_loop_goes_through() -> None:
    source = """
        def work(tree, identifiers, separator):
            print(tree)
            for identifier in identifiers:
                if identifier.is_long:
                    tree.insert_before(identifier, separator)
                else:
                    tree.insert_after(identifier, separator)
            print(separator)
    """
    assert "_insert_identifiers" not in names(source)


def test_what_a_loop_looks_up_for_each_item_is_not_the_one_object_that_changes() -> None:
    source = """
        def handle_events(streams, connection, limit):
            print(limit)
            for event in connection.events:
                stream = streams[event.stream_id]
                if event.is_last:
                    stream.trailers = event.headers
                    stream.finish(event.headers)
            print(limit)
    """
    found = find_candidates(written(source), "handle_events")
    assert not [one.suggested_name for one in found if one.start_line == 3]


@pytest.mark.parametrize(
    "raising", ["assert row.width > 3", "pytest.fail('too narrow')", "self.fail('too narrow')", "raise ValueError(row)"]
)
def test_assertions_raise(raising: str) -> None:
    source = f"""
        class Cases:
            def work(self, rows, pytest):
                print(rows)
                for row in rows:
                    if row.width < 3:
                        {raising}
                print(self)
    """
    assert "_check_rows" in names(source, "Cases.work")


def test_tests_are_named_after_the_subject_of_their_messages() -> None:
    source = """
        def work(host, port, server):
            print(host)
            if not isinstance(port, int):
                raise TypeError("The port must be a number")
            if server.is_taken(host):
                raise ValueError(f"port is taken by {host}")
            if server.limit < 3:
                raise ValueError("port must be %d at least" % server.limit)
            print(server)
    """
    assert "_check_port" in names(source)


@pytest.mark.parametrize("message", ["something went wrong", "It must not be", "frobnicator must be set"])
def test_a_message_without_a_subject_that_the_code_knows_names_nothing(message: str) -> None:
    source = f"""
        def work(host, port, server):
            print(host)
            if not isinstance(port, int):
                raise TypeError("{message}")
            if server.is_taken(host):
                raise ValueError("{message}")
            print(server)
    """
    assert not any(name.startswith("_check") and name != "_check_arguments" for name in names(source))


def test_no_name_differs_from_that_of_the_caller_by_a_verb_of_the_same_sense() -> None:
    source = """
        def validate_port(port, server):
            print(server)
            if not isinstance(port, int):
                raise TypeError(port)
            if port > 3:
                raise ValueError(port)
            print(server)
    """
    assert "_check_port" not in names(source, "validate_port")
    assert "_check_port" in names(source.replace("validate_port", "open_server"), "open_server")


def test_what_gives_a_result_back_is_called_no_check() -> None:
    source = """
        def validate_value(text):
            state = START
            for letter in text:
                if state == STATE_ESCAPE:
                    if letter in HEX_DIGITS:
                        state = STATE_HEX
                    elif letter in ODD_LETTERS:
                        state = STATE_ANY
                elif state == STATE_HEX:
                    print(letter)
                elif state == STATE_ANY:
                    print(text)
            return state
    """
    assert not any(name.startswith("_validate_state") for name in names(source, "validate_value"))


@pytest.mark.parametrize(("other", "is_told"), [("page.author = 3", False), ("row.author = 3", True)])
def test_an_object_that_all_of_the_function_changes_names_no_part_of_it(other: str, is_told: bool) -> None:
    source = f"""
        def work(page, row, limit):
            {other}
            print(limit)
            if page.is_long:
                page.width = limit
                page.height = row.height
                page.finish()
            print(limit)
    """
    assert ("_update_page" in names(source)) is is_told


def test_a_heading_in_a_function_that_builds_is_what_is_added() -> None:
    source = """
        def build_stack(stack, options):
            stack.prepare()

            # Serializer
            if options.format:
                if options.strict:
                    stack.postprocess.append(options.strict)
                stack.postprocess.append(options.format)

            return stack
    """
    assert "_add_serializer" in names(source, "build_stack")


def test_a_function_before_its_caller_has_as_many_blank_lines_above_as_below() -> None:
    source = written("""
        import os

        class Table:
            @staticmethod
            def work(rows):
                print(os.name)
                for row in rows:
                    if row:
                        print(row)
                return rows
    """)
    done = extract_function(source, 7, 9, "_print_rows")
    assert isinstance(done, Refactored)
    assert "import os\n\n\ndef _print_rows" in done.source


def test_the_docstring_of_a_moved_function_gets_its_new_indent() -> None:
    source = written('''
        def work(rows):
            def find_widest_cell(row):
                """Return the widest cell.

                Nothing else.
                """
                return max(cell for cell in row if cell)

            return [find_widest_cell(row) for row in rows if row]
    ''')
    done = simplify_statement(source, 2, "move_out")
    assert isinstance(done, Refactored), done
    assert '\n    Nothing else.\n    """\n' in done.source
    ast.parse(done.source)
