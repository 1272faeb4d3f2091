"""The calendar's page: month, week and list of the same marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, ClassVar, Final, cast

from django.http import HttpRequest, HttpResponse

from console import links
from console.asked import date_of
from console.calendar.clashes import mark_clashes
from console.calendar.filters import Filters
from console.calendar.marks import TOO_MANY, Mark, TooMany, by_day
from console.calendar.past import look_up_ends, past
from console.calendar.planned import Planned, next_of, planned
from console.calendar.window import LIST_DAYS, MOST_DAYS, VIEWS, Day, View, Window, month_from, window_of
from console.charts import week
from console.moments import clock
from console.pages import Page
from console.schedules_reads import OPERATIONS

LINES: Final = 4  # of a day in a month
LIST_ROWS: Final = 280  # of a list of several days, shared out among them
WEEK_ROWS: Final = 12  # of a day in the table beside a week
DAY_ROWS: Final = 400  # of a list of one day
LABEL: Final = 48  # characters of a name in a chart's labels; the list has them all
NARROW_ROWS: Final = 40  # of a small screen, before it is sent to the list


@dataclass(frozen=True, slots=True)
class Cell:
    """One day with its marks; `outside`: of a neighbouring month."""

    day: Day
    marks: Sequence[Mark]
    url: str
    outside: bool
    today: bool
    rows: int  # of a list

    @property
    def listed(self) -> Sequence[Mark]:
        """What a list shows of it."""
        return self.marks[: self.rows]

    @property
    def unlisted(self) -> int:
        """How many it does not."""
        return len(self.marks) - len(self.listed)

    @property
    def shown(self) -> Sequence[Mark]:
        """What finds room in a month's cell."""
        return self.marks if len(self.marks) <= LINES + 1 else self.marks[:LINES]

    @property
    def more(self) -> int:
        """How many do not."""
        return len(self.marks) - len(self.shown)


