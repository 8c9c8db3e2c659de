"""Variables that nothing reads, and logging, make up for no empty body; what may be read elsewhere does."""

from __future__ import annotations

import pytest

from runtime.codebase.parsing.bodies.empty_bodies import is_empty

IDLE = [
    "def f(x):\n    data = dict(x)\n    return None\n",
    "def f(x):\n    ordered = sorted(x)\n    return None\n",
    "def f(x):\n    doubled = [i * 2 for i in x]\n    return None\n",
    "def f(x):\n    message = f'got {x}'\n",
    "def f(x):\n    message = 'got {}'.format(x)\n    longer = message + '!'\n",
    "def f(x):\n    count = 0\n    count += 1\n    return None\n",
    "def f(x):\n    seen = []\n    seen.append(x)\n    return None\n",
    "def f(x):\n    seen = set()\n    for i in x:\n        seen.add(i)\n",
    "def f(x):\n    result = []\n    for i in x:\n        pass\n    return result\n",
    "def f(x):\n    result = {}\n    return result\n",
    "def f(x):\n    logger.info('saving %s', x)\n    return None\n",
    "def f(x):\n    logger.info('%s of %s', len(x), str(x))\n    return None\n",
    "def f(x):\n    total = len(x)\n    logger.debug('total')\n    return None\n",
]
WORKS = [
    # What the variable holds is read: returned, called, kept, deleted, or seen by other means.
    "def f(x):\n    data = dict(x)\n    return data\n",
    "def f(x):\n    data = dict(x)\n    return lambda: data\n",
    "def f(x):\n    data = dict(x)\n    return locals()\n",
    "def f(x):\n    global data\n    data = dict(x)\n",
    "def f(self, x):\n    data = dict(x)\n    self.data = data\n",
    "def f(x):\n    seen = []\n    seen.append(x)\n    return seen\n",
    "def f(x):\n    result = []\n    for i in x:\n        result += [i]\n    return result\n",
    "def f(x):\n    result = []\n    for result in x:\n        pass\n    return result\n",
    "def f(x):\n    result = None\n    if x:\n        result = x.name\n    return result\n",
    # What is filled is not made here.
    "def f(self, x):\n    self.append(x)\n",
    "def f(field):\n    field.update(type='string')\n",
    "def f(x):\n    CACHE.clear()\n    return None\n",
    "def f(self, message):\n    inner = self.inner or self.outer\n    inner.update(message)\n",
    "def f(self, message):\n    inner = []\n    inner = self.inner\n    inner.update(message)\n",
    # What it is given may do something, or fail on purpose.
    "def f(x):\n    data = fetch(x)\n    return None\n",
    "def f(x):\n    data = x.read()\n    return x\n",
    "def f(x):\n    _ = list(x)\n",
    "def f(x):\n    value = int(x)\n    return x\n",
    "def f(x):\n    try:\n        found = sorted(x)\n    except TypeError:\n        return None\n    return x\n",
    "def f(x):\n    warnings.warn('old')\n    return x\n",
    "def f(x):\n    logger.info('saving %s', fetch(x))\n",
    "async def f(x):\n    data = [i async for i in x]\n",
]


@pytest.mark.parametrize("text", IDLE)
def test_what_nothing_reads_is_no_work(text: str) -> None:
    assert is_empty(text, "a.py", 1, text.count("\n"))


@pytest.mark.parametrize("text", WORKS)
def test_what_may_be_read_or_may_do_something_is_work(text: str) -> None:
    assert not is_empty(text, "a.py", 1, text.count("\n"))


def test_a_line_for_a_variable_that_nothing_reads_is_no_work_beside_work_either() -> None:
    text = "def f(x):\n    size = len(x)\n    send(x)\n"
    assert is_empty(text, "a.py", 2, 2)
    assert not is_empty(text, "a.py", 2, 3)


def test_a_name_that_no_declaration_makes_a_variable_is_another_ones_elsewhere() -> None:
    assert not is_empty("function f(a) { b = a; }\n", "a.js", 1, 1)


def test_a_body_that_is_nested_deep_is_judged() -> None:
    text = f"def f(x):\n    y = lambda: {'(' * 1_800}x{')' * 1_800}\n    return y\n"
    assert not is_empty(text, "a.py", 1, 3)
