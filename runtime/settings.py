"""Loads `configs/jeeves.yaml`, with overrides from the environment (`JEEVES_RAY__NUM_CPUS=2`).

Each command reads it once; actors receive their settings as plain data (`model_dump(mode="json")`), so that no Ray
worker pays for importing this module. (Over 400 lines: the sections are the file, one after the other.)
"""

from __future__ import annotations

import difflib
import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from decimal import Decimal
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PrivateAttr,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from runtime.errors import StateStorageError, UnknownNameError
from runtime.primitives.ids import DEFAULT_SYSTEM
from runtime.primitives.money import DECIMALS, MOST_UNITS
from runtime.primitives.settings_sources import ENV_PREFIX as ENV_PREFIX
from runtime.primitives.settings_sources import (
    FILE_NAME,
    absolute,
    default_file,
    default_state_dir,
)
from runtime.primitives.settings_sources import shipped_config_dir as shipped_config_dir
from runtime.primitives.yaml_documents import Document, Fault, KeyPath, known_keys, load_yaml, parse_yaml, raise_faults

ENV_DELIMITER = "__"
SYSTEM_NAME = r"^[a-z][a-z0-9_]{0,31}$"
MIN_FREE_BYTES = 64 * 2**20

PATHS = (("state_dir",), ("config_dir",), ("store", "path"), ("http", "repositories"))
"""Settings that are paths, or names of paths: a relative one leads to another place from another folder."""

# Ray refuses an object store below 75 MiB.
MIN_OBJECT_STORE_MB = 80


def _split_at_commas(value: Any) -> Any:
    if isinstance(value, str) and value.lstrip().startswith(('["', "['")):
        raise PydanticCustomError("json_list", "Entries are separated by commas, without brackets and quotes: a,b")
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _distinct(value: tuple[str, ...]) -> tuple[str, ...]:
    doubled = sorted({item for item in value if value.count(item) > 1})
    if doubled:
        raise PydanticCustomError("doubled", "Items should differ, but given twice: {names}", {"names": doubled})
    return value


AbsolutePath = Annotated[Path, AfterValidator(absolute)]
Identifier = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
SystemName = Annotated[str, Field(pattern=SYSTEM_NAME)]
Identifiers = Annotated[tuple[Identifier, ...], BeforeValidator(_split_at_commas), AfterValidator(_distinct)]
MiddlewareName = Literal["deduplication", "tracing", "logging", "metrics", "circuit_breaker"]
Patterns = Annotated[tuple[str, ...], BeforeValidator(_split_at_commas)]


def _network(value: str) -> str:
    try:
        return str(ip_network(value))
    except ValueError as error:
        raise PydanticCustomError("no_network", "Not an address or network: {why}", {"why": str(error)}) from error


Networks = Annotated[
    tuple[Annotated[str, AfterValidator(_network)], ...], BeforeValidator(_split_at_commas), AfterValidator(_distinct)
]
LimitedKind = Literal["user", "token", "address"]
LimitedKinds = Annotated[tuple[LimitedKind, ...], BeforeValidator(_split_at_commas), AfterValidator(_distinct)]


def _rated_principal(value: str) -> str:
    kind, _, name = value.partition(":")
    if kind not in get_args(LimitedKind) or not name:
        allowed = ", ".join(f"{kind}:NAME" for kind in get_args(LimitedKind))
        raise PydanticCustomError("no_principal", "Should name a principal: {allowed}", {"allowed": allowed})
    return value


RatedPrincipal = Annotated[str, AfterValidator(_rated_principal)]
AskEndpoint = Literal["chat", "models", "repositories", "sessions", "governance"]
Endpoint = Literal[AskEndpoint, "runs", "run", "events", "cancel", "pause", "answer", "fork"]


def _without_unset(model: type[BaseModel], data: Any) -> Any:
    """Return `data` without the known keys that have no value: in YAML, `num_cpus:` alone chooses nothing."""
    if not isinstance(data, dict):
        return data
    return {key: value for key, value in data.items() if value is not None or key not in model.model_fields}


class _Section(BaseModel):
    # Defaults are validated, too: otherwise a whole number of days stays an int here and is a float after a round trip.
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_unset(cls, data: Any) -> Any:
        return _without_unset(cls, data)


