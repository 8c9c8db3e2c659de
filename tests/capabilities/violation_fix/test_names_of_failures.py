"""A block is named after what messages, numbered comments, settings and classes say of all that it does."""

from __future__ import annotations

import pytest

from actors.capabilities.violation_fix.refactoring.naming.failure_names import words_tried
from actors.capabilities.violation_fix.refactoring.naming.name_words import noun_quality
from tests.capabilities.violation_fix.test_names_of_blocks import names


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("Cannot change permissions of files or directory in `", ["change", "permissions"]),
        ("Could not read the header: ", ["read", "header"]),
        ("couldn't parse config file %s", ["parse", "config", "file"]),
        ("ERROR: Failed to load plugin metadata (%s)", ["load", "plugin", "metadata"]),
        ("Unable to write lock file", ["write", "lock", "file"]),
        ("Error while parsing request headers", ["parse", "request", "headers"]),
        ("An exception occurred during loading user settings", ["load", "user", "settings"]),
        ("could not open %s", []),
        ("could not open '", []),
        ("The header could not be read", []),
        ("error in line", []),
        ("Failed to do something", []),
        ("Reading the header", []),
    ],
)
def test_a_message_of_failure_says_what_was_tried(message: str, words: list[str]) -> None:
    assert words_tried(message) == words


TRIED = """
        def work(self, path, log):
            log.start()
            try:
                for root, folders in walk(path):
                    for folder in folders:
                        chmod(join(root, folder), 493)
                        touch(root)
            except OSError as error:
                log.fail(f"Cannot change permissions of files in {path}: {error}")
            log.end()
"""


def test_a_try_is_named_after_what_its_handler_says_has_failed() -> None:
    found = names(TRIED)
    assert found[3, 9] == "_change_permissions"
    assert found[4, 7] == "_change_permissions"


def test_handlers_that_speak_of_different_work_name_nothing() -> None:
    other = 'except KeyError:\n                log.fail("Could not find folders")\n            except OSError'
    assert "_change_permissions" not in names(TRIED.replace("except OSError", other)).values()


def test_a_message_that_is_not_the_handlers_names_nothing() -> None:
    moved = TRIED.replace('log.fail(f"Cannot change permissions of files in {path}: {error}")', "raise")
    moved = moved.replace("log.end()", 'log.end("Cannot change permissions")')
    assert "_change_permissions" not in names(moved).values()


@pytest.mark.parametrize(
    ("comment", "is_named"),
    [
        ("First pass: determine the longest row of all", True),
        ("Step 2: determine the longest row", True),
        ("3. Determine the longest row", True),
        ("2nd pass: determine the longest row", True),
        ("We try to determine the longest row", True),
        ("This determines the longest row", True),
        ("(b) Determine the longest row", True),
        ("Rows: determine the longest row", False),
    ],
)
def test_the_number_of_a_step_is_no_part_of_what_a_comment_says(comment: str, is_named: bool) -> None:
    source = f"""
        def work(self, rows):
            # {comment}
            found = None
            for row in rows:
                if found is None or len(row) > len(found):
                    found = row
            self.show(found)
            return found
    """
    assert ("_determine_longest_row" in names(source).values()) is is_named


def test_an_output_is_told_by_the_word_that_it_is_short_for() -> None:
    source = """
        def work(self, rows):
            # Determine the maximum length
            max_len = 0
            for row in rows:
                if row:
                    max_len = max(max_len, len(row))
            self.show(max_len)
            return max_len
    """
    assert "_determine_maximum_length" in names(source).values()


SETTINGS = """
        class Builder:
            def work(self, paths, macros):
                self.start()
                if paths is not None:
                    self.compiler.set_paths(paths)
                for name in macros:
                    self.compiler.define_macro(name)
                if macros:
                    self.compiler.enable_macros()
                self.end()
"""


def test_settings_of_one_object_configure_it() -> None:
    assert names(SETTINGS, "Builder.work")[4, 9] == "_configure_compiler"
    two = SETTINGS.replace("enable_macros()", "define_macro(macros)")
    assert "_configure_compiler" not in names(two, "Builder.work").values()
    other = SETTINGS.replace("enable_macros()", "run_macros()")
    assert "_configure_compiler" not in names(other, "Builder.work").values()


