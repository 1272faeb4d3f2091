"""Every row of the measured tables: values exactly, and each row's error inside the message."""

import pytest

from flowsched.errors import InvalidInput
from schedules.durations import parse_duration
from schedules.timestamps import parse_timestamp
from schedules.timing import Spec
from schedules.zones import parse_zone_name
from tests.timing.tables import instant, rows


@pytest.mark.parametrize("case", rows("durations"))
def test_duration(case):
    """T-1, F-217: Go's durations, to the nanosecond."""
    if case["ok"]:
        assert parse_duration(case["input"]) == case["value_ns"]
        return
    with pytest.raises(InvalidInput) as caught:
        parse_duration(case["input"])
    assert case["error"] in caught.value.message


@pytest.mark.parametrize("case", rows("durations"))
def test_interval(case):
    """T-1, F-283: which durations are intervals; the refusal stands on the field and quotes the text."""
    if case["interval_ok"]:
        assert Spec.parse("interval", case["input"]).spec == case["input"]
        return
    with pytest.raises(InvalidInput) as caught:
        Spec.parse("interval", case["input"])
    assert caught.value.field == "spec"
    assert "interval spec '" in caught.value.message
    if not case["ok"]:
        assert case["error"] in caught.value.message
    elif case["value_ns"] <= 0:
        assert "must be a positive duration" in caught.value.message
    else:
        assert "must be at least 1s" in caught.value.message


@pytest.mark.parametrize("case", rows("timestamps"))
def test_timestamp(case):
    """T-2, F-218: strict RFC 3339, in UTC, microseconds."""
    if case["ok"]:
        assert parse_timestamp(case["input"]) == instant(case["value"])
        return
    with pytest.raises(InvalidInput) as caught:
        Spec.parse("one-time", case["input"])
    assert caught.value.field == "spec"
    assert case["error"] in caught.value.message


@pytest.mark.parametrize("case", rows("timezones"))
def test_timezone(case):
    """T-6, F-223, F-295: names of the zone database, aliases included, and nothing that depends on the host."""
    if case["ok"]:
        assert parse_zone_name(case["input"]) == case["value"]
        return
    with pytest.raises(InvalidInput) as caught:
        Spec.parse("cron", "0 0 * * *", case["input"])
    assert caught.value.field == "timezone"
    assert case["error"] in caught.value.message


@pytest.mark.parametrize("policy", ["once", "wall"])
@pytest.mark.parametrize("case", rows("cron"))
def test_cron(case, policy):
    """T-3, T-4, T-5, F-219, F-220: three firings in a row, or the refusal; the zone prefix is F-296."""
    if not case["ok"]:
        with pytest.raises(InvalidInput) as caught:
            Spec.parse("cron", case["expr"], case["tz"], dst=policy)
        assert caught.value.field == "spec"
        assert case["error"] in caught.value.message
        return
    spec = Spec.parse("cron", case["expr"], case["tz"], dst=policy)
    found, after = [], instant(case["after"])
    for _ in range(3):
        after = spec.next_after(after)
        found.append(after)
    assert found == [instant(text) for text in case["expected" if policy == "once" else "expected_wall"]]
