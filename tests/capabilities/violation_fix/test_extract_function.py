"""Extracting a function keeps what the code does and every other byte, or is refused with a reason."""

from __future__ import annotations

import ast
import textwrap

import pytest

from actors.capabilities.violation_fix.refactoring.extraction import extract_function
from actors.capabilities.violation_fix.refactoring.outcomes import Refactored, Refused


def text(source: str) -> str:
    return textwrap.dedent(source).lstrip("\n")


def extracted(source: str, first: int, last: int, name: str = "_do_part", line_length: int = 88) -> str:
    done = extract_function(source, first, last, name, line_length=line_length)
    assert isinstance(done, Refactored), done
    ast.parse(done.source.removeprefix("\ufeff"))
    return done.source


def refusal(source: str, first: int, last: int, name: str = "_do_part") -> Refused:
    done = extract_function(source, first, last, name)
    assert isinstance(done, Refused), done.source
    return done


def test_inputs_become_parameters_and_outputs_are_returned() -> None:
    source = text("""
        def total(rows, limit):
            count = 0
            for row in rows:
                if row > limit:
                    count += row
            return count
    """)
    assert extracted(source, 3, 5, "_sum_rows") == text("""
        def _sum_rows(rows, limit, count):
            for row in rows:
                if row > limit:
                    count += row
            return count


        def total(rows, limit):
            count = 0
            count = _sum_rows(rows, limit, count)
            return count
    """)


def test_a_block_that_uses_self_becomes_a_method_behind_the_old_one() -> None:
    source = text("""
        class Table:
            @property
            def width(self):
                if self.rows:
                    self.cached = max(self.rows)
                return self.cached

            @width.setter
            def width(self, value):
                self.cached = value

            other = 1
    """)
    assert extracted(source, 4, 5, "_measure_rows") == text("""
        class Table:
            @property
            def width(self):
                self._measure_rows()
                return self.cached

            @width.setter
            def width(self, value):
                self.cached = value

            def _measure_rows(self):
                if self.rows:
                    self.cached = max(self.rows)

            other = 1
    """)


def test_a_class_method_gets_a_class_method() -> None:
    source = text("""
        class Shape:
            @classmethod
            def make(cls, name):
                if name:
                    cls.names.append(name)
                return cls()
    """)
    assert "    @classmethod\n    def _do_part(cls, name):\n" in extracted(source, 4, 5)
    assert "        cls._do_part(name)\n" in extracted(source, 4, 5)


def test_continue_at_the_end_of_a_loop_becomes_return() -> None:
    source = text("""
        def load(lines, names):
            for line in lines:
                if not line:
                    continue
                names.append(line)
    """)
    assert extracted(source, 3, 5, "_load_line").startswith(
        "def _load_line(names, line):\n    if not line:\n        return\n    names.append(line)\n"
    )


def test_one_kind_of_jump_becomes_a_question() -> None:
    source = text("""
        def load(lines, names):
            for line in lines:
                if line == "end":
                    break
                names.append(line)
            return names
    """)
    done = extracted(source, 3, 4, "_is_end")
    assert 'def _is_end(line):\n    if line == "end":\n        return True\n    return False\n' in done
    assert "        if _is_end(line):\n            break\n" in done


def test_a_block_that_always_returns_is_returned() -> None:
    source = text("""
        def pick(kind: str) -> int:
            if kind == "a":
                if kind:
                    return 1
                return 2
            return 3
    """)
    done = extracted(source, 3, 5, "_pick_first")
    assert "def _pick_first(kind: str) -> int:\n" in done
    assert "        return _pick_first(kind)\n" in done


def test_returned_values_that_are_never_none_are_asked_for() -> None:
    source = text("""
        def pick(kind):
            if kind == "a":
                return [kind]
            if kind == "b":
                return (kind, 1)
            print(kind)
            return None
    """)
    assert "    result = _pick_early(kind)\n    if result is not None:\n        return result\n" in extracted(
        source, 2, 5, "_pick_early"
    )


def test_values_that_may_be_none_are_refused() -> None:
    source = (
        "def pick(a):\n    if a:\n        return a.b\n    if not a:\n        return 1\n    print(a)\n    return 2\n"
    )
    assert refusal(source, 2, 5).code == "crosses_control_flow"
    assert refusal(source, 2, 5).lines == (3, 5)


def test_an_awaiting_block_becomes_a_coroutine() -> None:
    source = "async def go(a):\n    if a:\n        await a\n    return a\n"
    assert "async def _do_part(a):\n" in extracted(source, 2, 3)
    assert "    await _do_part(a)\n" in extracted(source, 2, 3)