def test_what_makes_one_object_is_named_after_its_class_where_the_variable_tells_nothing() -> None:
    source = """
        def work(self, name, parts):
            obj = ChartAxis(name)
            if parts:
                obj.parts = parts
            for part in parts:
                obj.append(part)
            self.show(obj)
            return obj
    """
    assert "_create_chart_axis" in names(source).values()
    assert "_create_chart_axis" not in names(source.replace("ChartAxis(name)", "chart_axis(name)")).values()
    short = source.replace("obj", "ext").replace("ChartAxis", "Extension")
    assert "_create_extension" in names(short).values()


@pytest.mark.parametrize(
    ("test", "name"),
    [
        ("os.path.isdir(path)", "_copy_directory"),
        ("path.is_dir()", "_copy_directory"),
        ("os.path.isfile(path)", "_copy_file"),
        ("inspect.isclass(path)", "_copy_class"),
    ],
)
def test_a_function_of_one_verb_does_so_to_the_case(test: str, name: str) -> None:
    source = f"""
        def copy(path, target):
            if {test}:
                for each in listed(path):
                    if each:
                        transfer(each, target)
                        report(each)
                finish(path)
            else:
                transfer(path, target)
    """
    assert name in names(source, "copy").values()
    taken = (
        source + "\n        def copy_directory(): pass\n        def copy_file(): pass\n        def copy_class(): pass\n"
    )
    assert not any(each.startswith("_handle") for each in names(taken, "copy").values())


def test_the_verb_of_a_docstring_says_nothing_of_a_branch() -> None:
    source = '''
        def flow_to_json(flow, target):
            """Remove what a flow need not carry."""
            if isinstance(flow, HttpFlow):
                path = flow.path
                if path:
                    target.place(path)
                    target.touch(flow)
            elif isinstance(flow, TcpFlow):
                target.touch(flow)
    '''
    assert not any(name.startswith("_remove") for name in names(source, "flow_to_json").values())


def test_what_a_loop_makes_larger_is_updated_not_normalized() -> None:
    source = """
        def work(self, rows, widest):
            for row in rows:
                if row:
                    widest = max(widest, row.width)
                    row.width.check(widest)
            self.show(widest)
            return widest
    """
    assert not any(name.startswith("_normalize") for name in names(source).values())


GIVING_UP = """
        class Builder:
            def work(self, rows, pages):
                for row in rows:
                    page = self.cache.get(row)
                    if page is None:
                        page = self.reader.read_file(row)
                        if not page.is_valid():
                            self.note_failure(row)
                            continue
                        self.keep(row, page)
                    pages.append(page)
                    self.link(row)
                self.end(pages)
                self.rest()
"""


def test_what_is_done_before_a_block_gives_up_is_nothing_that_a_name_has_to_tell() -> None:
    assert names(GIVING_UP, "Builder.work")[4, 10] == "_read_page"
    hidden = GIVING_UP.replace("self.keep(row, page)", "self.keep(row)")
    assert "_read_page" not in names(hidden, "Builder.work").values()
    added = GIVING_UP.replace("self.keep(row, page)", "pages.append(page)")
    assert "_read_page" not in names(added, "Builder.work").values()


@pytest.mark.parametrize(
    ("kind", "name"), [("str", "_ask_str"), ("Fraction", "_ask_fraction"), ("kind_of(page)", None)]
)
def test_a_comparison_with_a_class_names_the_case(kind: str, name: str | None) -> None:
    source = f"""
        def ask(kind, page):
            if kind is {kind}:
                for each in page.parts:
                    if each:
                        page.show(each)
                        page.keep(each)
                page.end()
            elif kind is bytes:
                page.fold()
    """
    assert name is None or name in names(source, "ask").values()
    assert name is not None or not any(each.startswith("_ask") for each in names(source, "ask").values())


