"""What a deployed device keeps beside its store: its settings, the keys by which a SuperLink knows it, and its link."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import tomli_w
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from fedrag_flwr.errors import SettingError
from fedrag_flwr.files import replace_file, write_private
from fedrag_flwr.home_paths import deployed_root, fedrag_home, valid_name
from fedrag_flwr.nodes import local_settings
from fedrag_flwr.service.config import DeviceConfig, device_config, read_config
from fedrag_flwr.service.protocol import CONFIG, Plain
from fedrag_flwr.settings import Settings


@dataclass(frozen=True, slots=True)
class Link:
    """How a SuperNode reaches its SuperLink."""

    address: str  # host and port
    # The file of the authority that signed the SuperLink's certificate; None: the system's own authorities.
    certificates: Path | None = None
    port: int = 9094  # of the SuperNode's interface for its own processes, on 127.0.0.1
    plain: bool = False  # without TLS and without a key: for trials on one machine


@dataclass(frozen=True, slots=True)
class DeviceFiles:
    """The files of one device, by their places."""

    root: Path  # the directory of the device's store

    @classmethod
    def of(cls, name: str, home: str = "") -> DeviceFiles:
        """The files of the device of that name; raises SettingError where it cannot be one."""
        return cls(deployed_root(fedrag_home(home), valid_name(name)))

    @property
    def config(self) -> Path:
        """The device's settings, as Flower and `fedrag serve` read them."""
        return self.root / CONFIG

    @property
    def supernode(self) -> Path:
        """The variables of the SuperNode's unit."""
        return self.root / "supernode.env"

    @property
    def key(self) -> Path:
        """The private key; its public half lies beside it."""
        return self.root / "node.key"

    @property
    def next_key(self) -> Path:
        """The key that is to follow, until the SuperLink knows it."""
        return self.root / "next.key"

    def create(self, config: Mapping[str, Plain], link: Link) -> None:
        """Write a new device's settings, keys and link, for this user alone; raises SettingError where a setting is
        unknown or out of range, nothing says where the documents lie, or the device is there already.
        """
        local_settings(Settings(), device_config(config).own)
        if not {"data-path", "sources"} & set(config):
            raise SettingError(
                "a device needs documents",
                where=str(config.get("device-name", "device")),
                fix="give --documents or --source",
            )
        if " " in f"{self.root}{link.certificates}{link.address}":
            raise SettingError("a path or an address has a space", where=self.root.name, fix="units cannot pass it on")
        there = [path.name for path in (self.config, self.key, self.supernode) if path.exists()]
        if there:
            raise SettingError(
                f"this device is there already ({', '.join(there)})",
                where=self.root.name,
                fix="look with `fedrag device show`; to begin anew, move its directory away",
            )
        self.root.mkdir(parents=True, exist_ok=True)
        self.root.chmod(0o700)
        new_key(self.key)
        write_private(self.supernode, _variables(link, self).encode())
        write_private(self.config, tomli_w.dumps(config).encode())

    def read(self) -> DeviceConfig:
        """The device's settings; raises SettingError where there are none, or none that can be read."""
        if not self.config.exists():
            raise SettingError(
                "there is no such device", where=self.root.name, fix=f"fedrag device init {self.root.name} ..."
            )
        return read_config(self.config)

    def begin_rotation(self) -> None:
        """Make the key that is to follow, or what is missing of one; raises SettingError where one waits already."""
        self.read()
        if public_half(self.next_key).exists() and self.next_key.exists():
            raise SettingError("a next key waits already", where=self.root.name, fix="register it, then --finish")
        if self.next_key.exists():  # it was cut short between the two halves
            _write_public(self.next_key)
        else:
            public_half(self.next_key).unlink(missing_ok=True)  # of a rotation that was cut short at its end
            new_key(self.next_key)

    def finish_rotation(self) -> None:
        """Put the next key in the place of the present one, which is forgotten; raises SettingError without a next."""
        if not (self.next_key.exists() and public_half(self.next_key).exists()):  # one that nobody was shown is none
            raise SettingError(
                "there is no next key", where=self.root.name, fix=f"fedrag device rotate-key {self.root.name}"
            )
        replace_file(public_half(self.key), public_half(self.next_key).read_bytes(), 0o644)
        self.next_key.replace(self.key)
        public_half(self.next_key).unlink()


def new_key(path: Path) -> None:
    """Make an ECDSA key pair over P-384, in the form that Flower reads; the public half gets the suffix ``.pub``;
    raises FileExistsError where there is a key already.
    """
    key = ec.generate_private_key(ec.SECP384R1())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    write_private(path, private)
    _write_public(path)


def _write_public(path: Path) -> None:
    key = serialization.load_ssh_private_key(path.read_bytes(), None).public_key()
    public = key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    replace_file(public_half(path), public + b"\n", 0o644)


def public_half(key: Path) -> Path:
    """Where the public half of a key lies."""
    return key.with_name(f"{key.name}.pub")


def supernode_command(files: DeviceFiles, link: Link) -> list[str]:
    """The command that starts a device's SuperNode."""
    program = shutil.which("flower-supernode") or "flower-supernode"
    return [
        *(program, "--superlink", link.address, *_transport(link, files)),
        *("--port", str(link.port), "--node-config", str(files.config)),
    ]


def _transport(link: Link, files: DeviceFiles) -> list[str]:
    if link.plain:
        return ["--insecure"]
    trusted = ["--root-certificates", str(link.certificates)] if link.certificates else []
    return [*trusted, "--auth-supernode-private-key", str(files.key)]


def _variables(link: Link, files: DeviceFiles) -> str:
    values = {
        "SUPERLINK": link.address,
        "TRANSPORT": " ".join(_transport(link, files)),  # systemd and shells split it again, so no path has a space
        "PORT": str(link.port),
        "NODE_CONFIG": str(files.config),
    }
    return "".join(f'{key}="{value}"\n' for key, value in values.items())
