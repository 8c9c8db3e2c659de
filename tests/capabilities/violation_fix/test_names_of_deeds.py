"""A name that promises a value is none for a block that waits, asks others, prints, or changes what it is given."""

from __future__ import annotations

import pytest

from tests.capabilities.violation_fix.test_names_of_blocks import names

FOUND = """
        {word} work(pages, limit, wanted):
            chosen_page = None
            for page in pages:
                if page.size > limit:
                    {deed}
                    chosen_page = page
                    break
            {end}
            return chosen_page
"""


@pytest.mark.parametrize(
    "deed",
    [
        "print(page)",
        "time.sleep(limit)",
        "on_page_hook(page)",
        "handled = peer.run_hook(page)",
        "wanted.pop()",
        "last = wanted.pop()",
        "wanted.append(page)",
        "del wanted[page]",
        "subprocess.check_output(page)",
        "text = requests.get(page.url)",
    ],
)
def test_what_is_found_does_not_tell_what_is_done_besides(deed: str) -> None:
    source = FOUND.format(word="def", deed=deed, end="wanted.close(pages)")
    assert not any(name.startswith("_find") for name in names(source).values())
    harmless = FOUND.format(word="def", deed="size = page.size", end="wanted.close(pages)")
    assert "_find_chosen_page" in names(harmless).values()


def test_who_waits_for_others_does_not_only_determine() -> None:
    source = FOUND.format(word="async def", deed="await page.lock()", end="wanted.close(pages)")
    assert not any(name.startswith("_find") for name in names(source).values())


@pytest.mark.parametrize(
    ("call", "verb"),
    [
        ("httpx.get(address)", "fetch"),
        ("requests.post(address)", "post"),
        ("request.urlopen(address)", "fetch"),
        ("peer.fetch(address)", "fetch"),
        ("peer.download(address)", "download"),
        ("table.get(address)", "determine"),
        ("peer.request_size", "determine"),
        ("read_text_from_request(address)", "determine"),
    ],
)
def test_a_result_of_one_call_to_others_has_the_verb_of_that_call(call: str, verb: str) -> None:
    source = f"""
        def work(peer, table, address, is_new):
            log.debug(address)
            if is_new:
                found = {call}
                weather_report = found["report"]
            else:
                weather_report = table["report"]
            peer.close(weather_report)
            return weather_report
    """
    assert f"_{verb}_weather_report" in names(source).values()


@pytest.mark.parametrize("call", ["httpx.get(address)", "peer.status(address)"])
def test_who_asks_again_and_again_and_sleeps_between_polls(call: str) -> None:
    source = f"""
        def work(peer, address, pause_s):
            log.debug(address)
            weather_report = None
            while weather_report is None:
                answer = {call}
                if answer.is_done:
                    weather_report = answer.report
                print("waiting")
                time.sleep(pause_s)
            peer.close(weather_report)
            return weather_report
    """
    assert "_poll_weather_report" in names(source).values()


def test_two_deeds_of_two_kinds_have_no_verb() -> None:
    source = """
        def work(peer, address):
            log.debug(address)
            weather_report = None
            if address:
                answer = httpx.get(address)
                weather_report = peer.upload(answer)
            peer.close(weather_report)
            return weather_report
    """
    assert not any("weather_report" in name for name in names(source).values())


def test_a_parameter_that_is_changed_under_another_name_is_not_only_read() -> None:
    source = """
        def work(peer, given, is_new):
            log.debug(given)
            new_settings = {}
            alias = given
            if is_new:
                alias["new"] = True
                new_settings["age"] = peer.age
            peer.apply(new_settings)
            return new_settings
    """
    assert "_build_new_settings" not in names(source).values()
    assert "_build_new_settings" in names(source.replace('alias["new"] = True', "log.debug(alias)")).values()


def test_what_is_only_counted_while_others_are_asked_has_not_their_verb() -> None:
    source = """
        def work(peer, addresses):
            log.debug(addresses)
            late_pages = set()
            for address in addresses:
                answer = httpx.get(address)
                if answer.is_late:
                    late_pages.add(address)
            peer.close(late_pages)
            return late_pages
    """
    assert set(names(source).values()) == {"_add_late_pages_for_addresses"}