class RaySettings(_Section):
    """Selects where actors run: on a cluster that Jeeves starts, on an existing one, or not on Ray at all.

    `nodes`: the custom resource that nodes of an existing cluster must offer to get any of our actors.
    """

    mode: Literal["local", "attach", "in_process"] = "local"
    address: str | None = None
    node_ip: str = "127.0.0.1"
    num_cpus: int | None = Field(default=None, ge=1)
    object_store_mb: int = Field(default=128, ge=MIN_OBJECT_STORE_MB)
    nodes: str | None = Field(default=None, min_length=1, max_length=100)

    @model_validator(mode="after")
    def _attach_needs_an_address(self) -> RaySettings:
        if self.mode == "attach" and not self.address:
            raise PydanticCustomError("no_address", "mode attach needs an address, such as 10.0.0.5:6379")
        return self


def _unlimited_is_none(value: Any) -> Any:
    return None if value == "unlimited" else value


# In JSON too, since a key without a value means the default.
_UNLIMITED = PlainSerializer(lambda value: "unlimited" if value is None else value, when_used="json")


MAX_DAYS = 36_500
Days = Annotated[
    Annotated[float, Field(ge=0, le=MAX_DAYS, allow_inf_nan=False)] | None,
    BeforeValidator(_unlimited_is_none),
    _UNLIMITED,
]


class StoreSettings(_Section):
    """Selects where runs, sessions and queues are stored: in files below `path`, or on the server of `dsn`."""

    backend: Literal["sqlite", "postgres"] = "sqlite"
    path: AbsolutePath | None = None
    dsn: SecretStr | None = None
    durability: Literal["full", "normal"] = "full"
    retention_days: Days = 30

    @model_validator(mode="after")
    def _postgres_needs_a_dsn(self) -> StoreSettings:
        has_dsn = self.dsn is not None and bool(self.dsn.get_secret_value())
        if self.backend == "postgres" and not has_dsn:
            raise PydanticCustomError("no_dsn", "backend postgres needs a dsn, such as postgresql://user@host/database")
        if self.backend == "sqlite" and has_dsn:
            raise PydanticCustomError("no_server", "backend sqlite takes no dsn; choose backend postgres, or drop it")
        return self


class CodeIndexSettings(_Section):
    """Limits which files of a repository are read; `excludes` are further patterns in .gitignore form.

    `timeout_s` and `memory_bytes` limit the process that indexes one repository, `memory_bytes` also those that parse
    for it, together. `embeddings` enables search by meaning; a question waits at most `question_patience_s` for the
    vectors of the pieces that it turns on, 0: never. `vector_store`: where vectors of pieces and of agreements are
    compared; chroma needs its extra.
    """

    excludes: Patterns = ()
    max_file_bytes: int = Field(default=1_000_000, ge=1)
    max_files: int = Field(default=200_000, ge=1)
    timeout_s: float = Field(default=600.0, gt=0, le=86_400)
    memory_bytes: int = Field(default=4_000_000_000, ge=256_000_000)
    allow_secrets: bool = False
    embeddings: bool = True
    question_patience_s: float = Field(default=2.0, ge=0, le=60, allow_inf_nan=False)
    vector_store: Literal["sqlite", "chroma"] = "sqlite"


Spread = Literal["near", "spread"]


class SupervisorSettings(_Section):
    """Configures the number of supervisors, heartbeats, the silence that counts as a hang, and runs without an owner.

    `placement`: on the node of the process that starts them, or spread over the nodes of the cluster.
    `abandoned_after_s`: a run that had no owner for so long, and is no durable work, is closed instead of continued.
    """

    shards: int = Field(default=1, ge=1, le=64)
    placement: Spread = "near"
    heartbeat_s: float = Field(default=1, gt=0, allow_inf_nan=False)
    hangs_after_s: float = Field(default=6, ge=1, allow_inf_nan=False)
    abandoned_after_s: float = Field(default=3_600, ge=0, le=10**9, allow_inf_nan=False)


class AgentPlaceSettings(_Section):
    """Sets how many processes each stage has whose pipeline does not say, and on which nodes they are placed."""

    replicas: int = Field(default=1, ge=1, le=64)
    placement: Spread = "near"


RepositoryName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]