def test_a_flag_names_no_object_of_the_only_call_that_it_guards() -> None:
    source = """
        def work(self, page):
            page.start()
            if page.{asked}:
                show(page.head)
                show(page.tail)
                if page.tail:
                    show(page.rest)
            page.end()
    """
    assert "_show_verbosity" not in names(source.format(asked="verbosity")).values()
    assert "_show_drawing" in names(source.format(asked="kind == 'drawing'")).values()


def test_what_is_put_behind_what_was_there_is_not_normalized() -> None:
    source = """
        def work(self, packet, size):
            if size:
                packet = packet + self.pack(size) + self.end
            else:
                packet = packet + self.pack(1)
            self.send(packet)
            return packet
    """
    assert not any(name.startswith("_normalize") for name in names(source).values())


def test_a_comment_on_what_we_do_with_a_reason_names_no_block() -> None:
    source = """
        def work(self, folders, hidden):
            # We copy the folder list as we will modify it
            for folder in list(folders):
                if folder in hidden:
                    folders.remove(folder)
                    note(folder)
            self.end()
    """
    assert not any(name.startswith("_copy") for name in names(source).values())
    plain = source.replace("We copy the folder list as we will modify it", "We copy the folder list")
    assert "_copy_folder_list" in names(plain).values()


def test_not_the_name_of_a_file_is_parsed_but_the_file() -> None:
    source = """
        def parse_config(filenames, parser, options):
            for filename in filenames:
                parser.read(filename)
                for section in parser.sections():
                    if section in options:
                        parser.keep(section)
                parser.forget()
            finish(parser)
            return options
    """
    found = names(source, "parse_config").values()
    assert "_parse_file" in found
    assert "_parse_filename" not in found


def test_who_finds_something_does_not_change_what_was_there() -> None:
    source = """
        def work(self, pattern, parts):
            # Find any special characters
            for part in parts:
                if part in special:
                    pattern = translated(pattern, part)
            self.show(pattern)
            return pattern
    """
    assert "_find_special_characters" not in names(source).values()


def test_an_adjective_names_no_check() -> None:
    source = """
        def work(self, long, parts):
            if not isinstance(long, str) or len(long) < 2:
                raise ValueError(long)
            elif long in parts:
                raise KeyError(long)
            self.show(long)
            return parts
    """
    assert "_check_long" not in names(source).values()
    assert "_check_option" in names(source.replace("long", "option")).values()


@pytest.mark.parametrize(("kind", "is_named"), [("tuple", False), ("Range", True)])
def test_what_is_given_is_not_what_is_built(kind: str, is_named: bool) -> None:
    source = f"""
        def build_table(self, values, table):
            for key, value in values:
                if type(value) is {kind}:
                    if len(value) != 2:
                        raise ValueError(value)
                    for each in spread(value):
                        table[each] = key
                elif type(value) is int:
                    table[value] = key
            return table
    """
    assert any(name.startswith(f"_add_{kind.lower()}") for name in names(source, "build_table").values()) is is_named


POSTS = """
        def read_posts(post, kind):
            if kind == "photo":
                parts = []
                for photo in post.photos:
                    if photo.caption:
                        parts.append(photo.caption)
                content = "\\n".join(parts)
            elif kind == "quote":
                content = post.text
                if post.source:
                    content += post.source
                content += post.end
            else:
                content = post.body
            post.show(content)
            return kind
"""


def test_branches_that_bind_one_thing_are_named_after_the_case_and_that_thing() -> None:
    found = names(POSTS, "read_posts")
    assert found[3, 7] == "_determine_photo_content"
    assert found[9, 12] == "_determine_quote_content"
    hidden = POSTS.replace("content = post.text", "post.read = True\n                content = post.text")
    assert not any(name.endswith("_quote_content") for name in names(hidden, "read_posts").values())


def test_a_branch_without_a_case_is_not_named_after_one() -> None:
    plain = POSTS.replace('kind == "photo"', "post.photos").replace('kind == "quote"', "post.text")
    assert not any(name.endswith("_photos_content") for name in names(plain, "read_posts").values())


