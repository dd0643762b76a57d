"""What an operator types wrong, and help: one clear line, the right exit status, nothing left half done."""

import datetime
import json
import os
import pathlib
import socket

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from harness import Instance, command
from instance import free_port

SCREEN_LINES = 60


def serve(instance, *settings: str, json_output: bool = False):
    """`carillon serve` that is expected to refuse the start."""
    arguments = ["serve", "--config", instance.facts["config"]] + (["--json"] if json_output else [])
    for setting in settings:
        arguments += ["--set", setting]
    return command(*arguments)


def assert_refused(done, *words: str, lines: int = 1) -> None:
    """Exit status 1, nothing on standard output, and this many lines on standard error that hold these words."""
    assert done.returncode == 1, f"exit {done.returncode}: {done.stdout}{done.stderr}"
    assert done.stdout == ""
    said = done.stderr.strip().splitlines()
    assert len(said) == lines, said
    for word in words:
        assert word in done.stderr, f"{word!r} is not in {done.stderr!r}"
    assert "Fatal error" not in done.stderr and "Backtrace" not in done.stderr


def with_config(instance, text: str):
    """The start with more lines in carillon.conf; the file is put back."""
    file = pathlib.Path(instance.facts["config"])
    before = file.read_text()
    try:
        file.write_text(before.rstrip("\n") + "\n" + text)
        return serve(instance), len(before.rstrip("\n").split("\n"))
    finally:
        file.write_text(before)


def test_an_unknown_key_in_the_file(template):
    done, lines = with_config(template, "provider.prot = 8443\n")
    assert_refused(done, "provider.prot", "provider.port", str(lines + 1))


def test_a_bad_value_in_the_file(template):
    done, lines = with_config(template, "delivery.window = many\n")
    assert_refused(done, "delivery.window", "many", str(lines + 1))


def test_all_mistakes_at_once(template):
    done, _ = with_config(template, "queue.mod = apple\ndelivery.window = -1\ndrain.timeout = 5 bananas\n")
    assert_refused(done, "queue.mod", "queue.mode", "delivery.window", "drain.timeout", lines=3)


def test_a_line_that_is_no_setting(template):
    done, lines = with_config(template, "this is not a setting\n")
    assert_refused(done, str(lines + 1))


def test_an_unknown_set(template):
    assert_refused(serve(template, "provider.prot=1"), "provider.prot", "provider.port")


def test_an_unknown_environment_variable(template):
    done = command("serve", "--config", template.facts["config"], CARILLON_PROVIDER_PROT="1")
    assert_refused(done, "CARILLON_PROVIDER_PROT")


def test_an_environment_variable_counts(template):
    done = command("serve", "--config", template.facts["config"], "--print-config", CARILLON_PROVIDER_TOKEN_UPDATES="3")
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("provider.tokenUpdates")]
    assert "3" in line