class HttpSettings(_Section):
    """Sets address and names of the HTTP service, proxies whose X-Forwarded-For is believed, and callers' shares.

    `repositories`: name → folder, what callers may ask about. `body_timeout_s`: the body of a request has to be there
    within it, at `jeeves mcp --http` too. `tokens_required`: on loopback, too, callers need an access token; elsewhere
    they always do.
    """

    host: str = Field(default="127.0.0.1", min_length=1)
    port: int = Field(default=8700, ge=1, le=65_535)
    allowed_hosts: Patterns = ()
    trusted_proxies: Networks = ()
    requests_per_caller: int = Field(default=48, ge=1)
    body_timeout_s: float = Field(default=30, ge=1, le=3600)
    tokens_required: bool = False
    repositories: dict[RepositoryName, AbsolutePath] = {}


Limit = Annotated[Annotated[int, Field(ge=0)] | None, BeforeValidator(_unlimited_is_none), _UNLIMITED]
Span = Annotated[Annotated[float, Field(gt=0)] | None, BeforeValidator(_unlimited_is_none), _UNLIMITED]

Amount = Annotated[Decimal, Field(ge=0, le=MOST_UNITS, decimal_places=DECIMALS, allow_inf_nan=False)]
Cost = Annotated[Amount | None, BeforeValidator(_unlimited_is_none), _UNLIMITED]


class QuotaSettings(_Section):
    """Limits what runs use: how many go on or wait at once, what callers spend in 24 hours, and each of their runs.

    Daily quotas and those of one run are the same for each of the kinds of callers in `limited`, and hold for no other.
    """

    running: Limit = 64
    running_per_user: Limit = None
    running_per_session: Limit = None
    queued: Limit = 10_000
    queued_per_user: Limit = 1_000
    llm_calls_per_day: Limit = None
    tokens_per_day: Limit = None
    cost_per_day: Cost = None
    run_tool_calls: Limit = 50
    run_s: Span = 300
    run_cost: Cost = None


class RateSettings(_Section):
    """Limits how many requests a caller may send, batch work aside.

    `per_minute`: requests in any minute; `per_hour`: in any hour; `per_day`: in any 24 hours; `burst`: so many may come
    at once, then as fast as per_minute allows.
    """

    per_minute: Limit = 60
    per_hour: Limit = 1_000
    per_day: Limit = 10_000
    burst: Limit = 10


class PageRateSettings(RateSettings):
    """Limits how many pages and streams of the dashboard a caller may open: many, since none of them starts work."""

    per_minute: Limit = 240
    per_hour: Limit = 6_000
    per_day: Limit = 40_000
    burst: Limit = 120


class BreakerSettings(_Section):
    """Configures when the bus stops queries of a failing type, and for how long; `failure_threshold` 0: never."""

    failure_threshold: int = Field(default=5, ge=0)
    reset_timeout_s: float = Field(default=30, ge=0, allow_inf_nan=False)
    excluded_types: Patterns = ()


class BusSettings(_Section):
    """Selects the middleware of the bus, in order, and by which links processes exchange frames.

    `links`: True for Unix sockets on one machine and TCP with TLS between machines, `tcp` for TCP everywhere, False for
    Ray calls alone.
    """

    links: bool | Literal["tcp"] = True

    middleware: Annotated[tuple[MiddlewareName, ...], BeforeValidator(_split_at_commas), AfterValidator(_distinct)] = (
        "deduplication",
        "tracing",
        "logging",
        "metrics",
        "circuit_breaker",
    )
    breaker: BreakerSettings = BreakerSettings()

    @model_validator(mode="after")
    def _rules_need_a_breaker(self) -> BusSettings:
        if self.breaker != BreakerSettings() and "circuit_breaker" not in self.middleware:
            raise PydanticCustomError("no_breaker", "breaker is set, but circuit_breaker is not among the middleware")
        return self


class LimitSettings(_Section):
    """Limits what is accepted from callers.

    `limited`: the kinds of principals to which rates, daily quotas and ceilings apply. `rates_by_user` overrides
    `rates` for the principals that it names, of whatever kind; `rates_by_endpoint` overrides both, and so do
    `page_rates` for the pages of the dashboard.
    """

    max_question_chars: int = Field(default=100_000, ge=1)
    limited: LimitedKinds = ("token", "address")
    quotas: QuotaSettings = QuotaSettings()
    rates: RateSettings = RateSettings()
    rates_by_user: dict[RatedPrincipal, RateSettings] = {}
    rates_by_endpoint: dict[Endpoint, RateSettings] = {}
    page_rates: PageRateSettings = PageRateSettings()


