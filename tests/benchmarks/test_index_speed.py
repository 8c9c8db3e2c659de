from __future__ import annotations

from pathlib import Path

from tests.benchmarks.index_speed import copy_lines, measure, share, table


def test_a_tree_is_copied_until_it_has_the_lines(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in ("a.py", "b.py", "c.py"):
        (source / name).write_text("x = 1\n" * 10, encoding="utf-8")
    assert copy_lines(source, tmp_path / "ten", 10) == 10
    assert copy_lines(source, tmp_path / "eleven", 11) == 20
    assert copy_lines(source, tmp_path / "all", 100) == 30
    assert sorted(path.name for path in (tmp_path / "eleven").iterdir()) == ["a.py", "b.py"]


def test_a_share_is_reached_by_a_value() -> None:
    assert share([3.0, 1.0, 2.0], 0.5) == 2.0
    assert share([float(value) for value in range(100)], 0.99) == 99.0
    assert share([1.0], 0.99) == 1.0


def test_a_tree_is_measured(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    for number in range(4):
        text = (
            f'def pay_{number}():\n    """Pay the customer of the shop number {number} back."""\n    return {number}\n'
        )
        (root / f"m{number}.py").write_text(text, encoding="utf-8")
    figures = measure(root, tmp_path / "state", count=3, words=True)
    assert (figures.lines, figures.files, figures.vectors) == (12, 4, False)
    assert 0 < figures.warm_p50_ms <= figures.warm_p99_ms
    assert "12 lines, 4 files, words alone" in table(figures)
