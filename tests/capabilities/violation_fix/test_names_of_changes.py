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
            print(shard)
            if shard.total > 0:
                gauge.total = shard.total
                gauge.refresh()
                print(gauge)
            if shard.is_open:
                streams[shard].send(gauge)
                streams.pop(shard)
                print(streams)
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