class ModelSettings(_Section):
    """Selects the agents' models: a model file (a path, or a name in configs/models), and overrides of its roles.

    `roles`: role → deployment of that file. `journal`: answers are kept for stages that are reissued.
    """

    file: str | None = Field(default=None, min_length=1)
    roles: dict[Identifier, Identifier] = {}
    journal: bool = True


Threshold = Annotated[float, Field(allow_inf_nan=False)]


class AgentSettings(_Section):
    """Overrides the profile that a capability ships for one of its agents, and what its pipeline says.

    `role`: its role in the model file; `temperature`: of its model calls; `max_tokens`: of one answer of the model;
    `thresholds`: numbers that its hooks decide by, those given replacing the shipped ones; `latency_budget_ms`: a stage
    that takes longer is warned of and counted, but not ended.
    """

    role: str | None = Field(default=None, min_length=1)
    temperature: float | None = Field(default=None, ge=0, le=2, allow_inf_nan=False)
    max_tokens: int | None = Field(default=None, ge=1)
    thresholds: dict[Identifier, Threshold] = {}
    latency_budget_ms: int | None = Field(default=None, ge=1)


class ModeSettings(_Section):
    """Names a way to ask: a pipeline, bounds to lower, and a reasoner; what is not given stays as it is.

    `pipeline`: the one that answers; `limits`: bounds of that pipeline, which can only be lowered;
    `deadline_s`: seconds that a run may take; `reasoner`: whether a model reasons.
    """

    pipeline: Identifier | None = None
    limits: dict[Identifier, Annotated[int, Field(ge=0)]] = {}
    deadline_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    reasoner: Literal["rules", "llm"] | None = None