def test_a_yielding_block_is_delegated_to() -> None:
    source = "def go(a):\n    for b in a:\n        yield b\n    yield 1\n"
    assert "    yield from _do_part(a)\n" in extracted(source, 2, 3)


def test_super_and_private_names_stay_in_their_class() -> None:
    source = text("""
        class Child(Base):
            def go(self, a):
                if a:
                    super().go(a)
                    self.__count = 1
                print(a)
    """)
    assert "    def _do_part(self, a):\n" in extracted(source, 3, 5)
    static = "class A:\n    @staticmethod\n    def go(a):\n        if a:\n            a.__b = 1\n        print(a)\n"
    assert refusal(static, 4, 5).code == "needs_class"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("unit", ["    ", "\t", "  "])
def test_tabs_line_ends_strings_and_comments_stay_as_they_are(newline: str, unit: str) -> None:
    lines = [
        "\ufeff# coding: utf-8",
        "x = 'ä\u2028'; y = 2  # odd   ",
        "",
        "def f(a):",
        "~'''Doc.'''",
        "~if a:",
        "~~# Überschrift",
        "~~print('''one",
        "two''', a,",
        "~~      'ö')",
        "",
        "~~return 1",
        "~return 2",
        "# end",
    ]
    source = newline.join(line.replace("~", unit) for line in lines)
    done = extracted(source, 8, 12)
    helper = [
        "def _do_part(a):",
        "~# Überschrift",
        "~print('''one",
        "two''', a,",
        "~      'ö')",
        "",
        "~return 1",
        "",
        "",
    ]
    expected = [*lines[:3], *helper, *lines[3:6], "~~return _do_part(a)", *lines[12:]]
    assert done == newline.join(line.replace("~", unit) for line in expected)


def test_a_name_that_nothing_before_the_block_binds_is_as_unbound_in_the_new_function() -> None:
    source = text("""
        def total(rows):
            for row in rows:
                is_long = len(row) > 3
                if is_long:
                    size = len(row)
                if row and is_long:
                    print(size)
            return 1
    """)
    assert "def _do_part(rows):\n    for row in rows:\n" in extracted(source, 2, 7)
    assert refusal(source, 3, 7).code == "maybe_unbound", "an earlier turn of the loop may have bound it"
    assert refusal(source, 6, 7).code == "maybe_unbound"


def test_no_new_function_ends_with_a_return_of_nothing() -> None:
    source = text("""
        def show(rows):
            if not rows:
                for row in rows:
                    print(row)
                return
            print(1)
    """)
    expected = "def _do_part(rows):\n    for row in rows:\n        print(row)\n\n\n"
    assert extracted(source, 3, 5).startswith(expected)
    assert "        _do_part(rows)\n        return\n" in extracted(source, 3, 5)


def test_an_unbound_name_whose_only_binding_is_the_result_does_not_move() -> None:
    source = text("""
        def total(rows):
            print(rows)
            size = size + 1
            return size
    """)
    assert refusal(source, 2, 3).code == "maybe_unbound"


def test_a_call_that_is_too_long_is_wrapped() -> None:
    source = text("""
        def f(first_parameter, second_parameter, third_parameter):
            if first_parameter:
                print(first_parameter, second_parameter, third_parameter)
            return 1
    """)
    at_limit = len("    _do_part(first_parameter, second_parameter, third_parameter)")
    assert "_do_part(first_parameter, second_parameter, third_parameter)\n" in extracted(
        source, 2, 3, line_length=at_limit
    )
    wrapped = "    _do_part(\n        first_parameter, second_parameter, third_parameter\n    )\n"
    assert wrapped in extracted(source, 2, 3, line_length=at_limit - 1)


REFUSALS = {
    "maybe_unbound": ("def f(a):\n    if a:\n        b = 1\n    return b\n", 2, 3),
    "exception_visible": (
        "def f(a):\n    b = 0\n    try:\n        b = 1\n        a()\n    except E:\n        return b\n    return 2\n",
        4,
        5,
    ),
    "closure": ("def f(a):\n    g = lambda: a\n    if a:\n        a = 2\n    return g()\n", 3, 4),
    "declared_names": ("def f(a):\n    global n\n    if a:\n        n = 2\n    return a\n", 3, 4),
    "dynamic_names": ("def f(a):\n    if a:\n        b = 2\n        print(b)\n    return locals()\n", 2, 4),
    "frame_inspection": ("def f(a):\n    if a:\n        warn('x', stacklevel=2)\n    return a\n", 2, 3),
    "bare_raise": (
        "def f(a):\n    try:\n        a()\n    except E:\n        if a:\n            raise\n    return a\n",
        5,
        6,
    ),
    "deletes_name": ("def f(a):\n    b = a\n    if b:\n        del b\n    return a\n", 3, 4),
    "partial_statement": ("def f(a):\n    if a:\n        b = 1\n    else:\n        b = 2\n    return b\n", 3, 4),
    "docstring": ('def f(a):\n    """Doc."""\n    print(a)\n', 2, 3),
    "outside_function": ("x = 1\ny = 2\n", 1, 2),
    "defines_function": ("def f(a):\n    def g():\n        return 1\n    return g()\n", 2, 3),
    "keeps_alive": ("def f(a):\n    if a:\n        keep = Lock(a)\n    a.run()\n", 2, 3),
    "async_generator": ("async def f(a):\n    if a:\n        yield a\n    yield 1\n", 2, 3),
    "outputs_with_jump": (
        "def f(a):\n    for b in a:\n        c = b\n        if c:\n            break\n        print(c)\n",
        3,
        5,
    ),
    "compiled_function": ("@numba.njit\ndef f(a):\n    if a:\n        a += 1\n    return a\n", 3, 4),
    "unreachable": ("def f(a):\n    return a\n    if a:\n        print(a)\n", 3, 4),
    "syntax_error": ("def f(:\n", 1, 1),
}


