"""A time zone that is none: the one that is meant."""

from __future__ import annotations

import pytest

from console.zones import zone_named, zones_like
from flowsched.errors import InvalidInput
from schedules.zones import zone_names


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("New York", "America/New_York"),
        ("new_york", "America/New_York"),
        ("america/new york", "America/New_York"),
        ("BERLIN", "Europe/Berlin"),
        ("Berlinn", "Europe/Berlin"),
        ("los angeles", "America/Los_Angeles"),
        ("kolkata", "Asia/Kolkata"),
        ("utc", "Etc/UTC"),
    ],
)
def test_a_place_is_its_zone(written, meant):
    with pytest.raises(InvalidInput) as refused:
        zone_named(written, field="once_zone")
    assert refused.value.message.startswith(f"'{written}' is not a time zone; did you mean {meant}")
    assert refused.value.message.endswith("?")
    assert refused.value.field == "once_zone"


@pytest.mark.parametrize("written", ["Xyzzyplugh", "--", "\x00", "9" * 500])
def test_what_is_like_no_zone_is_told_how_one_is_written(written):
    with pytest.raises(InvalidInput, match="is not a time zone; write it as America/New_York"):
        zone_named(written, field="timezone")


def test_zones_are_themselves_and_nothing_is_utc():
    assert zone_named("Europe/Berlin", field="timezone").key == "Europe/Berlin"
    assert zone_named("", field="timezone").key == "UTC"
    assert all(name in zone_names() for name in zones_like("a"))
