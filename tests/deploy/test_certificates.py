"""certificates.sh: an authority and a server's certificate that verify, keys for one, and nothing overwritten."""

import shutil
import ssl
import stat
import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from simulations.deployment.federation import CERTIFICATES

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")


def make(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(CERTIFICATES), *map(str, words)], capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = make(tmp_path / "pki", "localhost", "192.0.2.1", "fed.example.org", "2001:db8::1")
    assert made.returncode == 0, made.stderr
    return tmp_path / "pki"


def names(certificate: Path) -> list[str]:
    read = x509.load_pem_x509_certificate(certificate.read_bytes())
    return [str(one.value) for one in read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value]


def test_what_is_made(folder: Path) -> None:
    assert names(folder / "server.pem") == ["localhost", "192.0.2.1", "fed.example.org", "2001:db8::1"]
    authority, server = (
        x509.load_pem_x509_certificate((folder / name).read_bytes()) for name in ("ca.crt", "server.pem")
    )
    server.verify_directly_issued_by(authority)
    assert authority.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert not server.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    key = server.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert key.key_size == 384
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(folder / "server.pem", folder / "server.key")


def test_keys_are_for_their_owner(folder: Path) -> None:
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {"ca.crt": 0o644, "server.pem": 0o644, "ca.key": 0o600, "server.key": 0o600}


def test_nothing_is_overwritten(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for words in ((folder, "localhost"), ("--renew", folder, "localhost")):
        refused = make(*words)
        assert refused.returncode == 1
        assert "server" in refused.stderr or "there already" in refused.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_renewed_certificate_is_by_the_same_authority(folder: Path) -> None:
    authority = (folder / "ca.crt").read_bytes()
    old = (folder / "server.pem").rename(folder / "old.pem")
    (folder / "server.key").unlink()
    assert make("--renew", folder, "other.example.org").returncode == 0
    renewed = x509.load_pem_x509_certificate((folder / "server.pem").read_bytes())
    renewed.verify_directly_issued_by(x509.load_pem_x509_certificate(authority))
    assert names(folder / "server.pem") == ["other.example.org"]
    assert renewed.serial_number != x509.load_pem_x509_certificate(old.read_bytes()).serial_number


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("only-a-folder",),
        ("pki", "bad name"),
        ("pki", "a,DNS:evil"),
        ("pki", "$(id)"),
        ("pki", "server.example.org:9092"),
        ("pki", "localhost", "192.0.2.1:9092"),
        ("pki", "localhost", "[2001:db8::1]"),
        ("pki", "999.0.2.1"),
        ("pki", "1::2::3"),
        ("pki", "1:2:3:4:5:6:7:8::"),
        ("pki", "a" * 65),  # which is what openssl alone refuses
    ],
)
def test_what_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    folder = [str(tmp_path / word) for word in words[:1]]
    refused = make(*folder, *words[1:])
    assert refused.returncode == 1
    assert refused.stderr.startswith("certificates.sh:")
    assert len(words) < 2 or words[-1] in refused.stderr
    assert not list(tmp_path.iterdir())


def test_a_renewal_that_fails_leaves_all_as_it_was(folder: Path) -> None:
    for name in ("server.pem", "server.key"):
        (folder / name).unlink()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert make("--renew", folder, "a" * 65).returncode == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert make("--renew", folder, "localhost").returncode == 0
