"""The page: panels that are read one by one, so that one that cannot be read leaves the others."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from django.http import HttpRequest, HttpResponse
from django.utils.functional import cached_property

from console import links
from console.charts import outcomes, timeline
from console.charts.outcomes import Bucket
from console.dashboard import counts, ranges
from console.dashboard.ahead import AHEAD, Ahead, ahead
from console.dashboard.facts import Facts, facts
from console.dashboard.needs import Needs, needs
from console.dashboard.panels import Kind, OutcomesPanel, outcomes_panel
from console.dashboard.ranges import Range
from console.dashboard.tiles import tiles
from console.frame import frame, process_word
from console.live import LivePage
from flowsched import db
from flowsched.errors import FlowschedError
from tasks.processes import ProcessStatus

logger = logging.getLogger(__name__)

_GRID: Final = timedelta(minutes=5)  # the timeline moves on this often, not with every look
_ALIVE: Final = frozenset({"alive", "late"})

SCOPES: Final = Kind(
    name="scopes",
    title="What came due",
    explained="Every rack of every firing, by when it was due",
    nothing="No firing was due in this time.",
    order=counts.SCOPE_OUTCOMES,
)
ENDS: Final = Kind(
    name="ends",
    title="How tasks ended",
    explained="Every task, by when it ended; an unknown one by when it began",
    nothing="No task ended in this time.",
    order=counts.TASK_ENDS,
)


@dataclass(frozen=True, slots=True)
class Panel:
    """What a panel shows, or what is said in its place."""

    value: Any = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of one kind: the chosen range's as a panel, the last day's for the tiles."""

    panel: OutcomesPanel
    day: dict[str, int]


@dataclass(frozen=True, slots=True)
class Planned:
    """The timeline, and what could not be drawn."""

    drawing: timeline.Timeline
    in_all: int
    lanes: int
    unreadable: list[tuple[str, str]]


class DashboardPage(LivePage):
    """The state of the system at a glance."""

    verbs: ClassVar = {"GET": ""}
    title = "Dashboard"

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show it."""
        stand = self._read("the numbers", lambda: facts(self.viewer.now))
        found: Facts | None = stand.value
        scopes = self._if_may("firing.read", "outcomes", self._scopes)
        ends = self._if_may("task.read", "how tasks ended", self._ends)
        known = sorted(frame(request, self.viewer)["processes"], key=_place)  # beats must not change the order
        processes = [(status, process_word(status)) for status in known]
        region = {
            "facts": stand,
            "empty": found is not None
            and not found.schedules,  # hardware that is scheduled has racks, a call needs none
            "some_process": any(word in _ALIVE for _, word in processes),
            "tiles": tiles(self.viewer, found, self.day, *(panel and panel.value for panel in (scopes, ends))),
            "needs": self._read("what needs you", self._needs),
            "planned": self._if_may("schedule.read", "the next 24 hours", self._planned),
            "outcomes": [panel for panel in (scopes, ends) if panel],
            "ranges": [(each, each.key == self.chosen.key) for each in (self.day, self.week)],
            "process_list": processes,
            "last_url": _last_firing(found),
        }
        return self.live(
            "console/dashboard.html",
            live_template="console/dashboard_live.html",
            region=region,
            active=found is not None and found.active,
        )

    @cached_property
    def day(self) -> Range:
        """The last 24 hours."""
        return ranges.day(self.viewer.now, self.viewer.zone)

    @cached_property
    def week(self) -> Range:
        """The last 7 days."""
        return ranges.week(self.viewer.now, self.viewer.zone)

    @property
    def chosen(self) -> Range:
        """The range that the address names."""
        return self.week if self.request.GET.get("range") == self.week.key else self.day

    def _if_may(self, verb: str, what: str, read: Callable[[], Any]) -> Panel | None:
        """The panel, or None for a viewer who may not see what it is about."""
        return self._read(what, read) if self.viewer.caller.may(verb) else None

    def _read(self, what: str, read: Callable[[], Any]) -> Panel:
        """Read one panel; where that fails, say so in its place."""
        try:
            with db.translate():
                return Panel(read())
        except FlowschedError as error:
            logger.warning("request %s: the dashboard could not read %s: %s", self.viewer.request_id, what, error)
            return Panel(error=f"Could not read {what} (id {self.viewer.request_id[:8]}): {error.message}.")

    def _needs(self) -> Needs:
        may = self.viewer.caller.may
        verbs = [verb for verb in ("schedule.read", "task.read", "firing.read") if may(verb)]
        processes = frame(self.request, self.viewer)["processes"]
        return needs(self.viewer.now, verbs=verbs, processes=processes, may_decide=may("task.acknowledge"))

    def _planned(self) -> Planned:
        now = self.viewer.now
        since = datetime.fromtimestamp(now.timestamp() // _GRID.total_seconds() * _GRID.total_seconds(), tz=now.tzinfo)
        found: Ahead = ahead(now, since + AHEAD)
        drawing = timeline.draw(
            found.lanes, since=since, until=since + AHEAD, now=since, zone=self.viewer.zone, in_all=found.in_all
        )
        return Planned(drawing, found.in_all, len(found.lanes), found.unreadable)

    def _scopes(self) -> Counted:
        return self._counted(
            counts.scope_outcomes,
            SCOPES,
            lambda key, since, until: links.outcomes(outcome=key, since=since, until=until),
        )

    def _ends(self) -> Counted:
        return self._counted(
            counts.task_ends,
            ENDS,
            links.tasks_ended,
        )

    def _counted(self, read: Callable[[Any], list[Bucket]], kind: Kind, address: Any) -> Counted:
        """Both ranges from one reading: the buckets are cut at the edges of both."""
        buckets = read(sorted({*self.chosen.edges, *self.day.edges}))
        panel = outcomes_panel(
            outcomes.rebucketed(buckets, self.chosen.edges),
            kind,
            chosen=self.chosen,
            zone=self.viewer.zone,
            address=address,
        )
        return Counted(panel, outcomes.sums(outcomes.rebucketed(buckets, self.day.edges), kind.order))


def _last_firing(found: Facts | None) -> str:
    if found is None or found.last_firing_id is None:
        return ""
    return links.firing(str(found.last_schedule_id), found.last_firing_id)


def _place(status: ProcessStatus) -> tuple[str, str, int]:
    return status.process.kind, status.process.host, status.process.pid
