"""Whole answers about small sources in several languages: what leads, what is told of it, and what is left out."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.capabilities.code_analysis.support import AnalysisHarness, mark_faults, write_files
from tests.repositories import repository_files

FILES = repository_files("many_languages")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> AnalysisHarness:
    root: Path = tmp_path_factory.mktemp("post") / "repo"
    write_files(root, FILES)
    return asyncio.run(AnalysisHarness.open(root, tmp_path_factory.mktemp("post-state")))


async def answer(desk: AnalysisHarness, question: str) -> str:
    document = await desk.ask(question)
    assert mark_faults(document["answer"], document["citations"]) == []
    return str(document["answer"])


async def test_a_field_that_nothing_assigns_is_found_with_its_uses(desk: AnalysisHarness) -> None:
    told = await answer(desk, "Where is `SkipWeighing` used?")
    assert told.startswith("`Depot.SkipWeighing` is a field in `depot/depot.go`: «SkipWeighing leaves parcels")
    assert "- `Depot.Accept`: `if !d.SkipWeighing {` [depot/depot.go:21]" in told
    assert "See also" not in told


async def test_a_name_with_a_mark_at_its_end_is_a_name(desk: AnalysisHarness) -> None:
    told = await answer(desk, "Who calls `route!`?")
    assert told.startswith("`Office.Counter.route!` is a method in `lib/office.rb`: «Find the window.»")
    assert "- `Office.Counter.serve!`: `route! { call_next }` [lib/office.rb:5]" in told
    assert "caller_name" not in told


async def test_each_part_of_a_question_is_answered(desk: AnalysisHarness) -> None:
    told = await answer(desk, "How does `Accept` work, who calls it and which tests cover it?")
    assert "In `Depot.Accept`: [depot/depot.go:20-24]" in told
    assert "`Depot.Accept` calls `weigh` [depot/depot.go:22] [depot/depot.go:26]" in told
    assert '- `TestAccept`: `d.Accept("a")` [depot/depot_test.go:8]' in told


async def test_who_adds_a_thing_is_led_to_what_is_open(desk: AnalysisHarness) -> None:
    told = await answer(desk, "How do I extend `IParcelSink`?")
    assert told.startswith(
        "`IParcelSink` is an interface in `src/Sinks/ISink.cs`: «A destination for Parcels & letters.»"
    )
    written, _, done = told.partition("**What extends it already**")
    assert "- `Emit`: `void Emit(Parcel parcel);` [src/Sinks/ISink.cs:10]" in written
    assert "IsOpen" not in written
    assert "- `public class RedSink : IParcelSink` [src/Sinks/ISink.cs:14]" in done


async def test_an_interface_without_declared_heirs_is_shown_with_its_uses(desk: AnalysisHarness) -> None:
    told = await answer(desk, "How do I extend `Weigher`?")
    assert told.startswith("`Weigher` is an interface in `depot/depot.go`")
    assert "- `Weigh`: `Weigh(parcel string) int` [depot/depot.go:13]" in told
    assert "**Used by**\n\n- `Depot.AddWeigher`" in told


async def test_functions_that_only_hand_on_are_compared_by_what_they_hand_on_to(desk: AnalysisHarness) -> None:
    told = await answer(desk, "Compare Stamp and Seal")
    assert "- `Stamp` hands on to `StampWith`, which calls `press` [depot/depot.go:33-37]" in told
    assert "- `Seal` hands on to `SealWith`, which calls `melt` [depot/depot.go:46-50]" in told
    assert told.index("**Differences**") < told.index("In `Stamp`:")


@pytest.mark.parametrize("names", [("Seal", "SealTwice"), ("SealTwice", "Seal")])
async def test_functions_that_hand_on_to_the_same_call_it_both(desk: AnalysisHarness, names: tuple[str, str]) -> None:
    told = await answer(desk, "What is the difference between {} and {}?".format(*names))
    assert "Both `Seal` and `SealTwice` call `SealWith`" in told
    assert "calls `SealWith`" not in told
    assert 'Only in `SealTwice`: `return SealWith(parcel, "gold")`' in told


async def test_what_one_hands_on_to_is_not_compared_with_what_another_does_itself(desk: AnalysisHarness) -> None:
    told = (await answer(desk, "Compare Weight and Seal")).partition("**Differences**")[2]
    assert "Only `Weight` calls `weigh`" in told
    assert "Only `Seal` calls `SealWith`" in told
    assert "by way of" not in told


async def test_a_capitalised_word_that_a_definition_bears_names_it(desk: AnalysisHarness) -> None:
    told = await answer(desk, "Who uses the Weigher here?")
    assert "`Depot.AddWeigher`" in told


async def test_what_one_builds_on_the_other_is_told_first_and_private_members_are_not(desk: AnalysisHarness) -> None:
    told = (await answer(desk, "What is the difference between Reader and TreeReader?")).partition("**Differences**")[2]
    assert told.startswith("\n\n- `TreeReader` builds on `Reader`: `class TreeReader extends Reader`")
    assert "Only `TreeReader` itself defines `climb` [src/readers.java:10]" in told
    assert "depth" not in told


async def test_a_call_of_the_language_is_no_call_of_what_is_called_alike(desk: AnalysisHarness) -> None:
    told = await answer(desk, "What happens when app.handle is called?")
    assert "`app.handle` calls `app.enabled` [web/app.js:5] [web/app.js:9-11]" in told
    assert "pets.js" not in told


async def test_a_list_of_what_only_files_are_called_has_the_files(desk: AnalysisHarness) -> None:
    told = await answer(desk, "List all formatters")
    assert told.startswith("**Found for «formatters»**\n\n- `bin/format-junit` [bin/format-junit:1-4]")


async def test_a_list_has_what_is_of_the_kind_and_not_what_speaks_of_it(desk: AnalysisHarness) -> None:
    told = await answer(desk, "List all printers")
    listed = [line.split("`")[1] for line in told.split("\n") if line.startswith("- ")]
    assert listed == ["Plain", "Colour", "TinyPrinter"]


async def test_a_call_whose_receiver_has_a_type_is_told_without_doubt(desk: AnalysisHarness) -> None:
    told = await answer(desk, "Who calls `Plain.matched`?")
    assert "- `ask`: `colour.matched() || thing.matched()` [press/output.rs:22]" in told
    assert "receiver unknown" not in told


async def test_calls_that_are_told_by_name_alone_are_counted_and_no_caller(desk: AnalysisHarness) -> None:
    told = await answer(desk, "Who calls `Office.Counter.route!`?")
    assert "No use of it was proven" not in told


async def test_the_flow_of_a_named_thing_is_no_list(desk: AnalysisHarness) -> None:
    told = await answer(desk, "Show the call chain of `Accept`")
    assert told.startswith("`Depot.Accept` is a method")
    assert "- `Depot.Accept` calls `weigh`" in told


async def test_a_class_behind_an_export_macro_has_its_own_name(desk: AnalysisHarness) -> None:
    told = await answer(desk, "Show the call chain of `Till::open_it`")
    assert told.startswith("`Till.open_it` is a method in `shop/till.cpp`")
    assert "`Till.open_it` calls `shop.ring` [shop/till.cpp:6]" in told
    assert "SHOP_API" not in told
    assert "No place told here names" not in told


async def test_a_name_without_a_definition_is_led_by_a_line_that_has_it(desk: AnalysisHarness) -> None:
    told = await answer(desk, "Who uses `ERR_FULL`?")
    assert told.startswith("No definition of `ERR_FULL` was found; it stands in")
    assert "**Used by**" in told
    assert "See also" not in told


async def test_why_is_not_left_open_for_code_of_one_line(desk: AnalysisHarness) -> None:
    document = await desk.ask("Why was `SkipWeighing` added?")
    assert document["open_goals"] == ["Tell who changed `SkipWeighing`, and when"]
    assert not document["partial"]
