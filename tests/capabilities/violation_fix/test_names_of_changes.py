"""A block that changes something is named after what it does to what, or not at all."""

from __future__ import annotations

import pytest

from tests.capabilities.violation_fix.test_names_of_blocks import names


def test_a_call_on_each_item_is_named_after_what_it_does_and_to_what() -> None:
    source = """
        def work(futures, error):
            print(error)
            for future in futures:
                if not future.done():
                    future.set_exception(error)
                print(future)
            return error
    """
    assert names(source)[3, 6] == "_set_future_exceptions"


def test_calls_in_a_loop_are_named_in_the_plural_after_what_they_add() -> None:
    source = """
        def work(options, session):
            print(options)
            if session:
                for host in options.hosts:
                    session.add_trusted_host(host)
                    print(host)
            return session
    """
    assert names(source)[3, 6] == "_add_trusted_hosts"


def test_a_call_under_a_condition_is_no_part_worth_a_name() -> None:
    source = """
        def work(request):
            print(request)
            if request.timeout:
                # There is none on this thread:
                # say so.
                show_timeout_warning()
            return request
    """
    assert names(source) == {}


def test_changes_of_one_object_are_told_as_its_update_and_calls_on_what_it_holds_are_not() -> None:
    source = """
        def work(shard, gauge, streams):
            log.debug(shard)
            if shard.total > 0:
                gauge.total = shard.total
                gauge.refresh()
                log.debug(gauge)
            if shard.is_open:
                streams[shard].send(gauge)
                streams.pop(shard)
                log.debug(streams)
            return shard
    """
    assert set(names(source).values()) == {"_update_gauge"}


def test_a_comment_names_all_paragraphs_that_change_the_one_thing_it_speaks_of() -> None:
    source = """
        class Session:
            def work(self, domain, origin):
                print(origin)
                # Update protection space based on the domain, or default to the origin
                self.protection_space = []

                for uri in domain.split():
                    # Remove quotes
                    uri = uri.strip('"')
                    if uri:
                        self.protection_space.append(uri)

                if not self.protection_space:
                    self.protection_space = [origin]

                # Announce the domain
                if domain:
                    print(domain)
                    self.seen = domain
                return domain
    """
    assert names(source, "Session.work")[4, 14] == "_update_protection_space"


@pytest.mark.parametrize(
    ("test", "noun"),
    [
        ('kind.startswith("application/x-www-form-urlencoded")', "form_urlencoded"),
        ('kind.startswith("multipart/form-data")', "multipart_form_data"),
        ('kind == "$eq"', "eq"),
        ('kind == "--verbose"', "verbose"),
        ('kind == "websocket.accept"', "websocket_accept"),
        ('kind == "http.response.start"', "http_response_start"),
        ('kind == "set: default"', "set_default"),
    ],
)
def test_marks_around_the_text_of_a_case_are_no_part_of_its_name(test: str, noun: str) -> None:
    source = f"""
        def parse_body(kind, rows):
            if {test}:
                for row in rows:
                    if row.width:
                        print(row)
                    elif row.height:
                        print(kind)
            elif kind == "form":
                print(1)
            elif kind == "other":
                print(2)
            return rows
    """
    assert f"_parse_{noun}" in names(source, "parse_body").values()


def test_guards_of_arguments_are_named_after_the_function_where_the_plain_name_is_taken() -> None:
    source = """
        def _check_arguments(): ...

        def work_graph(size, count):
            if size < 1:
                raise ValueError(f"size is {size}")
            if count < size:
                raise ValueError(f"count is {count}")
            if count > 9:
                raise ValueError("the graph would be too large")
            print(size)
            print(count)
            return count
    """
    assert "_check_work_graph_arguments" in names(source, "work_graph").values()


def test_one_thing_that_is_filled_is_built() -> None:
    source = """
        def work(path):
            new_path = []
            for element in path:
                if element.is_open:
                    new_path.append(element.name)
            print(new_path)
            return new_path
    """
    assert names(source)[2, 5] == "_build_new_path"


