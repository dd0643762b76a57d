"""The soak in small: it keeps `scripts/soak` alive, and finds what a minute of everything finds."""

import pytest

from soak import Plan, Soak, settings


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_short_soak_loses_nothing(fresh, capsys):
    """Ten minutes of two seconds each: one crash, reloads, drains, and all habits of devices."""
    plan = Plan(minutes=10, devices=100, rate=80, minute=2, pace=10, first_crash=30)
    lines = []
    soak = Soak(fresh(settings(plan.devices)), plan, lines.append)
    try:
        assert soak.run(), "\n".join(lines)
    finally:
        soak.load.close()
    assert min(soak.counts.values()) > 0, soak.counts
    assert soak.ledger.summary(soak.instance.now())["arrived"] > 300
