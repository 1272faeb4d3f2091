"""What needs a person, worst first: one query over all nouns, and the processes that fell silent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection

from console import links
from console.frame import process_word
from tasks.operations import operation_label
from tasks.processes import ProcessStatus

MOST: Final = 8
RECENTLY: Final = timedelta(hours=24)
STREAK: Final = 3  # skipped, rejected or missed so often in a row
LONG_STREAK: Final = 7

# Each: (rank, key of the vocabulary, id, name, rack, reason, number, at, how many of the kind in all, firing).
# No index serves the streaks: a scope's row is written at every firing, and reading all of them takes milliseconds.
_BRANCHES: Final = {
    "schedule.read": """
(SELECT 1, 'system', id::text, name, '', disabled_reason, 0, disabled_at, count(*) OVER (), NULL::bigint
   FROM task_schedule WHERE disabled_kind = 'system' ORDER BY disabled_at DESC, id LIMIT %(most)s)
 UNION ALL
(SELECT 5, CASE WHEN c.skip_streak >= %(long)s THEN 'streak_long' ELSE 'streak' END, s.id::text, s.name,
        COALESCE(r.name, ''), COALESCE(l.reason, ''), c.skip_streak, NULL::timestamptz, c.many, l.firing_id
   FROM (SELECT c.*, count(*) OVER () AS many FROM task_schedule_scope c
           JOIN task_schedule e ON e.id = c.schedule_id AND e.enabled
          WHERE skip_streak >= %(streak)s ORDER BY skip_streak DESC, c.id LIMIT %(most)s) c
   JOIN task_schedule s ON s.id = c.schedule_id
   LEFT JOIN rack r ON r.id = c.rack_id
   LEFT JOIN LATERAL (SELECT reason, firing_id FROM firing_scope f
                       WHERE f.rack_id = c.rack_id AND f.scope_id = c.id ORDER BY f.id DESC LIMIT 1) l ON true)
""",
    "task.read": """
(SELECT 2, 'unknown', t.id::text, t.type || '/' || t.code, t.rack_name, r.message, 0, r.started_at,
        count(*) OVER (), NULL::bigint
   FROM run r JOIN task t ON t.id = r.task_id WHERE r.state = 'unknown' ORDER BY r.started_at DESC, r.id LIMIT %(most)s)
""",
    "firing.read": """
(SELECT 4, 'unresolved', f.schedule_id::text, max(f.schedule_name), max(s.rack_name), max(s.reason), count(*)::int,
        max(f.due_at), count(*) OVER (), NULL::bigint
   FROM firing f JOIN firing_scope s ON s.firing_id = f.id AND s.state = 'failed'
  WHERE f.due_at >= %(since)s AND f.failed_count > 0 GROUP BY f.schedule_id ORDER BY max(f.due_at) DESC LIMIT %(most)s)
""",
}
_GONE: Final = 3


@dataclass(frozen=True, slots=True)
class Need:
    """One line: the badge, what it is about, why, since when, and where to go."""

    rank: int
    key: str
    about: str
    reason: str
    at: datetime | None
    url: str
    action: str = "Open"
    number: int | None = None  # before the badge's word

    @property
    def order(self) -> tuple[int, int]:
        """Worst first: by kind, the longest streak first."""
        return self.rank, -(self.number or 0)


@dataclass(frozen=True, slots=True)
class Needs:
    """The worst few, and how many more there are."""

    shown: list[Need]
    more: int

    @property
    def total(self) -> int:
        """All of them."""
        return len(self.shown) + self.more


def needs(
    now: datetime, *, verbs: Sequence[str], processes: Sequence[ProcessStatus], may_decide: bool = False
) -> Needs:
    """What needs a person who may do these `verbs` of reading."""
    gone = [_of_process(status) for status in processes if process_word(status) == "gone"]
    rows = _read(now, [verb for verb in verbs if verb in _BRANCHES])
    found = gone + [_of_row(row, may_decide=may_decide, may_firings="firing.read" in verbs) for row in rows]
    in_all = len(gone) + sum({row[:1]: row[8] for row in rows}.values())
    shown = sorted(found, key=lambda need: need.order)[:MOST]
    return Needs(shown, in_all - len(shown))


def _read(now: datetime, verbs: Sequence[str]) -> list[tuple[Any, ...]]:
    if not verbs:
        return []
    values: dict[str, Any] = {"most": MOST, "since": now - RECENTLY, "streak": STREAK, "long": LONG_STREAK}
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(_BRANCHES[verb] for verb in verbs), values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _of_row(row: tuple[Any, ...], *, may_decide: bool, may_firings: bool) -> Need:
    rank, key, object_id, name, rack, reason, number, at, _, firing_id = row
    if key == "unknown":
        kind, _, code = name.partition("/")
        what = operation_label(kind, code, {})
        action, url = ("Decide", links.decide(object_id)) if may_decide else ("Open", links.task(object_id))
        return Need(rank, key, f"{rack}: {what}" if rack else what, reason, at, url, action)
    if key == "unresolved":
        often = f"{number} times" if number > 1 else ""
        where = ", last ".join(part for part in (often, rack) if part)
        return Need(rank, key, f"{name}: {where}" if where else name, reason, at, links.schedule(object_id))
    if key == "system":
        return Need(rank, key, name, reason, at, links.schedule(object_id))
    reason = reason or "skipped, rejected or missed each time"
    url = links.firing(object_id, firing_id) if firing_id and may_firings else links.schedule(object_id)
    return Need(rank, key, f"{rack} in {name}" if rack else name, reason, at, url, number=number)


def _of_process(status: ProcessStatus) -> Need:
    process = status.process
    about = f"{process.kind} on {process.host} (process {process.pid})"
    return Need(_GONE, "gone", about, "no sign of life and no orderly end", process.last_beat, "#processes", "Look")
