"""Settings from `SKYDECK_…` variables or a file; the only reader of the environment.

Order: environment first, then `$SKYDECK_HOME/settings.env` (lines `SKYDECK_NAME=value`), then
the default. A wrong or unknown name stops the start with the name, its place and what is wanted.
"""

import difflib
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict
from pydantic_settings.sources import DotEnvSettingsSource

from app.errors import StartError

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

ROOT = Path(__file__).resolve().parent.parent
PREFIX = "SKYDECK_"
FILE_NAME = "settings.env"
DEFAULT_HOME = Path("~/.skydeck")
ENDPOINT_FILE = "endpoint.json"
"""In the home folder, while the embedded endpoint runs: `{"base_url", "key", "pid"}`."""
UP_FILE = "up.json"
"""In the home folder, written by `skydeck up` while it runs: `{"url", "pid"}`."""


_SWITCHES = {"true": "on", "yes": "on", "1": "on", "false": "off", "no": "off", "0": "off"}


class Settings(BaseSettings):
    """All settings, one field each; `docs/settings.md` is checked against this class."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True)

    home: Annotated[
        Path, Field(description="Folder of the database, run files and Ray's files")
    ] = DEFAULT_HOME
    host: Annotated[str, Field(description="Address the web server listens on")] = "127.0.0.1"
    port: Annotated[
        int, Field(ge=0, le=65535, description="Port of the web server; 0 takes a free one")
    ] = 8000
    database_url: Annotated[
        str | None,
        Field(description="`postgresql+asyncpg://…`; SQLite under the home folder if unset"),
    ] = None
    secret_keys_file: Annotated[
        Path | None,
        Field(
            description="File of the keys that secrets are encrypted with; `secret.keys` in the "
            "home folder if unset"
        ),
    ] = None
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Field(description="Least severe log line written"),
    ] = "info"
    log_format: Annotated[
        Literal["text", "json"], Field(description="Shape of the service's own log lines on stderr")
    ] = "text"
    embedded_cluster: Annotated[
        Literal["auto", "on", "off"],
        BeforeValidator(lambda given: _SWITCHES.get(str(given).lower(), given)),
        Field(
            description="Whether `skydeck up` starts a Ray cluster on this machine; `auto`: unless "
            "it is a team's (PostgreSQL and a second enabled user)"
        ),
    ] = "auto"
    embedded_endpoint: Annotated[
        Literal["auto", "on", "off"],
        BeforeValidator(lambda given: _SWITCHES.get(str(given).lower(), given)),
        Field(
            description="Whether `skydeck up` serves the maze model and its adapters on this "
            "machine; `auto`: where it starts the cluster that trains them"
        ),
    ] = "auto"
    embedded_cpus: Annotated[
        int, Field(ge=1, le=64, description="CPUs of the embedded cluster")
    ] = 2
    embedded_object_store_bytes: Annotated[
        int, Field(ge=80_000_000, description="Object store of the embedded cluster, in bytes")
    ] = 100_000_000
    embedded_memory_bytes: Annotated[
        int,
        Field(ge=500_000_000, description="Memory the embedded cluster offers to jobs, in bytes"),
    ] = 2_000_000_000
    trusted_proxies: Annotated[
        str | None,
        Field(
            description="Addresses of reverse proxies, by commas, whose `X-Forwarded-For` and "
            "`X-Forwarded-Proto` are believed; nobody's if unset"
        ),
    ] = None
    public_url: Annotated[
        str | None,
        AfterValidator(lambda given: _checked_public_url(given)),
        Field(
            description="Where people and jobs of clusters reach the service, `https://HOST`: "
            "links to invites, new passwords and shared runs start with it, with the host of the "
            "request if unset; jobs log there by MLflow, not at all if unset"
        ),
    ] = None
    session_days: Annotated[int, Field(ge=1, le=365, description="Days until a sign-in ends")] = 30
    session_idle_days: Annotated[
        int, Field(ge=1, le=365, description="Days without a visit until a sign-in ends")
    ] = 7
    requests_per_minute: Annotated[
        int,
        Field(ge=60, description="Most requests a minute of one token or browser to one process"),
    ] = 1200
    aws_session_name: Annotated[
        str,
        Field(
            pattern=r"^[\w+=,.@-]{2,64}$",
            description="Session name of the AWS roles that Skydeck assumes; only who created a "
            "HyperPod Ray cluster, session name included, may open it, so never change it",
        ),
    ] = "skydeck"
    lease_seconds: Annotated[
        float,
        Field(
            ge=1, le=600, description="How long a worker's claim on a row holds without a heartbeat"
        ),
    ] = 15.0
    poll_seconds: Annotated[
        float,
        Field(ge=0.05, le=60, description="Pause between two looks at a running job or its log"),
    ] = 1.0

    @property
    def url(self) -> str:
        """SQLAlchemy's URL of the database, with an asynchronous driver."""
        if self.database_url is None:
            return f"sqlite+aiosqlite:///{self.home / 'skydeck.db'}"
        scheme, _, rest = self.database_url.partition("://")
        return f"{_DRIVERS.get(scheme, scheme)}://{rest}"

    @property
    def is_postgres(self) -> bool:
        """Whether the database is one that a team shares."""
        return self.url.startswith("postgresql")

    def has_embedded_endpoint(self, *, has_cluster: bool) -> bool:
        """Whether `skydeck up` serves the maze model. `has_cluster`: it starts a cluster too."""
        return self.embedded_endpoint == "on" or (self.embedded_endpoint == "auto" and has_cluster)

    @property
    def secret_keys(self) -> Path:
        """The file of the keys that secrets are encrypted with; see `app/secrets/crypto.py`."""
        return self.secret_keys_file or self.home / "secret.keys"

    @cached_property
    def runs_dir(self) -> Path:
        """Folder of the embedded cluster's runs; one folder a run, named by its slug."""
        return self.home / "runs"

    @cached_property
    def adapters_dir(self) -> Path:
        """Folder of the adapters that the embedded endpoint serves; one folder an adapter."""
        return self.home / "adapters"