@pytest.mark.parametrize("code", sorted(REFUSALS))
def test_what_would_change_the_code_is_refused(code: str) -> None:
    source, first, last = REFUSALS[code]
    assert refusal(source, first, last).code == code


@pytest.mark.parametrize("last_line", ["return builtins.locals()", "return show(locals)", "return list(map(eval, a))"])
def test_builtins_that_see_local_names_are_known_by_any_way_to_call_them(last_line: str) -> None:
    source = f"def f(a):\n    if a:\n        b = 2\n        print(b)\n    {last_line}\n"
    assert refusal(source, 2, 4).code == "dynamic_names"


def test_an_object_that_is_only_referred_to_weakly_is_not_let_go() -> None:
    source = (
        "def f(a):\n    owner = Owner(a)\n    seen = weakref.ref(owner)\n    if a:\n        a.run()\n    return seen\n"
    )
    assert refusal(source, 2, 3).code == "keeps_alive"


def test_looking_an_attribute_up_calls_no_new_method() -> None:
    source = text("""
        class Box:
            def __getattribute__(self, name):
                found = object.__getattribute__(self, name)
                if found is None:
                    found = name
                return found
    """)
    assert refusal(source, 3, 5).code == "needs_class"


@pytest.mark.parametrize("name", ["print", "a", "rows", "f"])
def test_a_name_that_is_taken_is_refused(name: str) -> None:
    source = "def f(a):\n    if a:\n        a.rows()\n    return a\n"
    assert refusal(source, 2, 3, name).code == "name_taken"


def test_names_of_an_outer_function_are_passed() -> None:
    source = text("""
        def outer(limit):
            step = 2

            def inner(a):
                if a > limit:
                    return a - step
                return a

            return inner
    """)
    done = extracted(source, 5, 7)
    assert done.startswith("def _do_part(a, limit, step):\n    if a > limit:\n")
    changing = source.replace("    return inner", "    step = 3\n    return inner")
    assert refusal(changing, 5, 7).code == "free_name"


@pytest.mark.parametrize(
    ("before", "is_fixed"),
    [
        ("    if limit is None:\n        limit = 7\n    step = 2\n", True),
        ("    for step in limit:\n        print(step)\n    step = 2\n", True),
        ("    if limit:\n        step = 2\n", False),
        ("    step = 2\n    del step\n", False),
    ],
    ids=["a default", "a loop", "perhaps unbound", "deleted"],
)
def test_names_of_an_outer_function_that_change_no_more_are_passed(before: str, is_fixed: bool) -> None:
    inner = (
        "    def inner(a):\n        if a > limit:\n            return a - step\n        return a\n\n    return inner\n"
    )
    source = "def outer(limit):\n" + before + inner
    line = source[: source.index("        if a >")].count("\n") + 1
    if is_fixed:
        assert extracted(source, line, line + 2).startswith("def _do_part(a, limit, step):\n")
    else:
        assert refusal(source, line, line + 2).code == "free_name"


@pytest.mark.parametrize("around", ["for each in limit", "while limit.more()"])
def test_names_that_the_next_turn_of_a_loop_changes_are_not_passed(around: str) -> None:
    source = text(f"""
        def outer(limit):
            {around}:
                step = limit.next()

                def inner(a):
                    if a > 3:
                        return a - step
                    return a

                limit.keep(inner)
    """)
    assert refusal(source, 6, 8).code == "free_name"


def test_a_name_that_would_come_to_mean_a_global_is_refused() -> None:
    head = "def f(a, b):\n    for x in b:\n        if a:\n            print(max)\n"
    source = head + "    if a:\n        max = 1\n        print(max)\n"
    assert refusal(source, 5, 7).code == "maybe_unbound"


