"""What ran: firings by day, a schedule's day as one where there are many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from django.contrib.postgres.aggregates import ArrayAgg
from django.contrib.postgres.fields import ArrayField
from django.db.models import Count as CountOf
from django.db.models import DateTimeField, Func, IntegerField, Max, Min, Sum, Value

from console import links
from console.calendar.filters import Filters
from console.calendar.marks import MOST_A_DAY, MOST_MARKS, Mark, TooMany
from console.dashboard.ahead import is_disruptive
from console.outcomes_shown import Count, counts
from console.words import WORST_FIRST, type_of
from dispatcher.models import Firing
from dispatcher.tallies import Tally, tally
from schedules.template import summary

TALLIED: Final = 20_000  # racks whose tasks' ends are looked up for one page; beyond, their outcome stands alone
_COUNTS: Final = {
    "failed_count": "unresolved",
    "missed_count": "missed",
    "rejected_count": "rejected",
    "skipped_count": "skipped",
    "submitted_count": "submitted",
}


def past(filters: Filters, edges: Sequence[datetime], *, now: datetime) -> list[Mark]:
    """The firings due between the first and the last edge. Two queries. Raises TooMany."""
    until = min(edges[-1], now + timedelta(microseconds=1))
    if until <= edges[0]:
        return []
    groups = _grouped(filters, edges, until)
    single = [firing_id for group in groups if group["many"] <= MOST_A_DAY for firing_id in group["ids"]]
    marks = [_of_group(group) for group in groups if group["many"] > MOST_A_DAY]
    if len(single) + len(marks) > MOST_MARKS:
        raise TooMany
    return marks + [_of_firing(firing) for firing in Firing.objects.filter(pk__in=single)]


def _grouped(filters: Filters, edges: Sequence[datetime], until: datetime) -> list[dict[str, Any]]:
    """The firings of each schedule and day: how many, the first ids, the counts. Raises TooMany."""
    day = Func(
        "due_at",
        Value(list(edges), output_field=ArrayField(DateTimeField())),
        template="width_bucket(%(expressions)s::timestamptz[])",
        output_field=IntegerField(),
    )
    rows = (
        filters.firings()
        .filter(due_at__gte=edges[0], due_at__lt=until)
        .annotate(day=day)
        .order_by()
        .values("schedule_id", "day")
        .annotate(
            many=CountOf("pk"),
            first=Min("due_at"),
            name=Max("schedule_name"),
            ids=ArrayAgg("pk", order_by="due_at"),
            **{column: Sum(column) for column in _COUNTS},
        )
        .order_by("first")[: MOST_MARKS + 1]
    )
    found = [dict(row) for row in rows]
    if len(found) > MOST_MARKS:
        raise TooMany
    return found


def _of_group(group: dict[str, Any]) -> Mark:
    """A day of many firings: drawn from their counts; the operation is not told, since it may have changed."""
    found = _counted((column, group[column]) for column in _COUNTS)
    return Mark(
        kind="past",
        at=group["first"],
        schedule_id=group["schedule_id"],
        name=group["name"],
        operation="",
        disruptive=False,
        url=links.schedule(group["schedule_id"]) + "?tab=firings",
        racks=0,
        count=group["many"],
        key=found[0].key if found else "",
        counts=found,
    )


def _of_firing(firing: Firing) -> Mark:
    found = _counted((column, getattr(firing, column)) for column in _COUNTS)
    return Mark(
        kind="past",
        at=firing.due_at,
        schedule_id=firing.schedule_id,
        name=firing.schedule_name,
        operation=summary(firing.operation_template)[1],
        disruptive=is_disruptive(firing.operation_template),
        url=links.firing(firing.schedule_id, firing.pk),
        racks=sum(count.racks for count in found),
        key=found[0].key if found else "",
        counts=found,
        why=firing.reason,
        firing_id=firing.pk,
        type=type_of(firing.operation_template),
    )


def _counted(columns: Iterable[tuple[str, int]]) -> list[Count]:
    by_key = {_COUNTS[column]: number for column, number in columns if number}
    return [Count(key, by_key[key]) for key in WORST_FIRST if key in by_key]


def look_up_ends(marks: Iterable[Mark]) -> None:
    """Replace `submitted` by how the tasks ended, for as many of these marks as may be asked at once: one query."""
    chosen: dict[int, Mark] = {}
    racks = 0
    for mark in marks:
        if mark.firing_id is not None and racks + mark.racks <= TALLIED:
            chosen[mark.firing_id] = mark
            racks += mark.racks
    tallies = [_tally(firing_id, mark) for firing_id, mark in chosen.items()]
    tally(tallies)
    for each in tallies:
        mark = chosen[each.firing_id]
        mark.counts = counts(each.groups) or mark.counts
        mark.key = mark.counts[0].key if mark.counts else mark.key
        mark.racks = sum(count.racks for count in mark.counts)


def _tally(firing_id: int, mark: Mark) -> Tally:
    return Tally(firing_id, mark.at, mark.at, "", "", "", mark.why)
