"""A block is named after the part of its function's work, the options that it adds, or what it makes."""

from __future__ import annotations

import pytest

from tests.capabilities.violation_fix.test_names_of_blocks import names

MADE = """
        import hub

        def work(name, device, log):
            log.info(name)
            {made}
            if device == "first":
                model = {further}

            log.info(model)
            return model.size
"""


@pytest.mark.parametrize(
    ("made", "further", "name"),
    [
        ("model = hub.create_model(name)", "model.to(device)", "_create_model"),
        ("model = hub.make_part(name)", "model.to(device)", "_create_model"),
        ("model = SmallModel(name)", "LargeModel(name)", "_create_model"),
        ("model = create_model(name)", "model.to(device)", None),
        ("model = hub.known[name]", "model.to(device)", "_determine_model"),
    ],
)
def test_what_is_made_and_then_configured_is_created(made: str, further: str, name: str | None) -> None:
    assert names(MADE.format(made=made, further=further)).get((5, 7)) == name


SETTING = """
        def work(record, rows, log, limit):
            log.info(limit)
            if limit > 3:
                {beside}
                record["row_count"] = len(rows)
                for row in rows:
                    row.count = limit
"""


@pytest.mark.parametrize(
    ("beside", "is_named"),
    [("limit += 1", True), ('log.debug("long")', True), ("assert log", False), ("log.log(rows)", False)],
)
def test_what_does_more_than_to_set_an_item_is_not_named_after_that(beside: str, is_named: bool) -> None:
    source = SETTING.format(beside=beside).replace("for row in rows:", "if rows:").replace("row.count = limit", "pass")
    assert ("_set_record_row_count" in names(source).values()) == is_named
