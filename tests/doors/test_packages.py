"""Capabilities of other packages: found by name with what they bring, and harmless to others when they are broken."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.agents.capability import load_capability
from runtime.errors import SettingsError, UnknownNameError
from runtime.llm.prompts import PromptRegistry
from runtime.settings import Settings, load_settings
from serve.cli.commands.doctor_checks import check_capabilities
from serve.contributions import capability_named, configs_of
from serve.pipeline_files import load_named_pipeline, package_folders, pipeline_files
from serve.pipeline_names import problems_of_names
from serve.wiring import agent_settings, system_parts
from tests.doors.installed import PIPELINE, install, write
from tests.doors.program import Program

RAISES = "raise RuntimeError('the licence has expired')"
EXITS = "raise SystemExit('not today')"
MARKS = "import pathlib; pathlib.Path(__file__).with_name('imported').touch()\nCAPABILITY = 1\n"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages on this process's search path; what is imported from it is forgotten afterwards."""
    forget_modules_below(tmp_path.parent)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield tmp_path / "site"
    forget_modules_below(tmp_path.parent)


def forget_modules_below(folder: Path) -> None:
    """Forget what this or another test has imported from a folder: packages of tests bear the same names."""
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]


def enabling(tmp_path: Path, *names: str, text: str = "") -> Settings:
    """Settings that enable these capabilities beside code_analysis."""
    write(tmp_path / "own" / "jeeves.yaml", f"capabilities: [{', '.join(['code_analysis', *names])}]\n{text}")
    return load_settings(tmp_path / "own" / "jeeves.yaml", {"HOME": str(tmp_path), "JEEVES_STATE_DIR": str(tmp_path)})


def test_the_pipelines_of_an_enabled_package_are_found_by_name(site: Path, tmp_path: Path) -> None:
    install(site, "depot")
    settings = enabling(tmp_path, "depot")
    assert pipeline_files(settings)["depot"] == site / "depot" / "configs" / "pipelines" / "depot.yaml"
    assert load_named_pipeline(settings, "depot").capability_id == "depot"


def test_a_package_that_no_setting_enables_brings_nothing(site: Path, tmp_path: Path) -> None:
    install(site, "depot")
    assert "depot" not in pipeline_files(enabling(tmp_path))


def test_listing_pipelines_runs_no_code_of_a_package(site: Path, tmp_path: Path) -> None:
    install(site, "depot", module=MARKS, files={"__init__.py": MARKS})
    settings = enabling(tmp_path, "depot")
    system_parts(settings, [load_named_pipeline(settings, "depot"), load_named_pipeline(settings, "code_analysis")])
    assert not (site / "depot" / "imported").exists()


@pytest.mark.parametrize(("module", "told"), [(RAISES, "RuntimeError: the licence has expired"), (EXITS, "not today")])
def test_a_package_whose_import_fails_is_a_settings_error_that_names_it(
    site: Path, module: str, told: str, tmp_path: Path
) -> None:
    install(site, "depot", module=module)
    with pytest.raises(SettingsError, match=told) as caught:
        load_capability(capability_named("depot"), "depot")
    assert "depot.capability:CAPABILITY" in caught.value.message


def test_a_broken_package_leaves_the_other_capabilities_alone(site: Path, tmp_path: Path) -> None:
    install(site, "depot", module=RAISES, pipelines={"depot": "name: [}"})
    install(site, "shop")
    settings = enabling(tmp_path, "depot", "shop")
    assert load_named_pipeline(settings, "shop").name == "shop"
    assert load_named_pipeline(settings, "code_analysis").name == "code_analysis"
    assert load_capability(capability_named("shop"), "shop").id == "shop"


def test_a_capability_that_two_packages_declare_is_refused_with_both_names(site: Path, tmp_path: Path) -> None:
    install(site, "depot")
    install(site, "depot", package="other_depot")
    install(site, "shop")
    settings = enabling(tmp_path, "depot", "shop")
    with pytest.raises(SettingsError, match=r"depot\.capability:CAPABILITY of depot 1 and other_depot"):
        capability_named("depot")
    assert list(package_folders(settings)) == ["shop"]