@pytest.mark.parametrize("door", ["provider", "device", "admin"])
def test_a_port_in_use(template, door):
    with socket.socket() as taken:
        host = "127.0.0.1"
        taken.bind((host, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert_refused(serve(template, f"{door}.host={host}", f"{door}.port={port}"), str(port))


def test_a_config_that_is_not_there(tmp_path):
    missing = str(tmp_path / "carillon.conf")
    assert_refused(command("serve", "--config", missing), missing)


@pytest.mark.parametrize("name", ["pki/server.pem", "pki/server.key", "pki/ca.pem"])
def test_a_missing_file(template, name):
    file = template.directory / name
    hidden = file.with_suffix(".hidden")
    file.rename(hidden)
    try:
        assert_refused(serve(template), str(file))
    finally:
        hidden.rename(file)


@pytest.mark.parametrize("name, mode", [
    ("pki/ca.key", 0o644), ("pki/ca.key", 0o620), ("pki/server.key", 0o640), ("pki/server.key", 0o601),
    ("admin.token", 0o604), ("admin.token", 0o660), ("admin.readonly.token", 0o644), ("keys/*.p8", 0o644),
    ("data/seed.json", 0o644), ("data/other", 0o602), ("pki", 0o711), ("pki", 0o755), ("keys", 0o755), ("keys", 0o770),
    ("data", 0o750), ("data", 0o701),
])  # fmt: skip
def test_a_secret_open_to_others(template, name, mode):
    (file,) = list(template.directory.glob(name)) or [template.directory / name]
    is_new = not file.exists()
    if is_new:
        file.write_text("0123456789abcdef0123456789abcdef\n")
        file.chmod(0o600)
    before = file.stat().st_mode
    file.chmod(mode)
    try:
        repair = "chmod 700" if file.is_dir() else "chmod 600"
        assert_refused(serve(template), f"{repair} {file}")
    finally:
        file.chmod(before & 0o777)
        if is_new:
            file.unlink()


def test_a_key_elsewhere_that_is_open_to_others(template, tmp_path):
    key = tmp_path / "server.key"
    key.write_bytes((template.directory / "pki/server.key").read_bytes())
    key.chmod(0o640)
    assert_refused(serve(template, f"tls.key={key}"), f"chmod 600 {key}")
    link = tmp_path / "link.key"
    link.symlink_to(key)
    assert_refused(serve(template, f"tls.key={link}"), f"chmod 600 {link}")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("name", ["pki/ca.key", "pki/server.key", "admin.token", "data", "data/seed.json", "keys/*.p8"])
def test_a_secret_of_another_user(template, name):
    (file,) = template.directory.glob(name)
    os.chown(file, 65534, -1)
    try:
        assert_refused(serve(template), f"chown 0 {file}")
    finally:
        os.chown(file, 0, -1)


def test_a_token_that_is_no_secret(template):
    for name, advice in (("admin.token", "rotate-token"), ("admin.readonly.token", "create-readonly-token --replace")):
        file = template.directory / name
        before = file.read_bytes() if file.exists() else None
        file.write_text("short\n")
        file.chmod(0o600)
        try:
            assert_refused(serve(template), str(file), f"carillon admin {advice}")
        finally:
            file.unlink() if before is None else file.write_bytes(before)


def test_what_is_made_is_private_whatever_the_umask(tmp_path):
    old = os.umask(0)
    instance = Instance()
    try:
        instance.make()
        instance.start()
        made = [
            ("key", "create", "--team", "DEMOTEAM01"),
            ("device", "enroll", "--name", "d", "--out", str(tmp_path / "d")),
        ]
        for words in made:
            done = command(
                *words, "--config", instance.facts["config"], "--admin", f"http://127.0.0.1:{instance.admin_port}"
            )
            assert done.returncode == 0, done.stderr
        command("admin", "create-readonly-token", "--config", instance.facts["config"])
        instance.stop()
    finally:
        os.umask(old)
    # The settings are no secret; the folder above is the test's own.
    files = [path for path in [*instance.directory.rglob("*"), *(tmp_path / "d").rglob("*"), tmp_path / "d"]]
    open_ones = [path for path in files if path.stat().st_mode & 0o077 and path.name != "carillon.conf"]
    instance.discard()
    assert len(files) > 12 and not open_ones


def expired_certificate(instance) -> tuple[bytes, bytes]:
    """A server certificate and key, signed by the instance's CA, that ran out yesterday."""
    authority = x509.load_pem_x509_certificate((instance.directory / "pki/ca.pem").read_bytes())
    authority_key = serialization.load_pem_private_key((instance.directory / "pki/ca.key").read_bytes(), None)
    key = ec.generate_private_key(ec.SECP256R1())
    today = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")]))
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - datetime.timedelta(days=30))
        .not_valid_after(today - datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)
        .sign(authority_key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM), private


def replaced_server_files(instance, certificate: bytes, key: bytes | None):
    """The start with another certificate (and key) in pki; the files are put back."""
    files = [(instance.directory / "pki/server.pem", certificate)]
    files += [(instance.directory / "pki/server.key", key)] if key else []
    before = [(file, file.read_bytes()) for file, _ in files]
    try:
        for file, data in files:
            file.write_bytes(data)
        return serve(instance)
    finally:
        for file, data in before:
            file.write_bytes(data)


def test_an_expired_certificate(template):
    assert_refused(replaced_server_files(template, *expired_certificate(template)), "server.pem", "expired")


def test_a_certificate_and_key_that_do_not_match(template):
    certificate, _ = expired_certificate(template)
    assert_refused(replaced_server_files(template, certificate, None), "server")


def test_a_certificate_that_is_none(template):
    assert_refused(replaced_server_files(template, b"not a certificate\n", None), "server.pem")


def test_errors_are_json_when_asked(template):
    done = serve(template, "provider.prot=1", json_output=True)
    assert done.returncode == 1 and done.stdout == ""
    error = json.loads(done.stderr)["error"]
    assert error["code"] and "provider.prot" in error["message"]


def test_production_refuses_test_hooks():
    instance = Instance(environment="production")
    instance.make()
    try:
        done = command("serve", "--config", instance.facts["config"], "--test-hooks")
        assert_refused(done, "test-hooks", "production")
    finally:
        instance.discard()


# init


def test_init_refuses_a_directory_that_holds_an_instance(template):
    done = command("init", "--directory", str(template.directory))
    assert_refused(done, str(template.directory))


def test_init_makes_what_the_design_says(template):
    facts = template.facts
    fields = {"config", "ca", "team", "topic", "keyID", "key", "provider", "channels", "device", "admin", "adminToken"}
    assert set(facts) == fields
    assert (facts["team"], facts["topic"]) == ("DEMOTEAM01", "com.example.demo")
    modes = {
        "carillon.conf": 0o644, "admin.token": 0o600, "pki": 0o700, "keys": 0o700, "data": 0o700,
        "pki/ca.key": 0o600, "pki/server.key": 0o600,
    }  # fmt: skip
    for name, mode in modes.items():
        assert (template.directory / name).stat().st_mode & 0o777 == mode, name
    assert os.stat(facts["key"]).st_mode & 0o777 == 0o600


def test_init_with_fixed_ports(tmp_path):
    port = free_port()
    directory = tmp_path / "instance"
    done = command("init", "--directory", str(directory), "--provider-port", str(port), "--host", "push.test", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["provider"] == f"https://127.0.0.1:{port}"
    certificate = x509.load_pem_x509_certificate((directory / "pki/server.pem").read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {"localhost", "push.test"} <= set(names.get_values_for_type(x509.DNSName))
    assert {"127.0.0.1", "::1"} <= {str(address) for address in names.get_values_for_type(x509.IPAddress)}


# Help and usage

COMMANDS = [
    "", "init", "serve", "app", "app add", "app list", "app remove", "key", "key create", "key import", "key list",
    "key revoke", "admin", "admin rotate-token", "admin create-readonly-token", "device", "device enroll",
    "device renew", "device list", "device show", "device remove", "device listen", "certificate", "certificate list",
    "certificate renew", "certificate roll-over", "certificate finish-roll-over", "registration", "registration list",
    "registration revoke", "send", "log", "status", "doctor", "backup", "restore", "version",
]  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_help(name):
    done = command(*name.split(), "--help")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert 3 <= len(done.stdout.splitlines()) <= SCREEN_LINES
    assert "carillon" in done.stdout
    assert len(name.split()) != 2 or "example" in done.stdout.lower()


@pytest.mark.parametrize("arguments", [
    ["nosuchcommand"], ["serve", "--nosuchoption"], ["init"], ["send"], ["app", "add"], ["device", "listen"],
])  # fmt: skip
def test_wrong_usage_is_2(arguments):
    done = command(*arguments)
    assert done.returncode == 2, f"exit {done.returncode}: {done.stderr}"
    assert done.stdout == "" and done.stderr


def test_version():
    done = command("version")
    assert done.returncode == 0 and done.stdout.strip()
    assert json.loads(command("version", "--json").stdout)["version"]


def test_a_gateway_that_is_not_there(template):
    done = command("status", "--admin", "http://127.0.0.1:1", CARILLON_ADMIN_TOKEN="x")
    assert_refused(done, "gateway not reachable at http://127.0.0.1:1; start it with carillon serve")
