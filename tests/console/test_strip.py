"""A rack's fortnight: what is drawn is listed, keeps inside its frame, and says what became of it."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from console.charts.strip import LEAST, LEFT, MOST, MOST_NARROW, WIDTH, Item, draw
from dispatcher.models import Firing, FiringScope
from flowsched import clock
from schedules.models import TaskSchedule
from schedules.services import schedule_pause
from tests.console.helpers import BUDGET, queries_of, text_of
from tests.schedules.helpers import ALICE, make_schedule, whole
from tests.tasks_runs.helpers import make_rack, make_task

NOW = datetime(2027, 3, 13, 7, 14, tzinfo=UTC)
DAY = timedelta(days=1)
UTC_ZONE = ZoneInfo("UTC")
MARKUP = "<img src=x onerror=alert(1)>"


def laid(items, now=NOW):
    midnights = [now.replace(hour=0, minute=0) + n * DAY for n in range(-7, 8)]
    return draw(items, since=now - 7 * DAY, until=now + 7 * DAY, now=now, midnights=midnights, zone=UTC_ZONE)


def item(hours: float, length: float | None = None, **facts) -> Item:
    at = NOW + timedelta(hours=hours)
    return Item(at, None if length is None else at + timedelta(hours=length), "power on", **facts)


hours = st.floats(-200, 200)
things = st.builds(item, hours, st.none() | st.floats(0, 100), key=st.sampled_from(["", "completed"]))


@given(st.lists(things, max_size=260))
def test_bars_keep_inside_and_do_not_lie_on_each_other(items):
    strip = laid(items)
    assert len(strip.bars) + strip.hidden == len(items)
    assert len(strip.bars) <= MOST
    assert len(strip.near) <= MOST_NARROW
    for bar in strip.bars:
        assert bar.width >= LEAST
        assert bar.x >= LEFT
        assert bar.x + bar.width <= WIDTH - LEFT + 0.2
        assert bar.y < strip.height
    for row in {bar.y for bar in strip.bars}:
        ends = LEFT
        for bar in (bar for bar in strip.bars if bar.y == row):
            assert bar.x >= ends - 0.2
            ends = bar.x + bar.width


def test_too_many_leave_out_those_farthest_from_now():
    strip = laid([item(-n / 10, 0, key="completed") for n in range(1, 301)] + [item(n) for n in range(1, 51)])
    assert (len(strip.bars), strip.hidden) == (200, 150)
    assert sum(bar.item.planned for bar in strip.bars) == 50
    assert min(bar.item.at for bar in strip.bars) == NOW - timedelta(hours=15)


def test_overlaps_stack_and_words_say_the_whole():
    strip = laid([item(-10, 5, key="failed", word="Failed"), item(-8, 1, key="completed"), item(48)])
    assert [bar.y for bar in strip.bars] == [24, 40, 24]
    assert strip.bars[0].words == "Fri 12 21:14 UTC power on: Failed"
    assert strip.bars[2].words == "Mon 15 07:14 UTC power on: planned"


# The page -----------------------------------------------------------------------------------------------------------


def url(rack) -> str:
    return reverse("admin:rack", args=[rack.pk])


def skipped(rack, name: str, *, ago: timedelta, reason: str = "previous task still active") -> None:
    at = clock.now() - ago
    firing = Firing.objects.create(
        key=uuid.uuid4(), schedule_id=uuid.uuid4(), schedule_name=name, cause="automatic", due_at=at, fired_at=at,
        actor="system", state="done", closed_at=at, skipped_count=1,
    )  # fmt: skip
    FiringScope.objects.create(
        firing=firing, scope_id=uuid.uuid4(), rack_id=rack.pk, rack_name=rack.name, key=uuid.uuid4(), state="skipped",
        reason_code="overlap", reason=reason,
    )  # fmt: skip


@pytest.mark.django_db
def test_a_rack_shows_what_ran_and_what_will(signed_in):
    rack = make_rack(name="r07")
    now = clock.now()
    make_task(rack, status="failed", finished_at=now, started_at=now - timedelta(hours=3), message="BMC", job=False)
    make_task(rack, status="completed", created_at=now - 8 * DAY, finished_at=now - 8 * DAY, job=False)
    skipped(rack, "Nightly", ago=timedelta(hours=5))
    skipped(rack, "Long ago", ago=8 * DAY)
    daily = make_schedule("Daily", targets=whole(rack), spec="30 2 * * *", spec_type="cron", now=now)
    often = make_schedule("Often", targets=whole(rack), spec="15m", now=now)
    paused = make_schedule("Paused", targets=whole(rack))
    schedule_pause(schedule_id=paused.pk, reason="chiller", by=ALICE, now=now)
    response = signed_in("viewer").get(url(rack))
    body = response.content.decode()
    drawn = body[body.index('data-chart="strip"') : body.index("</svg>", body.index('data-chart="strip"'))]
    listed = body[body.index('data-table="strip"') : body.index("</table>", body.index('data-table="strip"'))]
    assert len(re.findall('class="bar ', drawn)) == listed.count("<tr>") - 1
    assert 'class="bar fill-bad"' in drawn
    assert 'class="bar fill-warn"' in drawn
    assert drawn.count(f'href="{reverse("admin:schedule", args=[daily.pk])}"') == 7
    assert drawn.count(f'href="{reverse("admin:schedule", args=[often.pk])}"') < 24  # a full day is one bar
    assert str(paused.pk) not in drawn
    assert "Long ago" not in drawn
    said = text_of(response)
    assert "Skipped previous task still active" in said
    assert "Failed BMC" in said
    assert "every 15 min, 96 times" in said


@pytest.mark.django_db
def test_a_full_day_is_one_bar_in_the_colour_of_its_worst(signed_in):
    rack, schedule = make_rack(name="r07"), uuid.uuid4()
    noon = (clock.now() - 2 * DAY).replace(hour=12)
    for n in range(12):
        at = noon + timedelta(minutes=n)
        status = "failed" if n == 3 else "completed"
        facts = {"schedule_id": schedule, "schedule_name": "Often", "created_at": at, "finished_at": at}
        make_task(rack, status=status, job=False, **facts)
    said = text_of(signed_in("viewer").get(url(rack)))
    assert "Often, 12 times Failed 11 completed, 1 failed" in said


@pytest.mark.django_db
def test_nothing_to_draw_and_what_cannot_be_told(signed_in):
    rack = make_rack(name="r07")
    client = signed_in("viewer")
    assert "Nothing ran in the last 7 days and nothing is planned for the next 7." in text_of(client.get(url(rack)))
    row = make_schedule("Broken", targets=whole(rack))
    TaskSchedule.objects.filter(pk=row.pk).update(spec_type="cron", spec="nonsense")
    assert "Broken cannot be drawn:" in text_of(client.get(url(rack)))


@pytest.mark.django_db
def test_a_full_strip_keeps_the_budget_and_shows_markup_as_text(signed_in):
    rack = make_rack(name=MARKUP)
    client = signed_in("viewer")
    make_schedule("One", targets=whole(rack))
    first = queries_of(client, url(rack))
    for n in range(30):
        make_task(rack, status="completed", finished_at=clock.now(), message=MARKUP, schedule_name=MARKUP, job=False)
        skipped(rack, MARKUP, ago=timedelta(hours=n), reason=MARKUP)
        make_schedule(f"{MARKUP} {n}", targets=whole(rack), spec="15m", spec_type="interval")
    assert queries_of(client, url(rack)) == first <= BUDGET
    body = client.get(url(rack)).content.decode()
    assert "<img src=x" not in body
    assert len(body) < 350_000