_DRIVERS = {
    "postgresql": "postgresql+asyncpg",
    "postgres": "postgresql+asyncpg",
    "sqlite": "sqlite+aiosqlite",
}
# Read by others: the client and command line, a job, the conformance tests.
_NOT_SETTINGS = {
    PREFIX + name
    for name in ("URL", "TOKEN", "RUN_ID", "RUN_TOKEN", "RUN_DIR", "SHARED", "VLLM_URL", "VLLM_KEY")
}
_SCHEMES = ("sqlite+aiosqlite", "postgresql+asyncpg")


def load_settings(**given: Any) -> Settings:
    """Reads and checks all settings; `given` (from the command line) wins over both places.

    Raises `StartError` naming the setting, where its value came from and what is wanted.
    """
    home = Path(given.get("home") or os.environ.get(PREFIX + "HOME") or DEFAULT_HOME).expanduser()
    file = home / FILE_NAME
    in_file = _read_file(file)
    _refuse_unknown(os.environ, "the environment")
    _refuse_unknown(in_file, str(file))
    values: dict[str, Any] = {
        name: in_file[PREFIX + name.upper()]
        for name in Settings.model_fields
        if PREFIX + name.upper() in in_file and PREFIX + name.upper() not in os.environ
    }
    given = {name: value for name, value in given.items() if value is not None}
    values |= given
    values["home"] = home.absolute()
    try:
        settings = Settings(**values)
    except ValidationError as error:
        raise StartError(_explain(error, set(given), in_file, file)) from None
    # Child processes run elsewhere: what is relative counts from where the person stands.
    update: dict[str, Any] = {}
    if settings.secret_keys_file is not None:
        update["secret_keys_file"] = settings.secret_keys_file.expanduser().absolute()
    if settings.database_url is not None:
        update["database_url"] = _checked_url(settings.url)
    return settings.model_copy(update=update)


def job_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The process environment without Skydeck's settings and without any Ray address.

    What the embedded cluster and its jobs inherit: member code must not read our database URL,
    and `RAY_ADDRESS` would send them to a stranger's cluster.
    """
    source = os.environ if environ is None else environ
    return {name: value for name, value in source.items() if not name.startswith((PREFIX, "RAY_"))}


def _read_file(file: Path) -> dict[str, str]:
    try:
        if not file.is_file():
            return {}
        source = DotEnvSettingsSource(Settings, env_file=file, case_sensitive=True)
    except OSError as error:
        raise StartError(f"settings file {file} cannot be read: {error.strerror}") from None
    return {name: value or "" for name, value in source.env_vars.items()}


def _refuse_unknown(values: Mapping[str, str | None], place: str) -> None:
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    for name in values:
        if not name.startswith(PREFIX) or name in known or name in _NOT_SETTINGS:
            continue
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(sorted(known))}"
        raise StartError(f"unknown setting {name} in {place}{hint}")


def _explain(
    error: ValidationError, given: set[str], in_file: Mapping[str, str], file: Path
) -> str:
    first = error.errors()[0]
    field = str(first["loc"][0])
    name = PREFIX + field.upper()
    if field in given:
        place = "the command line"
    else:
        place = str(file) if name in in_file and name not in os.environ else "the environment"
    return f"{name} in {place} is {first['input']!r}: {first['msg']}"


def _checked_url(text: str) -> str:
    """The URL, a relative path of SQLite made absolute, since child processes run elsewhere.

    Raises `StartError`, which never holds the URL: it may have a password in it.
    """
    # Imported late: `skydeck up` itself does without the library, and so without its memory.
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(text)
        # A port that is no number is only looked at when it is asked for.
        port = url.port
    except (ArgumentError, ValueError):
        raise _wrong_url("is no URL of a database") from None
    if url.drivername not in _SCHEMES:
        raise _wrong_url("starts with another scheme")
    if port is not None and not 0 < port < 65536:
        raise _wrong_url("has a port outside 1 to 65535")
    if url.get_backend_name() != "sqlite":
        return text
    return _absolute(url).render_as_string(hide_password=False)


def _checked_public_url(text: str | None) -> str | None:
    if text is None:
        return None
    wanted = "wanted is http(s)://HOST or http(s)://HOST:PORT, without a path"
    try:
        parts = urlsplit(text)
        # A port that is no number is only looked at when it is asked for.
        is_whole = parts.port != 0 and parts.hostname and parts.scheme in ("http", "https")
    except ValueError:
        raise ValueError(wanted) from None
    origin = f"{parts.scheme}://{parts.netloc}"
    is_plain = text.isascii() and text.isprintable() and not set(parts.netloc) & set("@ \\")
    if not is_whole or not is_plain or text.rstrip("/") != origin:
        raise ValueError(wanted)
    return origin


def _absolute(url: "URL") -> "URL":
    if url.database in (None, "", ":memory:"):
        raise _wrong_url("names no file, and several processes share the database")
    file = Path(str(url.database)).expanduser()
    return url.set(database=str(file.absolute()))


def _wrong_url(what: str) -> StartError:
    wanted = "postgresql+asyncpg:// or sqlite:///, as in docs/settings.md"
    return StartError(f"{PREFIX}DATABASE_URL {what}; wanted is {wanted}")
