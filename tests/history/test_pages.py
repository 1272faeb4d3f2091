"""Reading history: PostgreSQL for what it holds, ClickHouse for what it has forgotten, as one list (I-58, I-101)."""

from __future__ import annotations

import random
import uuid
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from flowsched import clock
from flowsched.errors import InvalidInput, NotFound, Unavailable
from tasks.history import reader as reader_module
from tasks.history import selectors
from tasks.history.merging import merged_page
from tasks.history.outbox import Exporter, outbox_fill
from tasks.history.reader import Reader
from tasks.history.records import record_of
from tasks.history.selectors import NOT_NOW, OlderState, run_by_id, runs_page
from tasks.models import Run, RunExport, Task
from tasks.retention import history_prune
from tests.history.helpers import stored

pytestmark = pytest.mark.django_db
STATES = ["succeeded", "failed", "no_effect", "timed_out", "skipped", "cancelled"]
NIGHTLY, HOURLY = uuid.UUID(int=7), uuid.UUID(int=8)


@pytest.fixture
def past(clickhouse, settings):
    """Four months of runs, exported, of which PostgreSQL still holds the last 30 days; some lasted for days.

    One past its time is held back by the outbox, and two ended in the same instant as the newest forgotten one.
    """
    settings.FLOWSCHED_HISTORY_DAYS = 30
    dice = random.Random(6)
    now = clock.now()
    edge = now - timedelta(days=30)
    for n in range(120):
        stored(
            now - timedelta(days=1 + n, minutes=dice.randrange(600)),
            lasted=timedelta(hours=dice.choice([1, 1, 1, 200])),
            state=dice.choice(STATES),
            schedule=dice.choice([NIGHTLY, HOURLY, None]),
        )
    for n in range(4):
        stored(edge - timedelta(hours=5 + n), lasted=timedelta(hours=5 + n), schedule=NIGHTLY)
    together = edge - timedelta(hours=30)
    for attempt in (1, 2, 2):
        stored(together, schedule=NIGHTLY, attempt=attempt)
    stored(now - timedelta(days=50), state="unknown", schedule=NIGHTLY)
    stored(now - timedelta(minutes=1), state="running", schedule=HOURLY)
    everything = [record_of(run) for run in Run.objects.select_related("task")]
    for _time in range(2):  # everything is there twice, but in the final view
        outbox_fill()
        Exporter().run_once()
    held = Run.objects.filter(finished_at__lt=now - timedelta(days=70)).latest("finished_at")
    RunExport.objects.create(run=held, written_at=now)
    ended = together + timedelta(minutes=1)
    before = Task.objects.filter(finished_at__lt=ended).count() - 1
    assert history_prune(now=now, limit=before + 1) == before + 1 > 60
    assert Task.objects.filter(finished_at=ended).count() == 2
    assert Run.objects.filter(id=held.id).exists()
    return sorted(everything, key=lambda record: record.order, reverse=True)


@pytest.mark.parametrize("schedule", [None, NIGHTLY, uuid.UUID(int=9)])
@pytest.mark.parametrize("state", [None, "failed", "unknown"])
def test_every_page_is_a_part_of_the_whole_list(past, schedule, state):
    wanted = [
        record
        for record in past
        if (schedule is None or record.schedule_id == schedule) and (state is None or record.state == state)
    ]
    for limit in (1, 7, 500):
        for offset in {0, 1, 5, *range(20, 60, 4), max(0, len(wanted) - 3), len(wanted), len(wanted) + 9}:
            page = runs_page(schedule_id=schedule, state=state, offset=offset, limit=limit)
            part = wanted[offset : offset + limit]
            assert page.note == ""
            assert page.runs == part
            assert page.total == len(wanted)
            assert page.older is (OlderState.NONE if state == "unknown" else OlderState.INCLUDED)
            assert page.note == ""


def test_runs_of_one_instant_have_one_order_in_both_stores(clickhouse):
    """ClickHouse compares the halves of an id the other way round: a page would show one twice and one never."""
    now = clock.now()
    ids = [uuid.UUID(int=(2 << 64) + 1), uuid.UUID(int=(1 << 64) + 2)]
    for run_id in ids:
        stored(now - timedelta(days=400), id=run_id)
    outbox_fill()
    assert [record.run_id for record in runs_page().runs] == ids
    Exporter().run_once()
    assert history_prune(now=now) == 2
    assert [record.run_id for offset in (0, 1) for record in runs_page(offset=offset, limit=1).runs] == ids


