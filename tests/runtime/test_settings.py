"""What a user relies on: where settings come from, which wins, and how wrong ones are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from runtime.bus.builtin_middleware import SHIPPED, build_chain
from runtime.errors import DocumentFaults, StateStorageError, UnknownNameError
from runtime.primitives.clock import FakeClock
from runtime.settings import (
    MiddlewareName,
    Settings,
    load_settings,
    open_state_dir,
    shipped_config_dir,
    unknown_variables,
)
from runtime.store.options import store_options
from serve.wiring import bus_middleware

HOME_ENV = {"XDG_STATE_HOME": "/var/lib/state"}


def settings_file(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def faults_of(path: Path | None = None, env: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(DocumentFaults) as caught:
        load_settings(path, env=env or {})
    faults: list[str] = caught.value.values["faults"]
    return faults


def test_the_shipped_file_says_what_holds_without_it() -> None:
    assert load_settings(env=HOME_ENV) == Settings(state_dir=Path("/var/lib/state/jeeves"))


def test_the_shipped_file_names_every_setting() -> None:
    text = (shipped_config_dir() / "jeeves.yaml").read_text(encoding="utf-8")
    keys = {line.split(":")[0].strip() for line in text.splitlines() if ":" in line and not line.startswith("#")}

    def names(model: Any) -> set[str]:
        fields = getattr(type(model), "model_fields", {})
        return set(fields).union(*(names(getattr(model, name)) for name in fields))

    assert keys == names(load_settings(env=HOME_ENV))


def test_a_process_of_ours_is_handed_the_same_settings_secrets_included() -> None:
    dsn = "postgresql://jeeves:hunter2@127.0.0.1/db"
    given = load_settings(env=HOME_ENV | {"JEEVES_STORE__BACKEND": "postgres", "JEEVES_STORE__DSN": dsn})
    again = Settings.model_validate_json(given.json_with_secrets())
    assert again == given
    assert again.store.dsn is not None
    assert again.store.dsn.get_secret_value() == dsn
    assert "hunter2" not in given.model_dump_json() + repr(given)


def test_a_limit_is_a_number_or_unlimited(tmp_path: Path) -> None:
    text = "limits:\n  quotas: {running: unlimited, run_s: 2.5, queued: 0}\n"
    quotas = load_settings(settings_file(tmp_path, text), env=HOME_ENV).limits.quotas
    assert (quotas.running, quotas.run_s, quotas.queued, quotas.run_tool_calls) == (None, 2.5, 0, 50)
    assert load_settings(env={"JEEVES_LIMITS__QUOTAS__RUNNING": "unlimited"}).limits.quotas.running is None


def test_an_unknown_key_far_down_names_those_of_its_own_section(tmp_path: Path) -> None:
    (fault,) = faults_of(settings_file(tmp_path, "limits:\n  quotas:\n    runs: 3\n"))
    assert "mine.yaml:3" in fault
    assert "limits.quotas.runs" in fault
    assert "running_per_user" in fault


@pytest.mark.parametrize("text", ["running: -1", "running: many", "run_s: 0"])
def test_a_limit_that_is_none_is_a_fault(tmp_path: Path, text: str) -> None:
    assert len(faults_of(settings_file(tmp_path, f"limits:\n  quotas: {{{text}}}\n"))) == 1


def test_a_file_changes_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    changed = load_settings(settings_file(tmp_path, "ray:\n  num_cpus: 3\nreasoner: llm\n"), env=HOME_ENV)
    assert (changed.ray.num_cpus, changed.reasoner) == (3, "llm")
    assert changed.ray.node_ip == "127.0.0.1"
    assert changed.http == load_settings(env=HOME_ENV).http


def test_a_variable_goes_before_the_file(tmp_path: Path) -> None:
    path = settings_file(tmp_path, "ray:\n  num_cpus: 3\n  object_store_mb: 200\n")
    settings = load_settings(path, env={"JEEVES_RAY__NUM_CPUS": "5"})
    assert (settings.ray.num_cpus, settings.ray.object_store_mb) == (5, 200)


def test_an_empty_variable_and_a_key_without_value_choose_nothing(tmp_path: Path) -> None:
    path = settings_file(tmp_path, "ray:\nhttp:\n  port:\nstate_dir:\n")
    settings = load_settings(path, env=HOME_ENV | {"JEEVES_REASONER": "", "JEEVES_STATE_DIR": ""})
    assert settings == load_settings(env=HOME_ENV)


def test_a_list_in_a_variable_is_separated_by_commas() -> None:
    settings = load_settings(env={"JEEVES_CODE_INDEX__EXCLUDES": "build/, *.min.js"})
    assert settings.code_index.excludes == ("build/", "*.min.js")


def test_state_lives_where_the_environment_says_or_in_the_xdg_folder() -> None:
    assert load_settings(env={"JEEVES_STATE_DIR": "/srv/jeeves"} | HOME_ENV).state_dir == Path("/srv/jeeves")
    assert load_settings(env=HOME_ENV).state_dir == Path("/var/lib/state/jeeves")
    assert load_settings(env={}).state_dir == Path("~/.local/state/jeeves").expanduser()
    assert load_settings(env={"XDG_STATE_HOME": "relative"}).state_dir == load_settings(env={}).state_dir


def test_paths_are_absolute_whatever_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = load_settings(env={"JEEVES_STATE_DIR": "here", "JEEVES_CONFIG_DIR": "~/there"})
    assert settings.state_dir == tmp_path / "here"
    assert settings.config_dir == Path("~/there").expanduser()


def test_every_fault_is_told_at_once_with_its_place(tmp_path: Path) -> None:
    path = settings_file(tmp_path, "reasoner: magic\nray:\n  num_cpu: 3\nhttp: 5\ncolour: red\n")
    env = {"JEEVES_RAY__OBJECT_STORE_MB": "many", "JEEVES_RAY__CORES": "2", "JEEVES_CAPABILITIES": "a,a"}
    told = faults_of(path, env)
    assert [fault.split(": ")[0:2] for fault in told] == [
        ["environment", "JEEVES_CAPABILITIES"],
        [f"{path}:1", "reasoner"],
        ["environment", "JEEVES_RAY__OBJECT_STORE_MB"],
        [f"{path}:3", "ray.num_cpu"],
        ["environment", "JEEVES_RAY__CORES"],
        [f"{path}:4", "http"],
        [f"{path}:5", "colour"],
    ]


def test_a_fault_says_what_is_allowed_and_what_was_given(tmp_path: Path) -> None:
    [reasoner, unknown] = faults_of(settings_file(tmp_path, "reasoner: magic\nray:\n  num_cpu: 3\n"))
    assert "'rules' or 'llm', not 'magic'" in reasoner
    assert "num_cpus" in unknown


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [("JEEVES_NOSUCH", "JEEVES_"), ("jeeves_store_folder", "JEEVES_STORE"), ("JEEVES_", "JEEVES_")],
)
def test_a_variable_that_is_no_setting_is_told_with_the_nearest_one(variable: str, nearest: str) -> None:
    (told,) = unknown_variables({variable: "1", "HOME": "/"})
    assert told.startswith(f"{variable} is no setting and has no effect; the nearest is {nearest}")
    assert told.rpartition("JEEVES_")[2].lower() in Settings.model_fields


def test_variables_that_are_settings_keys_or_for_debugging_are_told_nothing_about() -> None:
    names = ("JEEVES_DEBUG", "JEEVES_STATE_DIR", "jeeves_reasoner", "JEEVES_RAY__MODE", "JEEVES_OPENAI_KEY", "JEEVESX")
    assert unknown_variables(dict.fromkeys(names, "1")) == []
    assert unknown_variables({"JEEVES_REASONNER": "rules", "JEEVES_NOSUCH__X": "1"}) == []  # these are refused


def test_a_misspelt_variable_is_a_fault_and_a_foreign_one_is_not() -> None:
    [fault] = faults_of(env={"JEEVES_REASONNER": "llm"})
    assert fault.startswith("environment: JEEVES_REASONNER") and "JEEVES_REASONER" in fault
    [fault] = faults_of(env={"JEEVES_RAYS__NUM_CPUS": "1"})
    assert fault.startswith("environment: JEEVES_RAYS__NUM_CPUS")
    assert load_settings(env=HOME_ENV | {"JEEVES_X_OF_SOMEBODY_ELSE": "1"}) == load_settings(env=HOME_ENV)


def test_joining_a_cluster_needs_its_address(tmp_path: Path) -> None:
    [fault] = faults_of(settings_file(tmp_path, "ray:\n  mode: attach\n"), {"JEEVES_RAY__NODE_IP": "127.0.0.1"})
    assert fault.startswith(f"{tmp_path}/mine.yaml:1: ray: ") and "needs an address" in fault


@pytest.mark.parametrize("text", ["- a\n- b\n", "42\n", "reasoner: [\n", "reasoner: rules\nreasoner: llm\n"])
def test_a_document_that_is_no_mapping_of_keys_is_a_fault(tmp_path: Path, text: str) -> None:
    path = settings_file(tmp_path, text)
    assert all(fault.startswith(str(path)) for fault in faults_of(path))


def test_a_wrong_type_in_the_file_is_a_fault_even_if_a_variable_sets_a_field_below_it(tmp_path: Path) -> None:
    path = settings_file(tmp_path, "reasoner: rules\nray: 5\n")
    [fault] = faults_of(path, {"JEEVES_RAY__MODE": "in_process"})
    assert fault == f"{path}:2: ray: must be a mapping of keys, not 5"


def test_an_empty_section_in_the_file_takes_the_fields_of_variables(tmp_path: Path) -> None:
    path = settings_file(tmp_path, "ray:\n")
    assert load_settings(path, HOME_ENV | {"JEEVES_RAY__MODE": "in_process"}).ray.mode == "in_process"


def test_a_file_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    assert faults_of(tmp_path / "none.yaml") == [f"{tmp_path}/none.yaml: No such file or directory"]


def test_an_empty_file_chooses_nothing(tmp_path: Path) -> None:
    assert load_settings(settings_file(tmp_path, ""), env=HOME_ENV) == load_settings(env=HOME_ENV)


def test_a_configuration_of_ones_own_goes_before_the_shipped_one(tmp_path: Path) -> None:
    own = tmp_path / "pipelines" / "code_analysis.yaml"
    own.parent.mkdir()
    (tmp_path / "jeeves.yaml").write_text("reasoner: llm\n", encoding="utf-8")
    settings = load_settings(env={"JEEVES_CONFIG_DIR": str(tmp_path)})
    assert settings.reasoner == "llm"
    assert settings.config_path("pipelines/code_analysis.yaml") == (
        shipped_config_dir() / "pipelines" / "code_analysis.yaml"
    )
    own.touch()
    assert settings.config_path("pipelines/code_analysis.yaml") == own


def test_a_configuration_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(UnknownNameError, match=r"pipelines/none\.yaml.*code_analysis\.yaml"):
        load_settings(env={}).config_path("pipelines/none.yaml")


def test_a_name_never_leads_out_of_the_configuration_folders() -> None:
    with pytest.raises(UnknownNameError) as caught:
        load_settings(env={}).config_path("../pyproject.toml")
    assert caught.value.values["known"] == []


def test_settings_travel_as_plain_data() -> None:
    settings = load_settings(env=HOME_ENV)
    plain = settings.model_dump(mode="json")
    assert plain["state_dir"] == "/var/lib/state/jeeves"
    assert Settings.model_validate(plain) == settings


def test_the_state_folder_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    assert open_state_dir(path) == path
    assert path.stat().st_mode & 0o777 == 0o700
    assert list(path.iterdir()) == []


def test_a_state_folder_that_cannot_be_is_told_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StateStorageError, match=rf"{tmp_path}/file is no folder; set JEEVES_STATE_DIR"):
        open_state_dir(tmp_path / "file" / "state")
    with pytest.raises(StateStorageError, match=r"cannot be written"):
        open_state_dir(Path("/proc/jeeves"))


def test_a_state_folder_without_room_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StateStorageError, match=r"bytes of room, 9223372036854775808 are needed; free some"):
        open_state_dir(tmp_path, min_free_bytes=2**63)


def test_the_bus_has_the_shipped_middleware_in_the_shipped_order() -> None:
    settings = load_settings(env=HOME_ENV)
    assert settings.bus.middleware == get_args(MiddlewareName) == tuple(SHIPPED)
    assert bus_middleware(settings) == tuple(
        {"use": name, **(RULES if name == "circuit_breaker" else {})} for name in SHIPPED
    )


RULES = {"failure_threshold": 5, "reset_timeout_s": 30, "excluded": []}


def test_the_middleware_of_the_bus_can_be_chosen_and_its_breaker_set(tmp_path: Path) -> None:
    text = "bus:\n  middleware: [circuit_breaker, logging]\n  breaker: {excluded_types: [index.refresh]}\n"
    env = HOME_ENV | {"JEEVES_BUS__BREAKER__FAILURE_THRESHOLD": "2"}
    chain = bus_middleware(load_settings(settings_file(tmp_path, text), env=env))
    assert chain == (
        {"use": "circuit_breaker", "failure_threshold": 2, "reset_timeout_s": 30, "excluded": ["index.refresh"]},
        {"use": "logging"},
    )
    build_chain(chain, FakeClock())


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("middleware: [loging]", "mine.yaml:2: bus.middleware[0]: Input should be 'deduplication', 'tracing', 'logg"),
        ("middleware: [logging, logging]", "mine.yaml:2: bus.middleware: Items should differ, but given twice"),
        ("breaker: {failure_threshold: -1}", "mine.yaml:2: bus.breaker.failure_threshold: Input should be greater"),
        ("breaker: {reset_timeout_s: .nan}", "mine.yaml:2: bus.breaker.reset_timeout_s: Input should be a finite"),
        ("breaker: {threshold: 1}", "mine.yaml:2: bus.breaker.threshold: unknown key; known here: excluded_types, fai"),
        (
            "middleware: [logging]\n  breaker: {failure_threshold: 1}",
            "mine.yaml:1: bus: breaker is set, but circuit_breaker is not among the middleware",
        ),
    ],
)
def test_a_bus_that_cannot_be_is_told_by_file_line_and_key(tmp_path: Path, text: str, fault: str) -> None:
    (found,) = faults_of(settings_file(tmp_path, f"bus:\n  {text}\n"))
    assert found.startswith(f"{tmp_path}/{fault}"), found


def test_the_store_is_a_file_that_survives_a_loss_of_power_unless_told_otherwise() -> None:
    store = load_settings(env=HOME_ENV).store
    assert (store.backend, store.path, store.dsn, store.durability) == ("sqlite", None, None, "full")
    options = store_options(load_settings(env=HOME_ENV))
    assert (options.folder, options.backend, options.durability) == ("/var/lib/state/jeeves", "sqlite", "full")


def test_a_store_on_a_server_needs_its_address_and_shows_no_password(tmp_path: Path) -> None:
    path = settings_file(tmp_path, "store:\n  backend: postgres\n  durability: normal\n")
    assert "postgres needs a dsn" in faults_of(path)[0]
    settings = load_settings(path, env=HOME_ENV | {"JEEVES_STORE__DSN": "postgresql://ann:sesame@db/jeeves"})
    assert "sesame" not in repr(settings) + str(settings.model_dump(mode="json")) + repr(store_options(settings))
    assert store_options(settings).dsn == "postgresql://ann:sesame@db/jeeves"
    assert store_options(settings).durability == "normal"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("store:\n  backend: mysql\n", "mysql"),
        ("store:\n  durability: none\n", "durability"),
        ("store:\n  folder: x\n", "unknown key"),
        ("store:\n  dsn: postgresql://ann:sesame@db/jeeves\n", "sqlite takes no dsn"),
    ],
)
def test_a_wrong_store_is_a_fault_that_shows_no_password(tmp_path: Path, text: str, fault: str) -> None:
    [told] = faults_of(settings_file(tmp_path, text))
    assert fault in told
    assert "sesame" not in told


def test_what_is_unlimited_stays_so_on_the_way_to_the_process_that_is_up() -> None:
    variables = {
        "JEEVES_LIMITS__RATES__BURST": "unlimited",
        "JEEVES_LIMITS__QUOTAS__RUN_S": "unlimited",
        "JEEVES_STORE__RETENTION_DAYS": "unlimited",
    }
    settings = load_settings(env={**HOME_ENV, **variables})
    assert settings.limits.rates.burst is None
    assert Settings.model_validate_json(settings.json_with_secrets()) == settings


@pytest.mark.parametrize(
    ("text", "key", "told"),
    [
        ("limits:\n  limited: [batch]\n", "limits.limited[0]", "Input should be 'user', 'token' or 'address'"),
        ("limits:\n  rates_by_user: {ann: {burst: 1}}\n", "limits.rates_by_user.ann", "user:NAME"),
        ("limits:\n  rates_by_user: {'batch:ann': {burst: 1}}\n", "limits.rates_by_user.batch:ann", "address:NAME"),
        ("limits:\n  rates_by_endpoint: {chats: {burst: 1}}\n", "limits.rates_by_endpoint.chats", "'chat'"),
        ("http:\n  trusted_proxies: [10.0.0.1/8]\n", "http.trusted_proxies[0]", "host bits set"),
        ("http:\n  trusted_proxies: [proxy]\n", "http.trusted_proxies[0]", "Not an address or network"),
    ],
)
def test_a_setting_that_names_no_principal_endpoint_or_network_is_a_fault(
    tmp_path: Path, text: str, key: str, told: str
) -> None:
    (fault,) = faults_of(settings_file(tmp_path, text))
    assert key in fault
    assert told in fault


def test_principals_endpoints_and_proxies_are_read() -> None:
    variables = {"JEEVES_LIMITS__LIMITED": "user,address", "JEEVES_HTTP__TRUSTED_PROXIES": "127.0.0.1,2001:db8::/32"}
    settings = load_settings(env={**HOME_ENV, **variables})
    assert settings.limits.limited == ("user", "address")
    assert settings.http.trusted_proxies == ("127.0.0.1/32", "2001:db8::/32")


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("JEEVES_HTTP__REPOSITORIES", '{"shop": "/srv/shop"}', "each in a variable of its own (NAME__KEY=value)"),
        ("JEEVES_LIMITS__RATES", '{"per_minute": 5}', "each in a variable of its own (NAME__KEY=value)"),
        ("JEEVES_HTTP__ALLOWED_HOSTS", '["a.example", "b.example"]', "separated by commas, without brackets"),
        ("JEEVES_WARM_PIPELINES", "['code_analysis']", "separated by commas, without brackets"),
    ],
)
def test_json_in_a_variable_is_a_fault_that_says_how_it_is_written(variable: str, value: str, told: str) -> None:
    (fault,) = faults_of(env={variable: value})
    assert fault.startswith(f"environment: {variable}: ")
    assert told in fault and value in fault


def test_keys_of_a_mapping_and_hosts_in_brackets_are_read_from_variables() -> None:
    variables = {"JEEVES_HTTP__REPOSITORIES__SHOP": "/srv/shop", "JEEVES_HTTP__ALLOWED_HOSTS": "[::1],a.example"}
    http = load_settings(env={**HOME_ENV, **variables}).http
    assert (http.repositories, http.allowed_hosts) == ({"shop": Path("/srv/shop")}, ("[::1]", "a.example"))


def test_settings_are_the_same_after_a_round_trip_as_json(tmp_path: Path) -> None:
    (tmp_path / "jeeves.yaml").write_text("logging: {level: debug}\n")
    settings = load_settings(env={"HOME": str(tmp_path), "JEEVES_CONFIG_DIR": str(tmp_path)})
    told = settings.model_dump_json()
    assert Settings.model_validate_json(told).model_dump_json() == told