def test_no_package_takes_the_name_of_a_capability_of_this_repository(site: Path, tmp_path: Path) -> None:
    install(site, "code_analysis", package="impostor", pipelines={})
    assert capability_named("code_analysis").startswith("actors.capabilities.")


def test_a_pipeline_that_two_packages_bring_is_refused_and_no_other(site: Path, tmp_path: Path) -> None:
    for name in ("depot", "shop"):
        pipelines = {"orders": PIPELINE.format(name="orders", capability=name)}
        install(site, name, pipelines={**pipelines, name: PIPELINE.format(name=name, capability=name)})
    settings = enabling(tmp_path, "depot", "shop")
    with pytest.raises(SettingsError, match=r"'orders' is brought by several packages: .*depot.* and .*shop"):
        load_named_pipeline(settings, "orders")
    assert load_named_pipeline(settings, "shop").name == "shop"


def test_a_shipped_pipeline_is_not_replaced_by_a_package(site: Path, tmp_path: Path) -> None:
    install(site, "depot", pipelines={"code_analysis": PIPELINE.format(name="code_analysis", capability="depot")})
    assert load_named_pipeline(enabling(tmp_path, "depot"), "code_analysis").capability_id == "code_analysis"


def test_a_file_in_config_dir_precedes_that_of_a_package(site: Path, tmp_path: Path) -> None:
    install(site, "depot")
    own = PIPELINE.format(name="depot", capability="depot") + "max_agent_hops: 2\n"
    write(tmp_path / "own" / "pipelines" / "depot.yaml", own)
    settings = enabling(tmp_path, "depot", text=f"config_dir: {tmp_path / 'own'}\n")
    assert load_named_pipeline(settings, "depot").max_agent_hops == 2


def test_a_pipeline_of_a_package_uses_its_own_capability_alone(site: Path, tmp_path: Path) -> None:
    install(site, "depot", pipelines={"depot": PIPELINE.format(name="depot", capability="code_analysis")})
    with pytest.raises(SettingsError, match="belongs to the package of 'depot'"):
        load_named_pipeline(enabling(tmp_path, "depot"), "depot")


TWO = """
from runtime.kernel import AgentHooks, Capability, StageResult

async def serve(context, view):
    return StageResult({"final_response": view.raw_input})

DEPOT, SHOP = (Capability(id=name, agents={"clerk": AgentHooks(process=serve)}) for name in ("depot", "shop"))
"""


def test_one_package_brings_several_capabilities(site: Path, tmp_path: Path) -> None:
    pipelines = {name: PIPELINE.format(name=name, capability=name) for name in ("depot", "shop")}
    files = {f"configs/prompts/{name}/clerk.1.md": PROMPT for name in ("depot", "shop")}
    install(site, "depot", package="both", module=TWO, pipelines=pipelines, files=files)
    entries = "[jeeves.capabilities]\ndepot = both.capability:DEPOT\nshop = both.capability:SHOP\n"
    write(site / "both-1.dist-info" / "entry_points.txt", entries)
    settings = enabling(tmp_path, "depot", "shop")
    for name in ("depot", "shop"):
        pipeline = load_named_pipeline(settings, name)
        assert pipeline.capability_id == name
        assert problems_of_names(settings, pipeline) == []
        assert prompts_of(settings, name).get("clerk").label == "clerk@1"
    told = {check.name: check for check in check_capabilities(settings)}
    assert {told[f"capability {name}"].verdict for name in ("depot", "shop")} == {"ok"}
    only_shop = enabling(tmp_path, "shop")
    assert load_named_pipeline(only_shop, "shop").capability_id == "shop"
    with pytest.raises(SettingsError, match="belongs to the package of 'shop'"):
        load_named_pipeline(only_shop, "depot")


def test_a_capability_that_goes_by_another_name_than_it_is_declared_by_is_refused(site: Path) -> None:
    install(site, "depot", capability="code_analysis")
    with pytest.raises(SettingsError, match="declared as capability 'depot', but its id is 'code_analysis'"):
        load_capability(capability_named("depot"), "depot")