class CalendarPage(Page):
    """The plan, and what came of it."""

    verbs: ClassVar = {"GET": "schedule.read"}
    title = "Calendar"

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the view, the day and the filters that the address names."""
        today = self.viewer.now.astimezone(self.viewer.zone).date()
        window = self._window(today)
        filters = Filters.of(request.GET)
        paused = request.GET.get("paused") == "1"
        found, too_many = self._marks(filters, window, paused=paused)
        cells = self._cells(window, found.marks, today)
        look_up_ends(_drawn(cells, window.view))
        if window.view != "month":
            mark_clashes(found.marks, self.viewer.zone)
        return self.render(
            "console/calendar.html",
            window=window,
            cells=cells,
            rows=[cells[place : place + 7] for place in range(0, len(cells), 7)],
            week=self._week(cells) if window.view == "week" and found.marks else None,
            narrow=_from_today(cells)[:NARROW_ROWS],
            too_many=TOO_MANY if too_many else "",
            unreadable=found.unreadable,
            nothing=not found.marks and not too_many,
            next_one=next_of(filters, now=self.viewer.now) if not found.marks and not too_many else None,
            filters=filters,
            paused=paused,
            operations={key: words for key, (words, _) in OPERATIONS.items()},
            **self._addresses(window, filters, today, paused=paused),
        )

    def _window(self, today: date) -> Window:
        given = self.request.GET
        view = cast("View", given.get("view")) if given.get("view") in VIEWS else "month"
        days = given.get("days", "")
        length = int(days) if days.isascii() and days.isdigit() and len(days) <= len(str(MOST_DAYS)) else LIST_DAYS
        asked = date_of(given.get("date", ""))
        if view == "month" and asked is None:
            return month_from(today, self.viewer.zone)
        return window_of(view, asked or today, self.viewer.zone, days=length)

    def _marks(self, filters: Filters, window: Window, *, paused: bool) -> tuple[Planned, bool]:
        """What was and what will be; none of it where it is too much to draw, since half a plan misleads."""
        try:
            found = planned(filters, window.edges, now=self.viewer.now, paused=paused)
            if self.viewer.caller.may("firing.read"):
                found.marks.extend(past(filters, window.edges, now=self.viewer.now))
        except TooMany:
            return Planned([], []), True
        return found, False

    def _cells(self, window: Window, marks: Sequence[Mark], today: date) -> list[Cell]:
        return [
            Cell(
                day,
                inside,
                self._address(view="list", date=day.date.isoformat(), days="1"),
                outside=window.inside is not None and day.date.month != window.inside,
                today=day.date == today,
                rows=_rows(window),
            )
            for day, inside in zip(window.days, by_day(marks, window.edges), strict=True)
        ]

    def _week(self, cells: Sequence[Cell]) -> week.Week:
        zone = self.viewer.zone
        columns = [
            week.Column(
                cell.day.since,
                cell.day.until,
                f"{cell.day.date:%a} {cell.day.date.day}" + (f", {cell.day.odd}" if cell.day.odd else ""),
                cell.url,
                [week.Entry(m.at, m.name, self._label(m), m.url, m.css, m.count > 1) for m in cell.marks],
            )
            for cell in cells
        ]
        return week.draw(columns, zone=zone, now=self.viewer.now)

    def _label(self, mark: Mark) -> str:
        parts = [
            f"{mark.name[:LABEL]}, {clock(mark.at, self.viewer.zone)}",
            mark.often,
            mark.reach,
            mark.operation,
            mark.word or (mark.kind if mark.kind != "past" else ""),
            mark.why,
            mark.clash,
        ]
        return ", ".join(part for part in parts if part)

    def _addresses(self, window: Window, filters: Filters, today: date, *, paused: bool) -> Mapping[str, Any]:
        days = str(len(window.days)) if window.view == "list" else ""
        anchor = self._anchor(window, today)
        return {
            "before_url": self._address(view=window.view, date=window.before.isoformat(), days=days),
            "after_url": self._address(view=window.view, date=window.after.isoformat(), days=days),
            "today_url": self._address(view=window.view, date="", days=days),
            "view_urls": [
                (view.capitalize(), self._address(view=view, date=anchor, days=""), view == window.view)
                for view in VIEWS
            ],
            "paused_url": self._address(paused="" if paused else "1"),
            "clear_url": links.calendar(view=window.view, date=self.request.GET.get("date", "")),
            "feed_url": links.calendar_feeds(**filters.query),
        }

    def _anchor(self, window: Window, today: date) -> str:
        """The day that another view of this one shows: today, if it is in sight."""
        dates = [day.date for day in window.days if window.inside in (None, day.date.month)]
        return "" if today in dates else dates[0].isoformat()

    def _address(self, **changed: str) -> str:
        """This page with other parameters; what is not known is dropped."""
        known = ("view", "date", "days", "rack", "schedule", "operation", "paused")
        given = {name: self.request.GET.get(name, "") for name in known} | changed
        return links.calendar(**given)


def _rows(window: Window) -> int:
    """How many marks of a day a list shows, so that the page stays small whatever there is."""
    if window.view == "week":
        return WEEK_ROWS
    return DAY_ROWS if len(window.days) == 1 else max(LINES, LIST_ROWS // len(window.days))


def _drawn(cells: Sequence[Cell], view: View) -> list[Mark]:
    """The marks whose outcome is shown, on a large screen or a small one."""
    if view != "month":
        return [mark for cell in cells for mark in (cell.marks if view == "week" else cell.listed)]
    large = [mark for cell in cells for mark in cell.shown]
    small = [mark for _, mark in _from_today(cells)[:NARROW_ROWS]]
    return list({id(mark): mark for mark in (*large, *small)}.values())


def _from_today(cells: Sequence[Cell]) -> list[tuple[Cell, Mark]]:
    """For a small screen: the marks from today on, or all if today is not among the days."""
    start = next((place for place, cell in enumerate(cells) if cell.today), 0)
    return [(cell, mark) for cell in cells[start:] for mark in cell.marks]
