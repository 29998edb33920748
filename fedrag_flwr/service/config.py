"""A device's own settings as its service reads them: a TOML file with the keys of a node's config."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError

from fedrag_flwr.errors import SettingError
from fedrag_flwr.home_paths import deployed_name, deployed_root, fedrag_home, is_deployed, valid_name
from fedrag_flwr.service.protocol import CONFIG, Plain, default_socket, socket_of
from fedrag_flwr.settings import OWN, SettingsGroup, device_part, flat_table, is_endpoint, is_of_device
from fedrag_flwr.sources.folder import mode_of

FURTHER = ("device-name", "data-path", "sources", "training-questions", "service")  # keys beside those of settings


class ServiceSettings(SettingsGroup):
    """How much a service does at once, and how long it lets anybody wait; the table ``[serve]`` of the file."""

    askers: int = Field(2, ge=1, le=64)  # questions that are answered at a time
    queue: int = Field(128, ge=1, le=10_000)  # requests of one kind that wait or are worked on
    ask_seconds: float = Field(120.0, gt=0, le=3_600)  # deadline of a question
    message_seconds: float = Field(7_200.0, gt=0, le=86_400)  # deadline of a federation's message
    rate: float = Field(500.0, gt=0, le=1e6)  # requests a second that one caller may send for long
    burst: int = Field(1_000, ge=1, le=1_000_000)  # and at once
    open_devices: int = Field(4, ge=1, le=64)  # sets of settings under which the device is kept open
    watch: bool = False  # whether its documents are read when it starts, and whenever they change
    port: int = Field(0, ge=0, le=65_535)  # on 127.0.0.1, with a token; 0: the socket alone


@dataclass(frozen=True, slots=True)
class DeviceConfig:
    """What a service is started with."""

    own: Mapping[str, Plain]  # the device's own settings, as in a node's config; never taken from a caller
    # What its memory is made with and how its people are answered, where the defaults do not fit; in runs, too.
    settings: Mapping[str, Plain]
    service: ServiceSettings  # of the service itself

    def under(self, changes: Mapping[str, Plain]) -> Self:
        """The same with changed settings."""
        return replace(self, own={**self.own, **device_part(changes)}, settings={**self.settings, **changes})

    @property
    def name(self) -> str:
        """The device's name."""
        return valid_name(deployed_name(self.own))

    @property
    def home(self) -> Path:
        """Where its models, stores and keys are."""
        return fedrag_home(str(self.own.get("home", "")))

    @property
    def root(self) -> Path:
        """Where its store is."""
        return deployed_root(self.home, self.name)

    @property
    def socket(self) -> Path:
        """Where the service listens."""
        told = socket_of(self.own)
        return default_socket(self.home, self.name) if told is None else told


def config_of(name: str) -> DeviceConfig:
    """The config of a device by its name: of its file, or of its name alone where it has none."""
    path = deployed_root(fedrag_home(), valid_name(name)) / CONFIG
    return read_config(path) if mode_of(path, SettingError) else device_config({"device-name": name})


def beside_file(node_config: Mapping[str, Plain]) -> dict[str, Plain]:
    """A node's config with what its device's file says besides, as the device's service has it; raises SettingError
    where the file cannot be read, or something in it is not allowed.
    """
    if is_deployed(node_config) and (name := deployed_name(node_config)):
        path = deployed_root(fedrag_home(str(node_config.get("home", ""))), name) / CONFIG
        if mode_of(path, SettingError):
            return {**read_config(path).own, **node_config}
    return dict(node_config)


def read_config(path: Path) -> DeviceConfig:
    """Read a device's config file; raises SettingError where the file cannot be read, others may write it, or a key or
    value in it is not allowed.
    """
    try:
        mode, body = path.stat().st_mode, path.read_bytes()
    except OSError as error:
        raise SettingError(
            f"the config cannot be read ({type(error).__name__})", where=path.name, fix="fedrag device init"
        ) from None
    if mode & 0o022:
        raise SettingError("others than its owner may write it", where=path.name, fix="chmod 600")
    try:
        told = tomllib.loads(body.decode())
    except ValueError as error:
        raise SettingError(
            "the config is not TOML", where=path.name, fix="compare with docs/how-to/operate.md"
        ) from error
    return device_config(told, path.name)


def device_config(told: Mapping[str, object], where: str = "device config") -> DeviceConfig:
    """Check a device's config; raises SettingError."""
    own = {key: value for key, value in told.items() if key not in ("serve", "settings")}
    allowed = (*FURTHER, *OWN)
    wrong = [
        key
        for key, value in own.items()
        if (key not in allowed and not is_of_device(key)) or not isinstance(value, Plain)
    ]
    if wrong:
        raise SettingError(f"'{wrong[0]}' is not a setting of a device", where=where, fix=f"use {', '.join(allowed)}")
    plain = {key: value for key, value in own.items() if isinstance(value, Plain)}
    if not is_deployed(plain):
        plain["sources"] = ""  # a device of its own, whose documents are elsewhere: its own rules hold
    try:
        service = ServiceSettings.model_validate(told.get("serve", {}))
    except ValidationError as error:
        key = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise SettingError(
            f"'{key}': {error.errors()[0]['msg'].lower()}", where=where, fix="see docs/how-to/operate.md"
        ) from None
    table = told.get("settings", {})
    if not isinstance(table, Mapping):
        raise SettingError("'settings' is not a table", where=where, fix="write [settings]")
    settings = flat_table(table, where)
    if is_endpoint(str(settings.get("models.generator", ""))):  # only the device itself may name who reads its passages
        fix = "give its address as model-path and the model there as model-name, above the first [table]"
        raise SettingError("a server as generator is not among [settings]", where=where, fix=fix)
    return DeviceConfig(device_part(settings) | plain, settings, service)
