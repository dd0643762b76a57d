"""Fixtures shared by all: one gateway per module for what leaves no state, and its output when a test fails."""

import pytest

from harness import Instance, Sandbox, running


@pytest.fixture(scope="module")
def sandbox():
    """A development gateway that the tests of a module share; it must survive them and exit with 0."""
    with Sandbox() as instance:
        yield instance


@pytest.fixture(scope="module")
def apple():
    """The same with `queue.mode = apple`: one stored notification per device and app."""
    with Sandbox({"queue.mode": "apple"}) as instance:
        yield instance


@pytest.fixture(scope="module")
def clocked():
    """A gateway whose clock is moved by minutes."""
    with Sandbox() as instance:
        yield instance


@pytest.fixture(scope="module")
def template():
    """An instance that is made and not started."""
    instance = Instance()
    instance.make()
    yield instance
    instance.discard()


@pytest.fixture(autouse=True)
def survivors():
    """A gateway that dies fails the test in which it died, and only that: it is started again for the next."""
    yield
    dead = [instance for instance in running if not instance.alive]
    said = [f"{instance.process.poll()}: {instance.tail()}" for instance in dead]
    for instance in dead:
        instance.restart(crash=True)
    if said:
        pytest.fail(f"the gateway died: {said}")


@pytest.fixture
def fresh():
    """Makes gateways that one test has to itself."""
    made = []

    def make(settings=None, **options) -> Sandbox:
        instance = Sandbox(settings, **options)
        instance.__enter__()
        made.append(instance)
        return instance

    yield make
    for instance in made:
        instance.__exit__(None)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for instance in running:
            state = "running" if instance.alive else f"ended with {instance.process.poll()}"
            report.sections.append((f"carillon ({state}) {instance.directory}", instance.tail()))
