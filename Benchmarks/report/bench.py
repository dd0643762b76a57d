"""What rows are made from: gateways, peers and loads."""

import json
import subprocess
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gateway import Gateway
from instance import clean_environment, free_port
from processes import LOAD_CORE, SERVER_CORE, pinned, run, shown

PEERS = Path(__file__).resolve().parents[1] / "peers"


class Peer:
    """A server that the gateway is compared with."""

    def __init__(self, name: str, pids: str, port: int):
        self.name = name
        self.pids = pids
        self.address = f"127.0.0.1:{port}"


class Bench:
    """The programs, and a folder for what they need."""

    def __init__(self, binaries: Path, folder: Path):
        self.binaries = binaries
        self.folder = folder
        self._commands: dict[str, None] = {}

    def take_commands(self) -> list[str]:
        """What was run since the last time, each once."""
        commands, self._commands = list(self._commands), {}
        return commands

    # Servers

    def gateway(
        self,
        stack: ExitStack,
        settings: dict[str, str] | None = None,
        cores: str = str(SERVER_CORE),
        variables: dict[str, str] | None = None,
    ) -> Gateway:
        gateway = Gateway(settings, cores)
        gateway.variables = variables or {}
        stack.enter_context(gateway)
        given = " ".join(f"--set {name}={value}" for name, value in gateway.settings.items())
        self._commands[f"taskset -c {cores} carillon serve --config carillon.conf {given}"] = None
        return gateway

    def peer(self, stack: ExitStack, name: str, gateway: Gateway, tokens: Path | None = None) -> Peer:
        """A peer with the gateway's certificate; nghttpd with an empty file for each token."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        if tokens:
            (folder / "tokens").write_bytes(tokens.read_bytes())
        pki = gateway.directory / "pki"
        port = free_port()
        environment = clean_environment() | {"PEER_CORE": str(SERVER_CORE)}
        started = run(
            [str(PEERS), "start", name, str(folder), str(port), str(pki / "server.pem"), str(pki / "server.key")],
            environment,
        )
        pids = started.strip()
        stack.callback(run, [str(PEERS), "stop", pids])
        self._commands[f"Benchmarks/peers start {name} FOLDER PORT server.pem server.key"] = None
        return Peer(name, pids, port)

    @contextmanager
    def bare_handshakes(self, gateway: Gateway):
        """A server that does TLS handshakes and nothing else; its address and process."""
        pki = gateway.directory / "pki"
        command = pinned(
            SERVER_CORE,
            [str(self.binaries / "bare"), "handshakes", "--cert", str(pki / "server.pem")]
            + ["--key", str(pki / "server.key"), "--port", "0"],
        )
        self._commands[shown(command)] = None
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        try:
            ready = json.loads(process.stdout.readline())
            yield f"127.0.0.1:{ready['port']}", process.pid
        finally:
            process.terminate()
            process.wait(30)

    # Loads, all on the core that the server does not have

    def load(self, *words: object) -> dict:
        """`carillon bench`, and what it found."""
        return self._load("carillon", "bench", *words)

    def peer_load(self, *words: object) -> dict:
        return self._load("peerload", *words)

    def bare(self, *words: object) -> dict:
        """What the libraries do by themselves."""
        return self._load("bare", *words)

    def _load(self, program: str, *words: object) -> dict:
        command = pinned(LOAD_CORE, [str(self.binaries / program), *map(str, words), "--json"])
        self._commands[shown(command)] = None
        return json.loads(run(command, clean_environment()).splitlines()[-1])

    @contextmanager
    def holding(self, program: str, *words: object):
        """A load that holds what it has opened until the block ends."""
        command = pinned(LOAD_CORE, [str(self.binaries / program), *map(str, words)])
        self._commands[shown(command)] = None
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_environment()
        )
        try:
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"{shown(command)} ended before it was ready")
            yield json.loads(line)
        finally:
            process.stdin.close()
            process.wait(120)
