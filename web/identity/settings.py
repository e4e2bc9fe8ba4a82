"""The file that says how people sign in, who may what, and the bounds: `crosswind serve --config FILE`.

docs/dashboard/access.md shows it whole. Every error names the key and the way out.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from limits import parse
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from crosswind.web.identity.addresses import UNIX, Networks, is_loopback_name

__all__ = ["Oidc", "Proxy", "Settings", "SettingsError", "Single", "load_settings"]

MAX_FILE = 1 << 20
MAX_SECRET = 4096
_KEY_BYTES = 32


class SettingsError(ValueError):
    """The file cannot be used; the message is one line that names the key and the way out."""


def _networks(values: Any) -> Any:  # noqa: ANN401 (what TOML holds)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError('write a list of addresses or networks, such as ["10.1.2.3", "10.2.0.0/16", "unix"]')
    try:
        return Networks(tuple(ipaddress.ip_network(value) for value in values if value != UNIX), unix=UNIX in values)
    except ValueError as error:
        raise ValueError(f"{error}: write an address or a network without host bits, such as 10.2.0.0/16") from None


def _address(url: str) -> str:
    """https, or http to this machine, and no more than scheme, host and port where it is ours."""
    parts = urlsplit(url)
    if parts.scheme == "https" and parts.netloc:
        return url.rstrip("/")
    if parts.scheme == "http" and is_loopback_name(parts.hostname or ""):
        return url.rstrip("/")
    raise ValueError("write an address that begins with https:// (http:// only for this machine)")


def _own_address(url: str) -> str:
    checked = _address(url)
    if urlsplit(checked).path or urlsplit(checked).query:
        raise ValueError("write the address without a path, such as https://crosswind.example.org")
    return checked


def _header(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", name):
        raise ValueError("write the name of a header in letters, digits and dashes, such as X-Remote-User")
    return name


def _limit(text: str) -> str:
    try:
        parse(text)
    except ValueError:
        raise ValueError("write a number and a time, such as 600/minute") from None
    return text


def _scopes(text: str) -> str:
    if "openid" not in text.split():
        raise ValueError('write scopes with openid among them, such as "openid profile groups"')
    return text


def _secret_file(path: Path) -> Path:
    if not path.is_absolute():
        raise ValueError("write an absolute path")
    return path


_Networks = Annotated[Networks, BeforeValidator(_networks)]
_Address = Annotated[str, AfterValidator(_address)]
_OwnAddress = Annotated[str, AfterValidator(_own_address)]
_Header = Annotated[str, AfterValidator(_header)]
_Limit = Annotated[str, AfterValidator(_limit)]
_SecretFile = Annotated[Path, AfterValidator(_secret_file)]
_Name = Annotated[str, Field(min_length=1, max_length=256)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class Single(_Part):
    """One person, who sees everything. addresses: from where; a container's bridge may have to be added to loopback."""

    addresses: _Networks = Networks((ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128")))


class Proxy(_Part):
    """A server in front that signs people in. trusted: its addresses; from any other nothing is taken. header, or
    variable of WSGI: where it puts the name. secret_file: holds what it sends as X-Crosswind-Proxy, needed where others
    can reach us from its address.
    """

    trusted: _Networks
    header: _Header | None = None
    variable: Literal["REMOTE_USER"] | None = None
    groups_header: _Header | None = None
    strip_domain: bool = False
    secret_file: _SecretFile | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.header is None) == (self.variable is None):
            raise ValueError('name either header = "X-Remote-User" or variable = "REMOTE_USER"')
        return self


class Oidc(_Part):
    """An OpenID Connect provider. trusted: addresses of the server in front, whose X-Forwarded-For is believed."""

    issuer: _Address
    trusted: _Networks = Networks()
    client_id: _Name
    client_secret_file: _SecretFile | None = None
    user_claim: _Name = "preferred_username"
    groups_claim: _Name = "groups"
    scopes: Annotated[_Name, AfterValidator(_scopes)] = "openid profile"
    strip_domain: bool = False
    session_hours: Annotated[float, Field(gt=0, le=24 * 30)] = 8


class Privacy(_Part):
    """background_jobs: the others are shown as a sum of at least so many of their jobs. count: of so many jobs, or of
    jobs of so many users.
    """

    background_jobs: Annotated[int, Field(ge=1, le=1000)] = 3
    count: Literal["jobs", "users"] = "jobs"


class Limits(_Part):
    """How many requests are answered; more are 429. Not where one person is alone."""

    per_viewer: _Limit = "600/minute"
    per_address: _Limit = "1200/minute"
    failed_sign_ins: _Limit = "20/minute"


class Roles(_Part):
    """Users, and groups written @group."""

    support: tuple[_Name, ...] = ()
    admin: tuple[_Name, ...] = ()


class Settings(_Part):
    """The whole file. projects: user or @group -> accounts of the batch system whose jobs they see. key: of the session
    cookies, the same in all workers.
    """

    public_url: _OwnAddress | None = None
    single: Single = Single()
    proxy: Proxy | None = None
    oidc: Oidc | None = None
    roles: Roles = Roles()
    projects: dict[_Name, tuple[_Name, ...]] = {}
    privacy: Privacy = Privacy()
    limits: Limits = Limits()
    session_key_file: _SecretFile | None = None
    key: bytes = Field(default_factory=lambda: secrets.token_bytes(_KEY_BYTES), exclude=True, repr=False)

    @model_validator(mode="after")
    def _one_way_in(self) -> Self:
        if self.proxy and self.oidc:
            raise ValueError("there are both [proxy] and [oidc]: keep the one that signs people in")
        if not self.is_single and self.public_url is None:
            raise ValueError('public_url is missing: add public_url = "https://crosswind.example.org" on top')
        if not self.is_single and "single" in self.model_fields_set:
            raise ValueError("[single] is for one person alone: take it away, or [proxy] or [oidc]")
        return self

    @property
    def is_single(self) -> bool:
        """Whether there is one person only."""
        return self.proxy is None and self.oidc is None

    @property
    def trusted(self) -> Networks:
        """From where X-Forwarded-For is believed."""
        front = self.proxy or self.oidc
        return front.trusted if front else Networks()

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach us by https."""
        return (self.public_url or "").startswith("https:")


def load_settings(path: Path) -> Settings:
    """Read the file. Raises SettingsError, OSError."""
    with path.open("rb") as file:
        raw = file.read(MAX_FILE + 1)
    if len(raw) > MAX_FILE:
        raise SettingsError(f"{path} is larger than {MAX_FILE} bytes: name the dashboard's settings")
    try:
        values = tomllib.loads(raw.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is no TOML: {error}") from None
    if "key" in values:
        raise SettingsError(f"{path}: key: keep the key in a file of its own and name it with session_key_file")
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        raise SettingsError(f"{path}: {_first(error)}") from None
    if settings.session_key_file is None:
        return settings
    key = read_secret(settings.session_key_file)
    if len(key) < _KEY_BYTES:
        raise SettingsError(
            f"{settings.session_key_file} holds fewer than {_KEY_BYTES} characters: "
            f"write it with openssl rand -hex 32 > {settings.session_key_file}"
        )
    return settings.model_copy(update={"key": key.encode()})


def read_secret(path: Path) -> str:
    """The text of a file that only its owner and group may read. Raises SettingsError, OSError."""
    with path.open("rb") as file:
        if path.stat().st_mode & 0o007:
            raise SettingsError(f"{path} can be read by everybody: chmod o= {path}")
        raw = file.read(MAX_SECRET + 1)
    text = raw.decode(errors="replace").strip()
    if not text or len(raw) > MAX_SECRET:
        raise SettingsError(f"{path} holds no secret of 1 to {MAX_SECRET} bytes")
    return text


def _first(error: ValidationError) -> str:
    """The first thing that is wrong: the key as it stands in the file, and what to do."""
    what = error.errors()[0]
    key = ".".join(str(part) for part in what["loc"])
    message = what["msg"].removeprefix("Value error, ")
    if what["type"] == "extra_forbidden":
        message = "there is no such key: correct it or take it away"
    elif what["type"] == "missing":
        message = "is missing: add it"
    return f"{key}: {message}" if key else message
