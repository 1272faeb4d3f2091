"""The calendar: what ran and what will run, by day; and the same as a feed for the team's own calendar."""

from console.calendar.page import CalendarPage

__all__ = ["CalendarPage"]
