"""When a schedule runs: the public face of its spec.

`Spec.parse` reads a spec once; the frozen value answers when it first runs, when next, and what a firing leaves
behind. Everything takes the time as a parameter and gives instants in UTC, so the same question always has the same
answer. If this module is wrong, hardware is switched at the wrong time; the rules are written in the modules it
stands on (`durations`, `timestamps`, `zones`, `cron`, `firings`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, Literal, NamedTuple, cast, get_args
from zoneinfo import ZoneInfo

from flowsched.errors import InvalidInput
from schedules.cron import Calendar, Every, parse_cron
from schedules.durations import format_duration, parse_duration, to_nanoseconds, to_timedelta
from schedules.firings import ClockChange, DstPolicy, Search, find_clock_change, find_next
from schedules.listing import find_days
from schedules.quoting import quote
from schedules.timestamps import LAST_YEAR, parse_timestamp
from schedules.zones import parse_zone_name, tzdata_version

__all__ = ["SPEC_TYPES", "Advance", "ClockChange", "DstPolicy", "Search", "Spec", "SpecType", "tzdata_version"]

SpecType = Literal["interval", "cron", "one-time"]
SPEC_TYPES: Final[tuple[str, ...]] = get_args(SpecType)
_DST_POLICIES: Final = get_args(DstPolicy)
_SECOND: Final = timedelta(seconds=1)
_CACHED_SPECS: Final = 8192


class Advance(NamedTuple):
    """What a firing does to its schedule: when it is due again (None: never), and whether it stays enabled."""

    next_run_at: datetime | None
    enabled_after: bool


@dataclass(frozen=True, slots=True)
class _Interval:
    """Dispatch time plus a duration."""

    step: timedelta

    def search(self, after: datetime) -> Search:
        return Search(_add(after, self.step), 1)


@dataclass(frozen=True, slots=True)
class _Every:
    """The same in whole seconds."""

    every: Every

    def search(self, after: datetime) -> Search:
        return Search(_add(after.replace(microsecond=0), self.every.delay), 1)


@dataclass(frozen=True, slots=True)
class _Cron:
    """Named minutes of a zone's wall clock."""

    calendar: Calendar
    zone: ZoneInfo
    dst: DstPolicy

    def search(self, after: datetime) -> Search:
        return find_next(self.calendar, self.zone, after, dst=self.dst)


@dataclass(frozen=True, slots=True)
class _OneTime:
    """One instant."""

    at: datetime

    def search(self, after: datetime) -> Search:
        return Search(self.at if self.at > after else None, 1)


_Plan = _Interval | _Every | _Cron | _OneTime