@pytest.mark.parametrize("name", ["run", "stage", "text"])
def test_the_first_words_of_events_are_no_names_of_capabilities(site: Path, name: str) -> None:
    install(site, name, package="loud")
    with pytest.raises(SettingsError, match="is reserved"):
        load_capability(capability_named(name), name)


def test_every_process_checks_the_name_of_the_capability_that_it_loads(site: Path, tmp_path: Path) -> None:
    install(site, "depot")
    settings = enabling(tmp_path, "depot")
    parts = system_parts(settings, [load_named_pipeline(settings, "depot")])
    assert parts["settings"]["capability_names"] == {"depot.capability:CAPABILITY": "depot"}


@pytest.mark.parametrize("module", ["depot/../../etc", "depot..", "../depot", "/etc", "", "no_such_package", "sys"])
def test_the_folder_of_a_package_lies_in_the_package(site: Path, module: str) -> None:
    write(site / "configs" / "pipelines" / "stray.yaml", "")
    install(site, "depot", spec=f"{module}:CAPABILITY")
    assert configs_of(f"{module}:CAPABILITY") is None


PROMPT = "---\ninputs: [order]\n---\n# user\n{{order}}\n"


def prompts_of(settings: Settings, capability: str) -> PromptRegistry:
    """The prompts as an agent of a capability has them."""
    told = agent_settings(settings.model_copy(update={"reasoner": "llm"}))
    folders = [*told["config_folders"], told["package_folders"].get(capability)]
    return PromptRegistry.open((Path(folder) for folder in folders if folder), capability)


def test_a_package_brings_prompts_for_its_own_capability_and_none_for_others(site: Path, tmp_path: Path) -> None:
    files = {f"configs/prompts/{name}/planner.9.md": PROMPT for name in ("depot", "code_analysis")}
    install(site, "depot", files=files)
    settings = enabling(tmp_path, "depot")
    assert prompts_of(settings, "depot").get("planner").label == "planner@9"
    assert prompts_of(settings, "code_analysis").get("planner").label == "planner@3"


@pytest.mark.parametrize("key", ["../code_analysis/planner", "code_analysis/planner@1", "/etc/passwd", "planner@1"])
def test_a_prompt_of_another_capability_cannot_be_named(site: Path, key: str, tmp_path: Path) -> None:
    install(site, "depot", files={"configs/prompts/depot/clerk.1.md": PROMPT})
    with pytest.raises(UnknownNameError):
        prompts_of(enabling(tmp_path, "depot"), "depot").get(key)


@pytest.fixture
def packaged(tmp_path: Path) -> Program:
    """The program with packages of `site` beside it."""
    path = f"{tmp_path / 'site'}:{Path(__file__).resolve().parents[2]}"
    enabled = "code_analysis,depot"
    program = Program(tmp_path / "state", JEEVES_RAY__MODE="in_process", JEEVES_CAPABILITIES=enabled, PYTHONPATH=path)
    program.forks = False
    return program


@pytest.mark.long
def test_a_question_is_answered_by_a_package_by_the_name_of_its_pipeline(
    packaged: Program, tmp_path: Path, repo: Path
) -> None:
    install(tmp_path / "site", "depot")
    asked = ("ask", "two crates", "--repo", str(repo), "--pipeline", "depot", "--json")
    answer = packaged.run(*asked).answers(0).document
    assert answer["answer"] == "depot has served two crates"
    assert answer["uncited"] is True
    assert answer["partial"] is False


@pytest.mark.long
def test_a_package_that_is_broken_is_told_in_one_line(packaged: Program, tmp_path: Path, repo: Path) -> None:
    install(tmp_path / "site", "depot", module=RAISES)
    asked = ("ask", "two crates", "--repo", str(repo), "--pipeline", "depot")
    packaged.run(*asked).complains(2, "depot.capability:CAPABILITY", "the licence has expired")
    assert packaged.run("ask", "Where is Depot?", "--repo", str(repo)).status in (0, 3)
