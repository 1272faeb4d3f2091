"""Made-up specs, zones and moments; many of them near a clock change, where the mistakes live."""

import zoneinfo
from datetime import UTC, datetime, timedelta
from functools import cache

from hypothesis import strategies as st

from schedules.zones import zone_names
from tests.timing.oracle import Named

RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
NAMES = {
    3: dict(enumerate(("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"), 1)),
    4: dict(enumerate(("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"))),
}
START, STOP = datetime(1980, 1, 1, tzinfo=UTC), datetime(2040, 1, 1, tzinfo=UTC)
FORTNIGHT = timedelta(days=14)
MICROSECONDS_OF_30_HOURS = 30 * 3600 * 10**6


def zone_list():
    return sorted(zone_names())


@cache
def clock_changes(name):
    """Return the minutes at which a zone's offset changes, found by looking every fortnight and narrowing down."""
    zone = zoneinfo.ZoneInfo(name)
    found, t, offset = [], START, START.astimezone(zone).utcoffset()
    while t < STOP:
        low, high = t, t + FORTNIGHT
        later = high.astimezone(zone).utcoffset()
        if later != offset:
            while high - low > timedelta(minutes=1):
                middle = low + (high - low) // timedelta(minutes=2) * timedelta(minutes=1)
                same = middle.astimezone(zone).utcoffset() == offset
                low, high = (middle, high) if same else (low, middle)
            found.append(high)
        t, offset = t + FORTNIGHT, later
    return found


@st.composite
def items(draw, index):
    """One item of a list: its text, its values, and whether it is a star."""
    first, last = RANGES[index]
    kind = draw(st.sampled_from(["value", "value", "range", "range/step", "value/step", "star", "star/step"]))
    step = draw(st.integers(1, 70 if index == 0 else 8))
    low = draw(st.integers(first, last))
    high = draw(st.integers(low, last))

    def write(value):
        name = NAMES.get(index, {}).get(value)
        return draw(st.sampled_from([str(value), f"0{value}", *([name, name.lower()] if name else [])]))

    star = draw(st.sampled_from("*?"))
    return {
        "value": lambda: (write(low), {low}, False),
        "range": lambda: (f"{write(low)}-{write(high)}", set(range(low, high + 1)), False),
        "range/step": lambda: (f"{write(low)}-{write(high)}/{step}", set(range(low, high + 1, step)), False),
        "value/step": lambda: (f"{write(low)}/{step}", set(range(low, last + 1, step)), False),
        "star": lambda: (star, set(range(first, last + 1)), True),
        "star/step": lambda: (f"{star}/{step}", set(range(first, last + 1, step)), step == 1),
    }[kind]()


@st.composite
def expressions(draw, hours=None):
    """An expression's text, and what it names (some name no date at all)."""
    fields = []
    for index in range(5):
        if index == 1 and hours is not None and draw(st.booleans()):
            hour = draw(st.sampled_from(hours))
            fields.append((str(hour), frozenset([hour]), False))
            continue
        if draw(st.integers(0, 3)) == 0 or (index > 1 and draw(st.booleans())):
            fields.append(("*", frozenset(range(RANGES[index][0], RANGES[index][1] + 1)), True))
            continue
        listed = draw(st.lists(items(index), min_size=1, max_size=3))
        text = ",".join(text for text, _, _ in listed)
        fields.append((text, frozenset().union(*(v for _, v, _ in listed)), any(star for _, _, star in listed)))
    blank = draw(st.sampled_from([" ", "  ", "\t", "\r\n"]))
    sets = [values for _, values, _ in fields]
    return blank.join(text for text, _, _ in fields), Named(*sets, either_day=not (fields[2][2] or fields[4][2]))


@st.composite
def moments(draw):
    """A zone and an instant, mostly within a day of a clock change of that zone."""
    name = draw(st.sampled_from(zone_list()))
    changes = clock_changes(name)
    if changes and draw(st.integers(0, 4)):
        shift = draw(st.one_of(st.integers(-MICROSECONDS_OF_30_HOURS, MICROSECONDS_OF_30_HOURS), st.integers(-1, 1)))
        return name, draw(st.sampled_from(changes)) + timedelta(microseconds=shift)
    seconds = draw(st.integers(0, int((STOP - START).total_seconds())))
    return name, START + timedelta(seconds=seconds, microseconds=draw(st.integers(0, 999_999)))
