"""A block is named after the case that it is for, where the function around it tells the rest."""

from __future__ import annotations

import pytest

from tests.capabilities.violation_fix.test_names_of_blocks import names

LONG = """
                size = len(value)
                if size > 3:
                    value = value[:3]
                    size = 3
"""


def test_a_branch_that_returns_is_named_after_the_function_and_the_type_of_its_parameter() -> None:
    source = f"""
        def parse_color(value):
            if isinstance(value, bytes):{LONG}
                return value * size
            return value
    """
    assert "_parse_color_from_bytes" in names(source, "parse_color").values()


def test_a_function_without_a_word_in_its_name_names_no_case() -> None:
    source = f"""
        def _(value):
            if isinstance(value, bytes):{LONG}
                return value * size
            return value
    """
    assert not any("bytes" in name for name in names(source, "_").values())


def test_a_named_tuple_takes_a_new_method() -> None:
    source = """
        class Color(NamedTuple):
            value: int

            def downgrade(self, system):
                triplet = None
                for each in self.palette:
                    if each.system == system:
                        triplet = each.triplet
                        break
                print(triplet, self.value)
                return triplet
    """
    assert names(source, "Color.downgrade")[5, 9] == "_find_triplet"


def test_a_branch_that_binds_the_only_result_is_named_like_one_that_returns() -> None:
    source = f"""
        def cast(value, kind):
            if kind == "number":{LONG}
                rv = value * size
            else:
                rv = value
            return rv
    """
    assert "_cast_number" in names(source, "cast").values()
    assert "_cast_number" not in names(source.replace("return rv", "return rv, kind"), "cast").values()


def test_names_follow_the_camel_case_of_the_file() -> None:
    source = f"""
        def prettyIn(value):
            if isinstance(value, tuple):{LONG}
                return value * size
            return value
    """
    assert "_prettyInTuple" in names(source, "prettyIn").values()
    assert "_prettyInTuple" not in names(source + "\n        def other_one(): pass\n" * 2, "prettyIn").values()


HANDLED = """
        def work(peer):
            try:
                peer.open()
            except {caught}:
                retries = peer.count()
                if retries > 3:
                    reset_all()
                    peer.wait(retries)
"""


@pytest.mark.parametrize("caught", ["ConnectionResetError", "ssl.SSLWantReadError as error", "(OSError, ValueError)"])
def test_what_a_handler_does_is_not_told_by_the_exception(caught: str) -> None:
    assert not any(name.startswith("_handle_") for name in names(HANDLED.format(caught=caught)).values())


def test_a_handler_that_does_one_thing_is_named_after_that() -> None:
    source = """
        def work(peer, limit):
            try:
                peer.open()
            except ConnectionResetError:
                for attempt in range(limit):
                    if attempt > 3:
                        peer.restart_session(attempt)
    """
    assert names(source)[5, 7] == "_restart_sessions"


COMMENTED = """
        def work(graph, pages, limit):
            log.debug(graph)
            # {comment}
            for page in pages:
                if page.size > limit:
                    graph.add_page(page)
                    graph.mark(limit)

            return graph
"""


@pytest.mark.parametrize(
    ("comment", "name"),
    [
        ("Remove the last outputs corresponding to unnamed values, now that they are inputs", None),
        ("Merge the pages related to one that is too large", None),
        ("Update the coordinates and the names with what is given", None),
        ("Collect the names of pages that are too large for it", None),
        ("Prepare pages for all those who read them later", None),
        ("Merge pages with drafts", "_merge_pages_with_drafts"),
        ("Move pages to graph", "_move_pages_to_graph"),
        ("Merge pages to avoid gaps in the list", "_merge_pages"),
        ("Merge the pages of all", "_merge_pages"),
        ("Merge the pages in the order in which they come", "_merge_pages"),
        ("Open Graph metadata", None),
        ("Query parameters", None),
        ("Filter options", None),
        ("Filter pages", "_filter_pages"),
        ("Filter the options", "_filter_options"),
        ("Open pages", "_open_pages"),
    ],
)
def test_a_comment_names_a_block_if_it_is_a_command_and_not_cut_short(comment: str, name: str | None) -> None:
    assert names(COMMENTED.format(comment=comment)).get((3, 7)) == name


ARGUMENTS = """
        {head}
            if not isinstance(mode, str):
                raise TypeError(mode)
            if not isinstance(limit, int):
                raise TypeError(limit)
            if limit < 3:
                raise ValueError(limit)
            return mode * limit
"""


@pytest.mark.parametrize(
    ("head", "other", "name"),
    [
        ("def scale_picture(mode, limit):", "", "_check_arguments"),
        ("def scale_picture(mode, limit):", "def draw(): ...", "_check_picture_arguments"),
        ("def picture_from_bytes(mode, limit):", "def draw(): ...", "_check_picture_arguments"),
        ("def scale_picture(mode, limit):\n            def inner(): ...", "", "_check_arguments"),
    ],
)
def test_a_check_of_arguments_is_told_from_those_of_other_functions(head: str, other: str, name: str) -> None:
    source = ARGUMENTS.format(head=head) + f"\n        {other}\n"
    assert name in names(source, head[4 : head.index("(")]).values()


