"""How pages show times, states and icons: the only way, so that all do it alike."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import lucide
from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from console import moments
from console.told import told as console_told
from console.words import WORDS
from schedules.zones import zone_names

register = template.Library()


@register.inclusion_tag("console/moment.html", takes_context=True)
def moment(
    context: Mapping[str, Any],
    at: datetime | None,
    *,
    other: str = "",
    none: str = "none",
    seconds: bool = False,
    compact: bool = False,
) -> dict[str, Any]:
    """A time cell. `other` is the schedule's own zone; `none` stands where there is no time, and says why."""
    if at is None:
        return {"none": none}
    zone_other = ZoneInfo(other) if other in zone_names() else None
    said = moments.moment(at, zone=context["zone"], now=context["now"], other=zone_other, seconds=seconds)
    return {"m": said, "compact": compact}


@register.simple_tag(takes_context=True)
def time_of_day(context: Mapping[str, Any], at: datetime) -> SafeString:
    """A time under a heading that says the day: `02:30 EST`."""
    iso = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return format_html('<time datetime="{}">{}</time>', iso, moments.clock(at, context["zone"]))


@register.inclusion_tag("console/badge.html", takes_context=True)
def badge(
    context: Mapping[str, Any], key: str, *, reason: str = "", count: int | None = None, url: str = ""
) -> dict[str, Any]:
    """A state of the vocabulary, with the sentence why beside it, a number before it, or as a link."""
    return {"word": WORDS[key], "reason": told(context, reason) if reason else "", "count": count, "url": url}


@register.simple_tag(takes_context=True)
def told(context: Mapping[str, Any], text: str) -> SafeString:
    """A sentence of a service: the tasks it names are links, the times it holds are the viewer's."""
    may_open = bool(context["can"].get("task_read"))
    return console_told(text, zone=context["zone"], now=context["now"], may_open=may_open)


@register.simple_tag
def icon(name: str, size: int = 16) -> SafeString:
    """An icon, which says nothing by itself."""
    svg = lucide._render_icon(name, int(size), aria_hidden="true", focusable="false")  # noqa: SLF001  its tag does this
    return mark_safe(svg)  # noqa: S308  from the package's files


@register.simple_tag
def plural(count: int, one: str, many: str = "") -> SafeString:
    """`1 rack`, `38 racks`."""
    return format_html("{} {}", count, one if count == 1 else many or f"{one}s")


@register.filter
def span(length: Any) -> str:
    """A length of time in words."""
    return moments.span(length)


@register.filter
def of(mapping: Mapping[str, Any], key: str) -> Any:
    """An entry of a mapping, or None."""
    return mapping.get(key)


@register.filter
def words(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


@register.filter
def spaced(key: str) -> str:
    """A key as words: `timed_out` as `timed out`."""
    return key.replace("_", " ")