def test_a_comment_about_one_thing_does_not_name_what_returns_others_too() -> None:
    source = """
        def work(graph, nodes):
            print(graph)
            # building the path betweenness matrix only for nodes that appear in the group
            PB = dict.fromkeys(graph)
            for node in nodes:
                for other in nodes:
                    if other in graph[node]:
                        PB[node] = other
            return PB, nodes
    """
    assert names(source) == {(3, 8): "_build_path_betweenness_matrix"}


def test_what_is_handed_to_a_call_by_an_attribute_is_not_what_it_acts_on() -> None:
    source = """
        def work(context, claim):
            print(context)
            if claim is None:
                reject(context.method, "none")
            if claim == 1:
                reject(context.method, "one")
                print(claim)
            print(1)
            print(2)
            print(3)
            return context
    """
    assert "_reject_method" not in names(source).values()


@pytest.mark.parametrize("call", ["self.check_schedule(node)", "_print_flush(node)"])
def test_a_verb_that_a_call_ends_with_is_no_thing_to_be_put_in_the_plural(call: str) -> None:
    source = f"""
        class Plan:
            def work(self, nodes):
                print(nodes)
                for node in nodes:
                    if node:
                        {call}
                        print(node)
                return nodes
    """
    assert not {"_check_schedules", "_print_flushes"} & set(names(source, "Plan.work").values())


def test_raising_where_a_flag_is_set_checks_nothing() -> None:
    source = """
        def work(rows, saw_header):
            print(rows)
            # The specification asks for
            # one of them at most.
            if saw_header:
                raise ValueError(
                    "two headers"
                )
            print(1)
            print(2)
            print(3)
            return rows
    """
    assert names(source) == {}


def test_a_text_of_many_words_is_no_name_of_a_case() -> None:
    source = """
        def parse_body(kind, rows):
            if kind == "this is a long story":
                for row in rows:
                    if row.width:
                        print(row)
                    elif row.height:
                        print(kind)
            elif kind == "form":
                print(1)
            elif kind == "other":
                print(2)
            return rows
    """
    assert not any("story" in name for name in names(source, "parse_body").values())


def test_a_branch_that_only_raises_is_named_after_what_it_checks() -> None:
    source = """
        def work(array, key, is_issuer, is_list):
            if key not in array:
                print(key)
            elif is_issuer:
                if not array[key].startswith("https"):
                    raise ValueError(key)
                if "?" in array[key] or "#" in array[key]:
                    raise ValueError(array)
            elif is_list:
                for part in array[key]:
                    if not isinstance(part, str):
                        raise TypeError(key)
                if not array[key]:
                    raise ValueError(key)
            return array
    """
    found = names(source)
    assert found[5, 8] == "_check_issuer"
    assert found[10, 14] == "_check_list"


def test_items_of_loops_are_checked_in_the_plural() -> None:
    source = """
        def work(table, name):
            for channel, handler in table.channels:
                if handler is None:
                    raise KeyError(channel)
            for pattern, handler in table.patterns:
                if handler is None:
                    raise KeyError(pattern)

            print(name)
            return table
    """
    assert names(source)[2, 7] == "_check_handlers"


def test_what_sets_attributes_of_one_word_is_named_after_it() -> None:
    source = """
        class Settings:
            def work(self, patterns):
                print(patterns)

                if self.should_reload:
                    self.reload_includes = [each for each in patterns if each]
                    self.reload_folders = []
                    for each in patterns:
                        if each.is_folder:
                            self.reload_folders.append(each)

                print(self)
                return patterns

            def load(self, first, last):
                print(first)

                if last:
                    self.cookie_path_value = first
                else:
                    self.cookie_domain_value = last
                    self.other = 1

                print(self)
    """
    assert names(source, "Settings.work")[5, 10] == "_configure_reload"
    assert names(source, "Settings.load") == {}


def test_what_is_done_to_each_item_is_told_by_the_last_step() -> None:
    source = """
        def work(folder, packages, force):
            print(folder)
            for package in packages:
                target = folder / package.name
                if target.exists():
                    if not force:
                        continue
                    remove_tree(target)
                move(package, target)
            print(packages)
            print(force)
            print(folder)
            return folder
    """
    assert names(source)[3, 9] == "_move_packages"
    rarely = source.replace("move(package, target)", "if force:\n                    move(package, target)")
    assert not any(name.startswith("_move") for name in names(rarely).values())