@pytest.mark.parametrize(
    ("function", "other", "name"),
    [
        ("graph_from_picture", "def draw(picture): ...", "_check_graph_picture"),
        ("graph_from_picture", "def draw(page): ...", "_check_picture"),
        ("scale_picture", "def draw(picture): ...", "_check_picture"),
    ],
)
def test_a_check_of_what_other_functions_take_too_is_told_by_its_function(function: str, other: str, name: str) -> None:
    source = f"""
        def {function}(picture):
            if picture.width > 3:
                raise ValueError(picture)
            if picture.height > 3:
                raise ValueError(picture)
            if picture.depth > 3:
                raise ValueError(picture)
            return picture.scaled

        {other}
    """
    assert name in names(source, function).values()


def test_what_is_done_with_something_that_may_be_missing_is_named_after_it() -> None:
    source = """
        def work(query, filters, page):
            if filters is not None:
                query.add(filters)
                for each in page.parts:
                    query.join(each)
                    page.forget(each)
            query.limit = page.size
            page.show(query)
            return query.run()
    """
    assert names(source)[2, 6] == "_apply_filters"
    # What is only asked for tells when something is done, not what.
    assert "_apply_filters" not in names(source.replace("query.add(filters)", "query.add(page)")).values()


@pytest.mark.parametrize(
    ("comment", "name"),
    [
        ("Wait for the transfer phase to complete.", "_wait_for_transfer_phase"),
        ("Convert to the transfer phase", "_convert_to_transfer_phase"),
        ("Check for the transfer phase", None),
    ],
)
def test_verbs_keep_their_preposition(comment: str, name: str | None) -> None:
    source = f"""
        async def work(self, transfer):
            # {comment}
            if hasattr(transfer, "phase"):
                try:
                    await transfer.phase
                except KeyError:
                    pass

            return self.state
    """
    assert names(source).get((2, 7)) == name


def test_a_comment_above_an_elif_names_its_branch() -> None:
    source = """
        def work(rows, table, mode):
            if mode == 3:
                rows.clear()
            # Merge the duplicate rows.
            elif mode == 4:
                for row in list(rows):
                    if row in table.seen:
                        rows.remove(row)
                        table.merge(row)
            return rows
    """
    assert "_merge_duplicate_rows" in names(source).values()


def test_a_message_that_opens_a_block_tells_what_it_does() -> None:
    source = """
        def work(log, path, store):
            if not path.exists():
                log.info("Creating cache directory")
                path.mkdir()
                if store.is_private:
                    store.lock(path)
            return store.open(path)
    """
    assert "_create_cache_directory" in names(source).values()
    assert "_create_cache_directory" not in names(source.replace("Creating cache", "Created cache")).values()


def test_the_rest_of_a_function_is_named_after_what_it_is_made_of() -> None:
    source = """
        def guess_encoding(data):
            sample = data[:4]
            if sample in MARKS:
                return MARKS[sample]
            nulls = sample.count(0)

            if nulls == 2:
                if data[0] == 0:
                    return "utf-16-be"
                return "utf-16-le"
            if nulls == 3:
                return "utf-32"
            return None
    """
    assert "_guess_encoding_from_nulls" in names(source, "guess_encoding").values()
    # A noun does not say what is done, and the last item of a loop is nothing that the rest is made of.
    named = source.replace("guess_encoding", "encoding_validator")
    assert not any("from_nulls" in name for name in names(named, "encoding_validator").values())
    last = source.replace("nulls = sample.count(0)", "for nulls in sample: pass")
    assert not any("from_nulls" in name for name in names(last, "guess_encoding").values())


def test_what_is_left_after_a_test_of_type_is_named_after_the_type() -> None:
    source = """
        def cast(value, table):
            if value in table:
                return table[value]
            if not isinstance(value, str):
                raise TypeError(value)

            value = value.strip()
            size = len(value)
            if size > 3:
                value = value[:3]
                size = 3
            return value * size
    """
    assert "_cast_str" in names(source, "cast").values()
    assert "_cast_str" not in names(source.replace("raise TypeError(value)", "value = 3"), "cast").values()


def test_a_loop_that_adds_to_one_collection_is_named_after_both() -> None:
    source = """
        def compare(removed, table, changes):
            for constraint in removed.difference(table):
                if constraint.is_named:
                    changes.ops.append(drop(constraint))
                    log.info(constraint)
            changes.close(table)
            return table
    """
    assert names(source, "compare")[2, 5] == "_add_ops_for_constraints"
    assert (2, 5) not in names(source.replace("log.info", "table.see"), "compare")


@pytest.mark.parametrize(
    ("comment", "name"),
    [
        ("Merge the attributes of enums", "_merge_attributes_of_enums"),
        ("Merge the attributes of all of them", "_merge_attributes"),
    ],
)
def test_a_comment_tells_which_of_its_objects_is_meant(comment: str, name: str) -> None:
    source = f"""
        def work(enums, mode, attributes):
            # {comment}
            if mode:
                for each in enums:
                    attributes.merge(each, attributes)
                    each.seal(enums)
            return mode
    """
    assert name in names(source).values()


@pytest.mark.parametrize(("case", "name"), [("footer", "_read_footer"), ("search", None), ("function", None)])
def test_one_word_that_could_be_about_anything_is_no_case_of_a_verb(case: str, name: str | None) -> None:
    source = f"""
        def read(stream, kind, table):
            if kind == "header":
                stream.skip(3)
            elif kind == "{case}":
                size = stream.size
                if size > 3:
                    size = 3
                stream.rest(size)
                table.mark(stream)
            elif kind == "body":
                stream.skip(5)
            return stream
    """
    found = {each for each in names(source, "read").values() if each.startswith("_read_")}
    assert found == ({name} if name else set())