class CapabilitySection(_Section):
    """Configures one capability. `allowed_tools`: its agents use these at most; None leaves that to the pipelines.

    `product_name`: who answers, in answer documents. `domain`: settings of its own, validated by its model.
    """

    product_name: str | None = Field(default=None, min_length=1, max_length=80, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")
    modes: dict[Identifier, ModeSettings] = {}
    agents: dict[Identifier, AgentSettings] = {}
    allowed_tools: Annotated[tuple[str, ...] | None, BeforeValidator(_split_at_commas)] = None
    domain: dict[str, Any] = {}


class CodeChangeSettings(_Section):
    """Bounds the sessions of code changes that a process keeps in memory; the store has them all.

    `session_idle_s`: after so many seconds without a call a session leaves memory, and comes back with the next one.
    """

    sessions_in_memory: int = Field(default=32, ge=1, le=10_000)
    session_idle_s: float = Field(default=600, gt=0, le=86_400)


class LoggingSettings(_Section):
    """Sets the level and the format of the logs of all processes."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["text", "json"] = "text"


def _collector_url(value: str) -> str:
    url = urlsplit(value)
    if url.scheme not in ("http", "https") or not url.hostname:
        told = "Should be the URL of a collector for OTLP over HTTP, such as http://localhost:4318/v1/traces"
        raise PydanticCustomError("no_url", told)
    return value


class TraceSettings(_Section):
    """Sends traces to a collector for OTLP over HTTP: its URL, the share of runs, and the name of this service there.

    In the environment of the processes `OTEL_EXPORTER_OTLP_HEADERS` adds headers, and `OTEL_EXPORTER_OTLP_PROTOCOL`
    asks for JSON instead of protobuf.
    """

    endpoint: Annotated[str, AfterValidator(_collector_url)] | None = None
    sample_ratio: float = Field(default=1, ge=0, le=1, allow_inf_nan=False)
    service_name: str = Field(default="jeeves", min_length=1, max_length=100)


class _Origin:
    """Keeps where values came from, for faults that only a capability's own model finds; all are equal."""

    def __init__(self, document: Document | None = None, overrides: Mapping[str, Any] | None = None) -> None:
        self.document = document or parse_yaml("", FILE_NAME)
        self.overrides = overrides or {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Origin)

    __hash__ = None  # type: ignore[assignment]


class Settings(BaseSettings):
    """Holds all settings, validated, with absolute paths."""

    model_config = SettingsConfigDict(
        extra="forbid",
        frozen=True,
        env_prefix=ENV_PREFIX,
        env_nested_delimiter=ENV_DELIMITER,
        env_ignore_empty=True,
        # Decoding would stop at the first value that is not JSON; without it, validation finds every fault.
        enable_decoding=False,
    )

    state_dir: AbsolutePath
    system: SystemName = DEFAULT_SYSTEM
    config_dir: AbsolutePath | None = None
    capabilities: Annotated[Identifiers, Field(min_length=1)] = ("code_analysis", "violation_fix")
    default_pipeline: Identifier = "code_analysis"
    warm_pipelines: Identifiers = ()
    reasoner: Literal["rules", "llm"] = "rules"
    store: StoreSettings = StoreSettings()
    ray: RaySettings = RaySettings()
    code_index: CodeIndexSettings = CodeIndexSettings()
    bus: BusSettings = BusSettings()
    supervisor: SupervisorSettings = SupervisorSettings()
    agents: AgentPlaceSettings = AgentPlaceSettings()
    models: ModelSettings = ModelSettings()
    http: HttpSettings = HttpSettings()
    limits: LimitSettings = LimitSettings()
    code_change: CodeChangeSettings = CodeChangeSettings()
    logging: LoggingSettings = LoggingSettings()
    traces: TraceSettings = TraceSettings()
    capability_settings: dict[Identifier, CapabilitySection] = {}

    _origin: _Origin = PrivateAttr(default_factory=_Origin)

    @field_validator("capability_settings")
    @classmethod
    def _sections_are_of_enabled_capabilities(
        cls, sections: dict[str, CapabilitySection], info: ValidationInfo
    ) -> dict[str, CapabilitySection]:
        enabled = info.data.get("capabilities", ())
        unknown = sorted(set(sections) - set(enabled))
        if enabled and unknown:
            named = {"unknown": ", ".join(unknown), "enabled": ", ".join(enabled)}
            raise PydanticCustomError("not_enabled", "no capability {unknown} is enabled; enabled: {enabled}", named)
        return sections

    @field_validator("supervisor")
    @classmethod
    def _spread_supervisors_share_a_server(
        cls, supervisor: SupervisorSettings, info: ValidationInfo
    ) -> SupervisorSettings:
        store = info.data.get("store")
        if supervisor.placement == "spread" and isinstance(store, StoreSettings) and store.backend == "sqlite":
            told = "placement spread needs store.backend postgres: another node must be able to continue the runs"
            raise PydanticCustomError("no_server", told)
        return supervisor

    @model_validator(mode="before")
    @classmethod
    def _drop_unset(cls, data: Any) -> Any:
        return _without_unset(cls, data)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Restrict the sources to arguments: `load_settings` alone reads files and environments."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)

    def fault_at(self, path: KeyPath, problem: str) -> Fault:
        """Return a fault of the value at `path`, with file and line, or with its environment variable."""
        return _fault(self._origin.document, self._origin.overrides, path, problem)

    def faults_below(self, path: KeyPath, error: ValidationError) -> list[Fault]:
        """Return the faults that a model found in the values at `path`, with file, line and key."""
        origin = self._origin
        found = error.errors(include_url=False, include_context=False)
        return [_fault(origin.document, origin.overrides, (*path, *item["loc"]), _told(item)) for item in found]

    def json_with_secrets(self) -> str:
        """Return JSON with secrets in plain text, for our own processes; `model_validate_json` reads it back."""
        data = self.model_dump(mode="json")
        if self.store.dsn is not None:
            data["store"]["dsn"] = self.store.dsn.get_secret_value()
        return json.dumps(data)

    def state_folders(self) -> tuple[Path, Path]:
        """Return the state folder and the folder of the store, which by default are one."""
        return self.state_dir, self.store.path or self.state_dir

    def has_relative_paths(self) -> bool:
        """Return True if a path was given relative to the folder of this process."""
        document = self._origin.document.data
        given = _merged(document if isinstance(document, dict) else {}, self._origin.overrides)
        return any(_is_relative(_value_at(given, path)) for path in PATHS)

    def config_path(self, name: str) -> Path:
        """Return the path of configuration `name` (`pipelines/code_analysis.yaml`) in `config_dir`, else as shipped.

        Raises UnknownNameError when neither has it.
        """
        folders = [folder for folder in (self.config_dir, shipped_config_dir()) if folder is not None]
        known: set[str] = set()
        for folder in folders:
            path = (folder / name).resolve()
            if not path.is_relative_to(folder):
                continue
            if path.is_file():
                return path
            known.update(found.name for found in path.parent.glob(f"*{path.suffix}"))
        problem = f"no {name} in {' nor in '.join(str(folder) for folder in folders)}"
        there = ", ".join(sorted(known)) or "none"
        raise UnknownNameError(f"{problem}; there are: {there}", name=name, known=sorted(known))


def load_settings(path: Path | None = None, env: Mapping[str, str] | None = None) -> Settings:
    """Load settings from `path` (else `jeeves.yaml` in $JEEVES_CONFIG_DIR, else the shipped one), overridden by `env`.

    Raises DocumentFaults with every fault of the file and of the environment at once.
    """
    env = os.environ if env is None else env
    document = load_yaml(path or default_file(env))
    given = {} if document.data is None else document.data
    if not isinstance(given, dict):
        raise_faults([document.fault((), "not settings: the document must be a mapping of keys")])
    if given.get("state_dir") is None:
        given = given | {"state_dir": default_state_dir(env)}
    overrides = _GivenEnvironment(env)()
    faults = [*_misspelt_variables(env), *_hidden_faults(document, given, overrides)]
    try:
        settings = Settings.model_validate(_merged(given, overrides))
    except ValidationError as error:
        raise_faults([*faults, *_faults(document, overrides, error)])
        raise
    raise_faults(faults)
    settings._origin = _Origin(document, overrides)
    return settings


def read_section(path: Path) -> CapabilitySection:
    """Return the section of a capability in a file of its own. Raises DocumentFaults."""
    document = load_yaml(path)
    try:
        return CapabilitySection.model_validate(document.data or {})
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        raise_faults(document.fault(item["loc"], _told(item)) for item in found)
        raise


def merged_sections(lower: CapabilitySection, upper: CapabilitySection) -> CapabilitySection:
    """Return a section in which the keys that `upper` gives precede those of `lower`, key by key."""
    given = (section.model_dump(exclude_unset=True) for section in (lower, upper))
    return CapabilitySection.model_validate(_merged(*given))


def open_state_dir(path: Path, min_free_bytes: int = MIN_FREE_BYTES) -> Path:
    """Return `path`, created as a private folder if needed. Raises StateStorageError if not writable, or full."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path) as probe:
            probe.write(b"x")
        free_bytes = shutil.disk_usage(path).free
    except OSError as error:
        raise StateStorageError(f"{_storage_problem(path, error)}; {_REMEDY}", path=str(path)) from error
    if free_bytes < min_free_bytes:
        problem = f"the state folder {path} has {free_bytes} bytes of room, {min_free_bytes} are needed"
        raise StateStorageError(f"{problem}; free some, or {_REMEDY}", path=str(path))
    return path


_REMEDY = "set JEEVES_STATE_DIR to a folder that you can write"


def _storage_problem(path: Path, error: OSError) -> str:
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        culprit = next((part for part in (path, *path.parents) if part.exists()), path)
        return f"the state folder {path} cannot be made: {culprit} is no folder"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the state folder {path} has no room left"
    return f"the state folder {path} cannot be written: {error.strerror or error}"


class _GivenEnvironment(EnvSettingsSource):
    """Reads overrides from a given environment instead of the process environment."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        super().__init__(Settings)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return {name.lower(): value for name, value in self._env.items() if value}


def _merged(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(lower)
    for key, value in upper.items():
        below = merged.get(key)
        merged[key] = _merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return merged


def _value_at(given: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = given
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _is_relative(given: Any) -> bool:
    if isinstance(given, Mapping):
        return any(map(_is_relative, given.values()))
    return given is not None and not Path(given).expanduser().is_absolute()


def _hidden_faults(
    document: Document, given: Mapping[str, Any], overrides: Mapping[str, Any], path: KeyPath = ()
) -> Iterator[Fault]:
    """Yield a fault for each value of the file that variables below its key would replace, though it is no mapping."""
    for key, upper in overrides.items():
        below = given.get(key)
        if below is None or not isinstance(upper, Mapping):
            continue
        if isinstance(below, Mapping):
            yield from _hidden_faults(document, below, upper, (*path, key))
        else:
            yield document.fault((*path, key), f"must be a mapping of keys, not {below!r:.60}")


_OTHER_VARIABLES = frozenset({f"{ENV_PREFIX}DEBUG", f"{ENV_PREFIX}TEST_MODEL"})
_KEYS = ("_KEY", "_TOKEN")


def _misspelt_variables(env: Mapping[str, str]) -> list[Fault]:
    # Pydantic finds unknown keys within a section; it never sees variables that name no section.
    sections = {name for name in Settings.model_fields if _section(name)} | {"capability_settings"}
    faults = []
    for variable in sorted(env):
        if not variable.upper().startswith(ENV_PREFIX):
            continue
        first, *rest = variable[len(ENV_PREFIX) :].lower().split(ENV_DELIMITER)
        if first in (sections if rest else Settings.model_fields):
            continue
        close = difflib.get_close_matches(first, sections if rest else Settings.model_fields, n=1)
        if rest or close:
            hint = f"; {ENV_PREFIX}{close[0].upper()} is one" if close else ""
            faults.append(Fault("environment", None, variable, f"no setting of that name{hint}"))
    return faults


def unknown_variables(env: Mapping[str, str]) -> list[str]:
    """Return a warning for each variable that begins as one of ours and is no setting.

    Left out are those that `load_settings` refuses, JEEVES_DEBUG, and names of keys, which a model file may choose.
    """
    refused = {fault.key for fault in _misspelt_variables(env)}
    told = []
    for variable in sorted(env):
        name = variable.upper()
        first, *rest = name.removeprefix(ENV_PREFIX).lower().split(ENV_DELIMITER)
        is_ours = name.startswith(ENV_PREFIX) and not rest and first not in Settings.model_fields
        if not is_ours or variable in refused or name in _OTHER_VARIABLES or name.endswith(_KEYS):
            continue
        (nearest,) = difflib.get_close_matches(first, Settings.model_fields, n=1, cutoff=0.0)
        told.append(f"{variable} is no setting and has no effect; the nearest is {ENV_PREFIX}{nearest.upper()}")
    return told


def _section(name: str) -> type[_Section] | None:
    return _section_at((name,))


def _section_at(path: KeyPath) -> type[_Section] | None:
    """Return the section at a path of keys, or None."""
    model: Any = Settings
    for part in path:
        if get_origin(model) is dict:
            model = get_args(model)[1]  # the part is a key of the dictionary
        else:
            field = model.model_fields.get(str(part))
            model = None if field is None else field.annotation
        if get_origin(model) is not dict and not (isinstance(model, type) and issubclass(model, _Section)):
            return None
    return model if isinstance(model, type) and issubclass(model, _Section) else None


def _faults(document: Document, overrides: Mapping[str, Any], error: ValidationError) -> list[Fault]:
    found = error.errors(include_url=False, include_context=False)
    return [_fault(document, overrides, item["loc"], _problem(item)) for item in found]


def _fault(document: Document, overrides: Mapping[str, Any], path: KeyPath, problem: str) -> Fault:
    variable = _variable(overrides, path)
    return Fault("environment", None, variable, problem) if variable else document.fault(path, problem)


def _problem(item: ErrorDetails) -> str:
    if item["type"] == "extra_forbidden":
        return f"unknown key; known here: {', '.join(known_keys(_section_at(item['loc'][:-1]) or Settings))}"
    return _told(item)


def _told(item: Mapping[str, Any]) -> str:
    given, message = item["input"], str(item["msg"])
    if isinstance(given, str) and item["type"] in ("dict_type", "model_type"):
        message = "Input should be a mapping of keys, each in a variable of its own (NAME__KEY=value) or in the file"
    shown = f", not {given!r}" if isinstance(given, str | int | float) else ""
    return message + shown


def _variable(overrides: Mapping[str, Any], path: KeyPath) -> str:
    """Return the variable that gave the value at `path`, or an empty string when the file did."""
    value: Any = overrides
    names = []
    for part in path:
        if not isinstance(value, Mapping):
            break
        if part not in value:
            return ""
        value = value[part]
        names.append(str(part).upper())
    return "" if isinstance(value, Mapping) else ENV_PREFIX + ENV_DELIMITER.join(names)