def test_making_one_thing_of_another_is_no_effect() -> None:
    source = """
        def work(lines, session):
            wanted = {}
            for line in lines:
                request = install_request_from_line(line)
                if request.name:
                    wanted[request.name] = request
            for request in session.requests:
                if request.name:
                    wanted[request.name] = request
            if not wanted:
                raise ValueError(lines)
            return wanted
    """
    assert names(source)[2, 9] == "_build_wanted"
    assert (2, 9) not in names(source.replace("install_request_from_line", "install_request"))


@pytest.mark.parametrize(
    ("comment", "name"),
    [
        ("# if a client_name is given, set it", "_set_client_name"),
        ("# If there's a client name, then send it", "_send_client_name"),
        ("# When the user is known, send the client name", "_send_client_name"),
        ("# Send client names if ``kind`` is ``<file>``, ``<dir>``", "_send_client_names"),
        ("# if this is nothing, remove it from memory", None),
        ("# If not found, return None", None),
        ("# x = set(client_name)", None),
    ],
)
def test_a_comment_tells_what_is_done_under_its_condition(comment: str, name: str | None) -> None:
    source = f"""
        def work(client_name, names, output):
            print(output)
            {comment}
            if client_name:
                if client_name not in names:
                    names[client_name] = output
                    output.write(client_name)
                print(output.client.name)
            return output
    """
    found = names(source)
    assert name in found.values() if name else not found


def test_conditions_in_a_row_that_compare_one_thing_are_cases_as_branches_are() -> None:
    source = """
        def work(message, table):
            print(table)
            if isinstance(message, Frame):
                table.size = 1
                if message.open:
                    close(message)
                    print(table)
            if isinstance(message, Reset):
                table.clear(message)
            print(message)
            print(table, message)
            return table
    """
    assert names(source)[4, 7] == "_handle_frame"
    alone = source.replace("isinstance(message, Reset)", "table.full")
    assert "_handle_frame" not in names(alone).values()


def test_two_results_that_begin_with_one_word_share_it() -> None:
    source = """
        def work(rows, node):
            print(node)

            lines_min = 0
            lines_max = 0
            if node:
                lines_min = node.first
                lines_max = node.last

            print(lines_min, lines_max)
            return lines_max - lines_min
    """
    assert names(source)[4, 8] == "_determine_lines_min_and_max"


def test_a_number_that_a_loop_counts_is_no_thing_that_it_goes_through() -> None:
    source = """
        def work(sheet, table, width):
            print(width)
            for column_number in range(width):
                if column_number in table:
                    value = table[column_number]
                    sheet.write_cell(column_number, value)
            print(table)
            return sheet
    """
    assert names(source)[3, 6] == "_write_cells"


def test_counting_is_not_what_a_block_is_there_for() -> None:
    source = """
        class Search:
            def work(self, item):
                print(item)
                if self.warning_count < 10:
                    warning("A set has no order")
                    {change}
                print(self)
                return item
    """
    assert names(source.format(change="self.warning_count += 1"), "Search.work") == {}


def test_a_check_beside_a_class_is_named_after_its_method() -> None:
    source = """
        class Client:
            def send_publish(self, topic, payload):
                if not isinstance(topic, bytes):
                    raise TypeError(topic)
                if payload and not isinstance(payload, bytes):
                    raise TypeError(payload)
                print(self)
                print(topic)
                print(payload)
                return topic
    """
    assert names(source, "Client.send_publish")[3, 6] == "_check_publish_arguments"


def test_a_block_that_yields_is_not_named_after_what_it_sets() -> None:
    source = """
        class Detector:
            def work(self, tried):
                print(tried)
                if self.encoding is None:
                    self.encoding = guess(self.markup)
                if self.encoding is not None and self.usable(tried):
                    yield self.encoding

                if tried:
                    yield "utf-8"
    """
    assert not any(name.startswith("_set_") for name in names(source, "Detector.work").values())


def test_a_call_whose_argument_repeats_its_verb_gives_no_name() -> None:
    source = """
        class Transport:
            def work(self, interval, wait_time, notify):
                print(interval)
                self.begin()
                self.register(interval)
                self.finish()
                if notify and wait_time:
                    self.get_waiter().wait(wait_time)
                elif interval is not None and wait_time:
                    sleep(wait_time)
                return interval
    """
    assert "_wait_time" not in names(source, "Transport.work").values()