@pytest.mark.parametrize(
    ("opening", "verb"),
    [
        ('open(path, encoding="utf-8")', "read"),
        ('open(path, "rb")', "read"),
        ("path.open()", "read"),
        ('open(path, mode="a+")', "collect"),
        ("path.lock()", "collect"),
    ],
)
def test_what_comes_out_of_a_file_is_read(opening: str, verb: str) -> None:
    source = f"""
        def work(self, path, limit):
            posts = []
            with {opening} as stream:
                for line in stream:
                    if len(line) > limit:
                        posts.append(line)
            self.show(posts)
            self.end()
            return posts
    """
    assert names(source)[2, 6] == f"_{verb}_posts"


def test_who_checks_sets_no_attribute() -> None:
    source = """
        class Port:
            def work(self, kind):
                self.start()
                # Check the device type
                if kind == "usb":
                    self.interface = self.path
                elif kind == "pci":
                    self.interface = None
                self.end()
                self.stop()
    """
    assert "_check_device_type" not in names(source, "Port.work").values()


def test_a_call_behind_a_loop_is_nothing_that_the_loop_does() -> None:
    source = """
        class Port:
            def work(self, text):
                self.start()
                for change in self.changes:
                    text = change.apply(text)
                self.port.write(text)
                self.end()
                self.stop()
                return text
    """
    assert "_write_changes" not in names(source, "Port.work").values()


@pytest.mark.parametrize("noun", ["resval", "retval", "newobj", "dval", "reprval", "argstr"])
def test_two_words_that_tell_nothing_tell_no_more_as_one(noun: str) -> None:
    assert noun_quality(noun) == 0.0


@pytest.mark.parametrize("noun", ["interval", "bargain", "market", "carnival"])
def test_words_that_end_like_a_short_one_are_words(noun: str) -> None:
    assert noun_quality(noun) == 1.0


ANSWERS = """
        class Option:
            def receive(self, command):
                self.start()
                if command == self.accept:
                    if self.state is ASKED:
                        self.state = ACTIVE
                        self.notify(self.state)
                    elif self.state is IDLE:
                        self.state = ACTIVE
                        self.answer(command)
                    else:
                        raise ValueError(command)
                elif command == self.refuse:
                    {second}
                self.end()
                self.stop()
"""
ALIKE = """if self.state is ASKED:
                        self.state = IDLE
                    elif self.state is ACTIVE:
                        self.state = IDLE
                        self.answer(command)
                    else:
                        raise ValueError(command)"""


def test_one_of_two_branches_that_are_built_alike_does_not_move_alone() -> None:
    assert not names(ANSWERS.format(second=ALIKE).replace("accept", "acceptance"), "Option.receive")
    other = ANSWERS.format(second="self.close(command)").replace("accept", "acceptance")
    assert names(other, "Option.receive")


SET_COLOR = """
        class Canvas:
            def set_fill_color(self, color):
                if isinstance(color, {kind}):
                    density = color.density
                    self.fill = color
                    if self.is_separate(color):
                        self.code.append(density)
                    else:
                        self.code.append(color)
                elif isinstance(color, tuple):
                    self.code.append(*color)
                elif isinstance(color, list):
                    self.code.extend(color)
"""


@pytest.mark.parametrize(("kind", "is_named"), [("CMYKColor", True), ("Pattern", False)])
def test_a_special_kind_takes_the_place_of_the_general_word_in_the_name_of_the_function(
    kind: str, is_named: bool
) -> None:
    found = names(SET_COLOR.format(kind=kind), "Canvas.set_fill_color")
    assert ("_set_fill_cmyk_color" in found.values()) is is_named


@pytest.mark.parametrize(("done", "is_named"), [("back.height = self.height", False), ("back.paint(self)", True)])
def test_what_only_sets_attributes_draws_nothing(done: str, is_named: bool) -> None:
    source = f"""
        class Plot:
            def draw(self, back):
                self.start()
                if isinstance(back, DoubleGrid):
                    if self.is_open:
                        back.width = self.width
                    {done}
                    back.size = self.size
                elif isinstance(back, Grid):
                    back.width = self.width
                self.end()
                self.stop()
    """
    assert ("_draw_double_grid" in names(source, "Plot.draw").values()) is is_named
