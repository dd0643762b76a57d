"""JSONTestSuite (Tests/Data/json) as payloads: each text alone, and as the value in `{"x":...}`.

Tests/Data/README.md and docs/provider-api.md say what to expect: a text must be an object, valid, and within the limits
of the parser; what is refused is refused with 400 (413 when too long), and nothing crashes.
"""

import json

import pytest

from harness import check_shape
from instance import REPOSITORY

pytestmark = pytest.mark.sanitizer

TEXTS = sorted((REPOSITORY / "Tests/Data/json/test_parsing").glob("*.json"))
LIMIT = 4096
# Implementation-defined texts that the design does not settle: an underflow is 0 in binary64, or refused.
EITHER = {"i_number_real_underflow", "i_number_double_huge_neg_exp"}


@pytest.fixture(scope="module")
def offer(sandbox):
    """Pushes a text, all on one connection, and holds the answer against what its name promises."""
    token = sandbox.register()
    with sandbox.client() as client:
        sandbox.push_on(client, token)

        def check(name: str, text: bytes) -> None:
            answer = client.request(sandbox.headers(token), text)
            check_shape(answer)
            assert (answer.status, answer.reason) in expected(name, text)

        yield check


def refuse_constant(name: str):
    raise ValueError(name)


def parses(text: bytes) -> bool:
    """Whether Python's parser, without its extensions, takes the text."""
    try:
        json.loads(text.decode(), parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        return False
    return True


def is_object(text: bytes) -> bool:
    return text.lstrip(b" \t\r\n")[:1] == b"{"


def expected(name: str, text: bytes) -> set[tuple[int, str | None]]:
    """The answers that are right for a text of this name as the whole payload."""
    if not text:
        return {(400, "PayloadEmpty")}
    if len(text) > LIMIT:
        return {(413, "PayloadTooLarge")}
    accepted, refused = (200, None), (400, "BadRequestPayload")
    if not is_object(text) or name.startswith("n_"):
        return {refused}
    if name.startswith("y_"):
        return {accepted}
    return {accepted, refused} if name in EITHER else {refused}


def test_the_texts_are_there():
    kinds = {file.name[:2] for file in TEXTS}
    assert kinds == {"y_", "n_", "i_"} and len(TEXTS) > 300


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: file.stem)
def test_alone(offer, file):
    offer(file.stem, file.read_bytes())


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: file.stem)
def test_as_a_value(offer, file):
    text = b'{"x":' + file.read_bytes() + b"}"
    assert not (file.stem.startswith("n_") and parses(text)), "valid once wrapped: expect something else"
    offer(file.stem, text)


def test_nobody_was_harmed(sandbox):
    assert sandbox.push(sandbox.register()).status == 200