def test_a_run_is_found_wherever_it_is(past):
    assert [run_by_id(record.run_id) for record in past] == past
    with pytest.raises(NotFound):
        run_by_id(uuid.uuid4())


def test_with_clickhouse_away_pages_answer_what_postgresql_holds_and_say_so(past, away):
    page = runs_page(limit=500)
    here = [record for record in past if Run.objects.filter(id=record.run_id).exists()]
    assert page.runs == here
    assert page.total == len(here)
    assert page.older is OlderState.AWAY
    assert page.note.startswith(f"{NOT_NOW}: ClickHouse at http://127.0.0.1:1/flows: ")
    assert run_by_id(here[-1].run_id) == here[-1]
    forgotten = next(record for record in past if record not in here)
    with pytest.raises(Unavailable, match=NOT_NOW):
        run_by_id(forgotten.run_id)


def test_open_runs_need_nobody_but_postgresql(past, away):
    assert [page.older for page in (runs_page(state="running"), runs_page(state="unknown"))] == [OlderState.NONE] * 2
    assert runs_page(state="running").total == 1


def test_who_was_away_a_moment_ago_is_not_asked_again_at_once(past, away, monkeypatch):
    """A page must not wait for a connection that another page has just waited for."""
    seconds, tried = [0.0], []
    monkeypatch.setattr(reader_module, "reader", Reader(clock=lambda: seconds[0]))
    connect = reader_module.connect
    monkeypatch.setattr(reader_module, "connect", lambda *a, **k: tried.append(seconds[0]) or connect(*a, **k))
    for second in range(12):
        seconds[0] = float(second)
        assert runs_page().older is OlderState.AWAY
    assert tried == [0, 5, 10]


def test_more_held_back_than_a_query_can_name_is_told(clickhouse, monkeypatch):
    """What is past its time and waits to be exported is in PostgreSQL; what is older is soon to be had again."""
    now = clock.now()
    for n in range(25):
        stored(now - timedelta(days=400, minutes=n))
    outbox_fill()
    monkeypatch.setattr(selectors, "MAX_HELD", 22)
    page = runs_page(limit=100)
    assert (len(page.runs), page.older) == (25, OlderState.AWAY)
    assert page.note == f"{NOT_NOW}: more than 22 runs that are past their time still wait to be exported"
    Exporter().run_once()
    assert runs_page().older is OlderState.INCLUDED


def test_without_clickhouse_there_is_no_older_history_and_no_word_about_it(settings):
    run = stored(clock.now())
    page = runs_page()
    assert ([record.run_id for record in page.runs], page.total) == ([run.id], 1)
    assert (page.older, page.note) == (OlderState.NONE, "")


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 501}, "limit"),
        ({"offset": -1}, "offset"),
        ({"offset": 10_000_001}, "offset"),
        ({"state": "done"}, "state"),
    ],
)
def test_what_makes_no_page_is_refused(words, field):
    with pytest.raises(InvalidInput) as refused:
        runs_page(**words)
    assert list(refused.value.fields) == [field]


def test_a_page_takes_a_fixed_number_of_statements(past):
    def count(limit: int, offset: int) -> int:
        with CaptureQueriesContext(connection) as queries:
            runs_page(limit=limit, offset=offset)
        return len(queries)

    assert count(10, 0) == count(20, 0) <= 4
    assert count(20, 25) == count(100, 25) <= 7


def test_what_both_lists_know_is_told_once():
    """Forgotten while the page was put together."""
    assert merged_page([9, 5], lambda start, most: [9, 7, 5, 3][start : start + most], 4, offset=0, limit=9) == [
        9,
        7,
        5,
        3,
    ]


def test_merging_is_as_if_both_lists_were_one():
    """Any two lists, any place, and far never asked for more than it must give."""
    dice = random.Random(1)
    for _case in range(3000):
        numbers = dice.sample(range(60), dice.randrange(0, 30))
        near = sorted((n for n in numbers if dice.random() < 0.3), reverse=True)
        far = sorted(set(numbers) - set(near), reverse=True)
        offset, limit = dice.randrange(0, 35), dice.randrange(1, 10)
        asked = []

        def read(start, most, far=far, asked=asked):
            asked.append(most)
            return far[start : start + most]

        found = merged_page(near, read, len(far), offset=offset, limit=limit)
        assert found == sorted(numbers, reverse=True)[offset : offset + limit]
        assert sum(asked) <= limit + len(near)
