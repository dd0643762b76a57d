"""Row 11: what a push costs when devices live on several loops."""

from collections.abc import Callable
from contextlib import ExitStack

from bench import Bench
from processes import LOAD_CORE, SERVER_CORE, pin_threads
from row import Goal, Round, Row
from rows_push import MICROSECONDS, pushes


class Cores(Row):
    """Row 11."""

    number = 11
    title = "The same push with two loops instead of one"
    goals = [Goal("CPU per push, two loops / one loop", 1.5)]
    unit = f"{MICROSECONDS} per push"
    method = (
        "The load of row 2. With two loops half of the pushes are taken in by one loop and handed to the other,"
        " which is home to their device, and the answers come back the same way. For the goal both loops share the"
        " first core, so that the load has the other to itself. Beside it two loops have a core each and the load"
        " shares the second with one of them: there the load is the limit, and a server that waits for its load"
        " writes less at a time. docs/capacity.md counts with both."
    )
    is_quick = False
    count = 200_000

    def open(self, bench: Bench, stack: ExitStack) -> Callable[[], Round]:
        two = {"threads": "2"}
        gateways = {"one loop": bench.gateway(stack), "two loops on one core": bench.gateway(stack, two)}
        spread = bench.gateway(stack, two, cores=f"{SERVER_CORE},{LOAD_CORE}")
        pin_threads(spread.pid, {"loop-1": LOAD_CORE}, SERVER_CORE)
        gateways["two loops on two cores"] = spread

        def one() -> Round:
            loads = {name: pushes(bench, gateway, self.count) for name, gateway in gateways.items()}
            bars = {name: load["serverCPUPerRequest"] for name, load in loads.items()}
            rates = {name: load["rate"] for name, load in loads.items()}
            return Round({self.goals[0].name: bars["two loops on one core"] / bars["one loop"]}, bars, rates)

        return one