@dataclass(frozen=True, slots=True)
class Spec:
    """A spec that was found good. Only `Spec.parse` makes one."""

    spec_type: SpecType
    spec: str
    timezone: str
    dst: DstPolicy
    _plan: _Plan = field(repr=False, compare=False)

    @classmethod
    def parse(
        cls,
        spec_type: str,
        spec: str,
        timezone: str = "UTC",
        *,
        dst: str = "once",
        min_interval: timedelta = _SECOND,
    ) -> Spec:
        """Read a spec.

        `spec` is a duration, a cron expression or an RFC 3339 instant, as `spec_type` says. `timezone` is checked for
        all three and used for cron; empty means UTC. `dst` is the policy for clock changes, `once` or `wall`.
        `min_interval` is the shortest interval allowed.

        Raises InvalidInput on field `spec_type`, `timezone` or `spec`, in this order, and ValueError for an unknown
        `dst`, which is a setting and no user's input.
        """
        if dst not in _DST_POLICIES:
            raise ValueError(f"unknown policy for clock changes {quote(dst)}: use one of {', '.join(_DST_POLICIES)}")
        return _parse(spec_type, spec, timezone, cast("DstPolicy", dst), min_interval)

    def first_run(self, now: datetime) -> datetime:
        """Return when a schedule created, changed or resumed at the aware `now` is due first.

        A one-time spec is due at its instant, a past one at once. Raises InvalidInput on field `spec` if there is no
        such time in the years that we can store.
        """
        if isinstance(self._plan, _OneTime):
            return self._plan.at
        at = self.search(now).at
        if at is None:
            raise self._beyond()
        return at

    def next_after(self, after: datetime) -> datetime | None:
        """Return the first run strictly after the aware `after`, in UTC; None if there is none.

        Raises InvalidInput on field `spec` for an interval that leads beyond the years that we can store.
        """
        at = self.search(after).at
        if at is None and isinstance(self._plan, _Interval):
            raise self._beyond()
        return at

    def after_fire(self, now: datetime) -> Advance:
        """Return what firing or skipping at the aware `now` does to the schedule; missed runs are not made up for.

        A one-time schedule is used up. A cron schedule without a next time must not stay enabled either.
        Raises as `next_after` does.
        """
        if isinstance(self._plan, _OneTime):
            return Advance(None, enabled_after=False)
        at = self.next_after(now)
        return Advance(at, enabled_after=at is not None)

    def search(self, after: datetime) -> Search:
        """Return the same as `next_after`, with the number of calendar steps it took; None where that raises."""
        if after.tzinfo is None:
            raise ValueError("a time without a zone means nothing here: pass an aware datetime")
        return self._plan.search(after.astimezone(UTC))

    def clock_change(self, run: datetime) -> ClockChange | None:
        """Return what a clock change did to this run; None for most runs, and for all but cron (T-5)."""
        plan = self._plan
        return find_clock_change(plan.calendar, plan.zone, run, dst=plan.dst) if isinstance(plan, _Cron) else None

    @property
    def step(self) -> timedelta | None:
        """The time between two runs where it is always the same: intervals and `@every`. None for others."""
        if isinstance(self._plan, _Interval):
            return self._plan.step
        return self._plan.every.delay if isinstance(self._plan, _Every) else None

    def days(self, after: datetime, until: datetime | None = None) -> Iterator[Sequence[datetime]]:
        """Yield the runs strictly after `after` and before `until` (None: without end), about a day's at a time.

        For specs without a `step`; what has one is arithmetic. In order, in UTC, as repeated `next_after` gives them.
        """
        if after.tzinfo is None:
            raise ValueError("a time without a zone means nothing here: pass an aware datetime")
        if isinstance(self._plan, _Cron):
            yield from find_days(self._plan.calendar, self._plan.zone, after, until, dst=self._plan.dst)
        elif isinstance(self._plan, _OneTime) and self._plan.at > after and (until is None or self._plan.at < until):
            yield (self._plan.at,)

    def _beyond(self) -> InvalidInput:
        text = f"invalid {self.spec_type} spec {quote(self.spec)}: it has no next run before the year {LAST_YEAR + 1}"
        return InvalidInput(text, field="spec")


@lru_cache(maxsize=_CACHED_SPECS)
def _parse(spec_type: str, spec: str, timezone: str, dst: DstPolicy, min_interval: timedelta) -> Spec:
    """Read a spec; remembered, as a dispatcher reads the same specs at every tick. Errors are not remembered."""
    if spec_type not in SPEC_TYPES:
        raise InvalidInput(
            f"unknown spec type {quote(spec_type)}: use one of {', '.join(SPEC_TYPES)}", field="spec_type"
        )
    zone_name = parse_zone_name(timezone)
    plan: _Plan
    if spec_type == "interval":
        plan = _Interval(_parse_interval(spec, min_interval))
    elif spec_type == "cron":
        cron = parse_cron(spec, min_interval=min_interval)
        plan = _Every(cron) if isinstance(cron, Every) else _Cron(cron, ZoneInfo(zone_name), dst)
    else:
        plan = _OneTime(parse_timestamp(spec))
    return Spec(cast("SpecType", spec_type), spec, zone_name, dst, plan)


def _parse_interval(text: str, minimum: timedelta) -> timedelta:
    """Return an interval, cut to microseconds. Raises InvalidInput on field `spec`."""
    try:
        nanoseconds = parse_duration(text)
    except InvalidInput as error:
        raise InvalidInput(f"invalid interval spec {quote(text)}: {error.message}", field="spec") from None
    if nanoseconds <= 0:
        raise InvalidInput(f"interval spec {quote(text)} must be a positive duration", field="spec")
    if nanoseconds < to_nanoseconds(minimum):
        at_least = format_duration(to_nanoseconds(minimum))
        raise InvalidInput(f"interval spec {quote(text)} must be at least {at_least}", field="spec")
    return to_timedelta(nanoseconds)


def _add(start: datetime, delay: timedelta) -> datetime | None:
    """Return the sum, or None if it lies beyond the years that we can store."""
    try:
        at = start + delay
    except OverflowError:
        return None
    return at if at.year <= LAST_YEAR else None