def test_a_loop_that_prints_how_an_attempt_went_is_not_named_after_the_printing() -> None:
    source = """
        def work(data, parsers):
            print(data)
            for parser in parsers:
                print(parser)
                success = False
                try:
                    soup = Soup(data, parser)
                    success = True
                except ValueError:
                    traceback.print_exc()
                if success:
                    print(soup)
            return data
    """
    assert not any(name.startswith("_print") for name in names(source).values())


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ('body["action"] = actions[0]', "_add_block_actions"),
        ('body.setdefault("action", actions[0])', "_add_block_actions"),
        ('body["action"] += actions[0]', None),
        ('body.pop("action")', None),
    ],
)
def test_what_only_adds_to_a_parameter_is_never_said_to_build_it(change: str, name: str | None) -> None:
    source = f"""
        def build_body(source):
            body = {{}}
            kind = source.kind
            log.debug(body)
            if kind == "block_actions":
                actions = source.get("actions", [])
                if len(actions) > 0 and actions[0] is not None:
                    body["block"] = actions[0].block
                    {change}
            log.debug(body)
            return body
    """
    assert set(names(source, "build_body").values()) == ({name} if name else set())


@pytest.mark.parametrize("verb", ["build", "collect", "determine", "get", "parse"])
def test_an_item_that_is_only_read_is_neither_made_nor_added(verb: str) -> None:
    source = f"""
        def {verb}_rows(table, columns):
            for row in table:
                if row.width > 3:
                    columns.append(row.width)
                elif row.height:
                    columns.append(row.height)
            print(table)
            return columns
    """
    assert names(source, f"{verb}_rows") == {(2, 6): "_add_columns_for_rows"}


def test_an_item_is_added_to_what_is_called_like_it() -> None:
    source = """
        def collect_columns(table, columns):
            for column in table:
                if column.width > 3:
                    columns.append(column.width)
                elif column.height:
                    columns.append(column.height)
            print(table)
            return columns
    """
    assert names(source, "collect_columns")[3, 6] == "_add_column"


@pytest.mark.parametrize(
    ("done", "is_check"),
    [
        ("required.discard(key)", False),
        ("names.append(key)", False),
        ("raise ValueError(key)", True),
        ("assert key", True),
        ("errors.append(key)", True),
        ("verify_key(key)", True),
    ],
)
def test_what_only_collects_is_no_check(done: str, is_check: bool) -> None:
    source = f"""
        def check_record(record, names, errors):
            hints = {{}}
            required = set(record.keys)
            log.debug(required)
            for key, annotation in record.annotations.items():
                while annotation.origin:
                    annotation = annotation.origin
                if annotation.is_open:
                    {done}
                hints[key] = annotation
            log.debug(required)
            return hints
    """
    assert ("_check_annotation" in names(source, "check_record").values()) is is_check


def test_what_makes_what_is_missing_ensures_it_and_what_only_fills_does_not() -> None:
    source = """
        def work(folder, seen_paths):
            print(folder)
            # Ensure the folder
            if not folder.is_there:
                {done}
                for path in folder.paths:
                    log.debug(path)
            print(folder)
            return folder
    """
    assert names(source.format(done="folder.make(0o700)"))[3, 7] == "_ensure_folder"
    assert names(source.format(done="seen_paths.append(folder)")).get((3, 7)) != "_ensure_folder"


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("set_label", "_set_tick_labels"),
        ("set_table", "_set_tick_tables"),
        ("set_visible", None),
        ("set_compatible", None),
        ("set_enabled", None),
        ("set_selected", None),
    ],
)
def test_no_plural_is_made_of_a_word_that_is_no_noun(method: str, name: str | None) -> None:
    source = f"""
        def work(grid, axes):
            log.debug(grid)
            if grid.is_diagonal:
                for axis in axes:
                    for tick in axis.ticks:
                        tick.{method}(False)
                        log.debug(tick)
            log.debug(axes)
            return grid
    """
    assert names(source).get((5, 7)) == name
    assert name or names(source) == {}
