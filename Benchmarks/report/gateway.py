"""The gateway that is measured."""

from instance import Instance, free_port
from processes import SERVER_CORE

#: One loop on one core. The delivery log is a tool for development, and off in production.
SETTINGS = {
    "threads": "1",
    "log.deliveries": "off",
    "log.level": "warning",
    "limits.connectionsPerAddress": "0",
}


class Gateway(Instance):
    """An instance whose process, all its threads, is on the server's core."""

    def __init__(self, settings: dict[str, str] | None = None, cores: str = str(SERVER_CORE)):
        super().__init__(SETTINGS | (settings or {}), hooks=False)
        self.launcher = ["taskset", "-c", cores]

    def first_port(self, door: str) -> int:
        """Chosen here, because commands find the gateway by what its settings say."""
        return free_port()

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def config(self) -> str:
        return self.facts["config"]
