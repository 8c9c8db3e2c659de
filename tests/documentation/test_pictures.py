"""Pictures of the site are drawn from the same text that code hosts draw; a form that is not known is refused."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from runtime.errors import InputError
from tests.architecture_picture import contracts, picture
from tests.documentation.drawing import MAX_WIDTH, svg
from tests.documentation.flowchart import Edge, flowchart

PIPELINE = """flowchart LR
    first[first] -->|"route = #quot;a #amp; b#quot;"| last[/"last<br/>final stage"/]
    last -.->|error| END([end])
    first --> first
    last -->|again| first
"""


def drawn(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg(flowchart(text), "a picture"))


def texts(element: ElementTree.Element) -> list[str]:
    return [each.text or "" for each in element.iter("{http://www.w3.org/2000/svg}text")]


def test_nodes_edges_and_labels_are_read() -> None:
    chart = flowchart(PIPELINE)
    assert [(box.id, box.label, box.shape) for box in chart.root.inside] == [
        ("first", "first", "box"),
        ("last", "last\nfinal stage", "last"),
        ("END", "end", "pill"),
    ]
    assert chart.edges[0] == Edge("first", "last", "-->", 'route = "a & b"')
    assert [(edge.source, edge.target) for edge in chart.edges[1:]] == [
        ("last", "END"),
        ("first", "first"),
        ("last", "first"),
    ]


def test_a_picture_shows_each_node_and_label_and_tells_its_edges_to_screen_readers() -> None:
    element = drawn(PIPELINE)
    assert {"first", "last", "final stage", "end", 'route = "a & b"', "error", "again"} <= set(texts(element))
    told = element.find("{http://www.w3.org/2000/svg}desc")
    assert told is not None
    assert told.text == "first to last; last to end; first to first; last to first"


def test_a_group_without_a_title_is_told_by_what_is_in_it() -> None:
    told = drawn('flowchart TB\n subgraph g[" "]\n a[one]\n b[two]\n end\n g --> c[three]').find(
        "{http://www.w3.org/2000/svg}desc"
    )
    assert told is not None
    assert told.text == "one, two to three"


def test_the_packages_are_drawn_within_the_width_of_a_page_and_none_is_left_out() -> None:
    element = drawn(picture(contracts()))
    names = {name.rpartition(".")[2] for layers in contracts() for name in layers.names()}
    assert names - set(texts(element)) == set()
    assert float(element.attrib["width"]) <= MAX_WIDTH


def test_markup_in_a_label_is_text() -> None:
    source = 'flowchart TB\n    a["<script>x</script>"]'
    assert texts(drawn(source)) == ["<script>x</script>"]
    assert "<script" not in svg(flowchart(source), "<b>")


def test_boxes_beside_each_other_do_not_overlap() -> None:
    element = drawn("flowchart TB\n a --> b\n a --> c\n a --> d\n b --> e\n c --> e\n d --> e")
    spots = [
        re.findall(r"[\d.]+", group.attrib["transform"]) for group in element.iter("{http://www.w3.org/2000/svg}g")
    ]
    assert len({tuple(spot) for spot in spots}) == len(spots) == 6


@pytest.mark.parametrize(
    "text",
    ["sequenceDiagram\n a->>b: x", "flowchart LR\n a ~~~ b", "flowchart LR\n click a href", "flowchart LR\n end"],
)
def test_what_is_outside_of_the_part_that_is_drawn_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        flowchart(text)
