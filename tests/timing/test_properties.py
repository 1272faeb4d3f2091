"""T-5, T-9: what must hold for every spec, zone, policy and moment; the oracle is tests/timing/oracle.py."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from flowsched.errors import InvalidInput
from schedules import firings
from schedules.cron import parse_cron
from schedules.durations import parse_duration
from schedules.timing import SPEC_TYPES, Spec
from tests.timing import oracle
from tests.timing.strategies import clock_changes, expressions, moments, zone_list

POLICIES = ("once", "wall")
MICROSECOND = timedelta(microseconds=1)
bounded = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def attempt(call, *args, **kwargs):
    """Return the value and the refusal of a call, one of them None; any other exception is the test's failure."""
    try:
        return call(*args, **kwargs), None
    except InvalidInput as error:
        return None, error


def hours_near(name, after):
    local = after.astimezone(ZoneInfo(name))
    return [(local.hour + shift) % 24 for shift in range(-3, 4)]


@st.composite
def questions(draw):
    name, after = draw(moments())
    text, named = draw(expressions(hours=hours_near(name, after)))
    return text, named, name, after


@settings(bounded, max_examples=300)
@given(questions(), st.sampled_from(POLICIES))
def test_agrees_with_the_day_by_day_search(question, policy):
    """T-5: the same answer as the oracle's, F-219, F-220 and the clock-change rules of both policies included."""
    text, named, name, after = question
    spec, refusal = attempt(Spec.parse, "cron", text, name, dst=policy)
    if refusal:
        assert "never occurs" in refusal.message
        assert oracle.next_firing(named, ZoneInfo("UTC"), policy, after) is None
        return
    assert spec.next_after(after) == oracle.next_firing(named, ZoneInfo(name), policy, after)


@settings(bounded, max_examples=200)
@given(expressions(), st.datetimes(datetime(1970, 1, 2), datetime(2110, 1, 1)))
def test_agrees_on_the_plain_calendar(expression, naive):
    """T-9: without clock changes, far into the years around 2100 that has no 29 February."""
    text, named = expression
    after = naive.replace(tzinfo=UTC)
    expected = oracle.next_firing(named, ZoneInfo("UTC"), "once", after)
    spec, refusal = attempt(Spec.parse, "cron", text)
    if refusal:
        assert expected is None
        return
    assert spec.next_after(after) == expected


@settings(bounded, max_examples=200)
@given(questions(), st.sampled_from(POLICIES), st.lists(st.floats(0, 1, exclude_max=True), max_size=4))
def test_the_answer_holds_until_it_comes(question, policy, shares):
    """T-5: later than asked, on a whole minute, and the same for whoever asks before it comes (F-221)."""
    text, _, name, after = question
    spec, refusal = attempt(Spec.parse, "cron", text, name, dst=policy)
    assume(not refusal)
    answer = spec.next_after(after)
    assert answer is not None
    assert answer > after
    assert answer.tzinfo is UTC
    assert (answer.second, answer.microsecond) == (0, 0)
    inside = [after + (answer - after) * share for share in shares]
    changes = [change for change in clock_changes(name) if after <= change < answer]
    for mid in [*inside, *changes[:3], *changes[-3:], answer - MICROSECOND]:
        if after <= mid < answer:
            assert spec.next_after(mid) == answer, mid


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("text", ["30 0-3 * * *", "*/20 1,23 * * 0,6", "0 * * * *"])
def test_every_zone_at_its_latest_clock_changes(text, policy):
    """T-9: for all zones, walk over the last changes; answers rise and hold for every moment before them."""
    for name in zone_list():
        spec = Spec.parse("cron", text, name, dst=policy)
        for change in clock_changes(name)[-2:]:
            after = change - timedelta(hours=5)
            for _ in range(2):
                answer = spec.next_after(after)
                assert answer > after
                assert spec.next_after(after + (answer - after) / 2) == answer
                assert spec.next_after(answer - MICROSECOND) == answer
                after = answer


@settings(bounded, max_examples=300)
@given(
    st.sampled_from([*SPEC_TYPES, "cron", "cron"]),
    st.one_of(
        st.text(),
        st.text("0123456789*?/-, \tLWHR#@TZ=everyhmsun.+:MONJAN\0\u00a0'\"", max_size=40),
        st.lists(st.text("0123456789*?/-,sunjan", max_size=5), min_size=5, max_size=5).map(" ".join),
        st.text("@every 0123456789hmsu.+-", max_size=20).map("@every {}".format),
        st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})"),
    ),
    st.sampled_from(POLICIES),
)
def test_any_text_is_understood_or_refused_as_invalid_input(spec_type, text, policy):
    """T-9: one error, one field, a message that can be sent; and what is understood can be asked."""
    now = datetime(2026, 3, 1, 12, 0, 0, 1, tzinfo=UTC)
    spec, refusal = attempt(Spec.parse, spec_type, text, "Europe/Paris", dst=policy)
    first, refusal = attempt(spec.first_run, now) if spec else (None, refusal)
    if refusal:
        assert refusal.field == "spec"
        assert list(refusal.fields) == ["spec"]
        assert refusal.message.encode().decode().isprintable()
        return
    assert spec_type == "one-time" or first > now
    spec.after_fire(now)


@settings(bounded, max_examples=150)
@given(st.text() | st.text("UTCEurope/Paris.+-\0", max_size=20) | st.sampled_from(["Local", "posix/UTC", "right/UTC"]))
def test_any_zone_is_known_or_refused_as_invalid_input(name):
    """T-6: one error on field timezone, whatever zoneinfo itself would have raised."""
    spec, refusal = attempt(Spec.parse, "cron", "0 0 * * *", name)
    if refusal:
        assert refusal.field == "timezone"
        assert refusal.message.isprintable()
        return
    assert spec.timezone in zone_list()


@settings(bounded, max_examples=200)
@given(st.text())
def test_any_duration_is_a_number_or_invalid_input(text):
    """T-1: within int64, or refused."""
    value, refusal = attempt(parse_duration, text, field="misfire_grace")
    if refusal:
        assert refusal.field == "misfire_grace"
        return
    assert -(2**63) <= value < 2**63


def test_a_question_leaves_no_trace():
    """T-9: the engine behind a spec is shared between threads, so no question may move it."""
    text = "*/7 3 13 * 5"
    before = [dict(vars(side)) for side in firings._engine(parse_cron(text))._sides]
    Spec.parse("cron", text, "Europe/Paris").next_after(datetime(2025, 1, 1, tzinfo=UTC))
    assert [dict(vars(side)) for side in firings._engine(parse_cron(text))._sides] == before
    assert len(before) == 2
