"""T-1: the formatter, and the parser against exact arithmetic."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedules.durations import format_duration, parse_duration

SIZES = {"ns": 1, "us": 10**3, "\u00b5s": 10**3, "\u03bcs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9}
SIZES["h"] = 3600 * 10**9


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (5_400_000_000_000, "1h30m"),
        (15_000_000_000, "15s"),
        (1_500_000_000, "1s500ms"),
        (0, "0s"),
        (-60_000_000_000, "-1m"),
        (1_001, "1us1ns"),
    ],
)
def test_short_text(nanoseconds, text):
    assert format_duration(nanoseconds) == text


@settings(deadline=None, max_examples=300)
@given(st.integers(-(2**63), 2**63 - 1))
def test_text_and_back(nanoseconds):
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds


@settings(deadline=None, max_examples=300)
@given(
    st.lists(
        st.tuples(st.integers(0, 1000), st.text("0123456789", max_size=9), st.sampled_from(sorted(SIZES))), max_size=12
    )
)
def test_parts_add_up(parts):
    """F-217: any units in any order; a fraction is at most one nanosecond off the exact value."""
    text = "".join(f"{whole}.{digits}{unit}" for whole, digits, unit in parts) or "0"
    exact = sum(Fraction(f"{whole}.{digits or 0}") * SIZES[unit] for whole, digits, unit in parts)
    assert abs(parse_duration(text) - exact) <= 2 * len(parts)


def test_a_fraction_rounds_as_in_go():
    assert parse_duration("1.000000001h") == 3_600_000_003_600
    assert parse_duration("0.3s") == 300_000_000
    assert parse_duration("2562047h47m16.854775807s") == 2**63 - 1