def test_an_output_that_a_closure_sees_is_assigned_before_it_is_returned() -> None:
    source = "def f(a, log):\n    if a:\n        log.append(lambda: a)\n        a = a + 1\n    return a, log\n"
    assert "    log.append(lambda: a)\n    a = a + 1\n    return a\n" in extracted(source, 3, 4)


def test_the_rest_of_a_chain_of_branches_moves_behind_an_else() -> None:
    source = text("""
        def f(a, log):
            if a == 1:
                log.append(1)
            # two
            elif a == 2:
                log.append(2)
            else:
                log.append(3)
    """)
    assert extracted(source, 5, 8) == text("""
        def _do_part(log, a):
            if a == 2:
                log.append(2)
            else:
                log.append(3)


        def f(a, log):
            if a == 1:
                log.append(1)
            # two
            else:
                _do_part(log, a)
    """)


def test_what_a_context_manager_may_swallow_is_still_returned() -> None:
    source = text("""
        def f(a, log):
            c = a
            with unknown(log):
                c = [a]
                raise KeyError
            return c
    """)
    done = extracted(source, 3, 5)
    assert "    c = _do_part(a, log, c)\n" in done
    assert refusal(source, 4, 5).code == "exception_visible"


def test_none_stands_for_the_jump_where_two_outputs_are_returned_otherwise() -> None:
    source = text("""
        def load(lines, names):
            for line in lines:
                if not line:
                    continue
                key, value = line.split()
                names[key] = value
    """)
    done = extracted(source, 3, 5, "_split_line")
    body = "    if not line:\n        return None\n    key, value = line.split()\n    return key, value\n"
    assert done.startswith("def _split_line(line):\n" + body)
    call = "        result = _split_line(line)\n        if result is None:\n            continue\n"
    assert call + "        key, value = result\n        names[key] = value\n" in done


SKIPPING = text("""
    def load(rows, out, log):
        for row in rows:
            if not row:
                log("empty")
                continue
            name = ", ".join(row)
            if row[0] == "#":
                continue
            out.append(name)
        return out
""")


def test_one_result_that_is_never_none_tells_by_none_that_the_rest_is_skipped() -> None:
    assert extracted(SKIPPING, 3, 8, "_read_name") == text("""
        def _read_name(log, row):
            if not row:
                log("empty")
                return None
            name = ", ".join(row)
            if row[0] == "#":
                return None
            return name


        def load(rows, out, log):
            for row in rows:
                name = _read_name(log, row)
                if name is None:
                    continue
                out.append(name)
            return out
    """)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('", ".join(row)', "row.name"),
        ('", ".join(row)', "log(row)"),
        ('", ".join(row)', "None"),
        ("    return out", "    return out, name"),
        ('        if row[0] == "#":', '        name += "x"\n        if row[0] == "#":'),
        ('        if row[0] == "#":', '        with row as name:\n            log(1)\n        if row[0] == "#":'),
    ],
    ids=["attribute", "call", "None", "read after the jump", "changed", "bound otherwise"],
)
def test_a_result_that_may_be_none_or_of_elsewhere_tells_nothing(old: str, new: str) -> None:
    source = SKIPPING.replace(old, new)
    before, inside = source[: source.index("        if not row")], source[: source.index("        out.append")]
    code = refusal(source, before.count("\n") + 1, inside.count("\n")).code
    assert code in ("outputs_with_jump", "maybe_unbound")


@pytest.mark.parametrize(
    ("base", "is_method"), [("asyncio.Protocol", True), ("Protocol", False), ("typing.Protocol", False)]
)
def test_a_protocol_of_asyncio_takes_a_new_method_and_one_of_typing_none(base: str, is_method: bool) -> None:
    body = "    def work(self, data):\n        if data:\n            self.size = 1\n        return self\n"
    source = f"class Server({base}):\n{body}"
    done = extract_function(source, 3, 4, "_do_part")
    assert isinstance(done, Refactored) is is_method


def test_a_value_that_is_worked_out_in_the_block_is_not_returned_outside_it() -> None:
    source = (
        "def f(a, log):\n    with unknown(log):\n        b = a\n        return b * b\n    print(a)\n    return None\n"
    )
    assert refusal(source, 2, 4).code == "crosses_control_flow"


def test_a_name_of_a_comprehension_in_a_nested_function_is_no_input() -> None:
    source = text("""
        def f(x, pixels, table):
            if pixels:
                def rows_of(rows):
                    for row in rows:
                        yield [table[x] for x in row]
                pixels = rows_of(pixels)
            return x, pixels
    """)
    assert "pixels = _do_part(pixels, table)\n" in extracted(source, 2, 6)
