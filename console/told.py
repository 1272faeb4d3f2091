"""Sentences of the services as pages show them: a task they name is a link, a time they hold is in the viewer's zone.

Services write for every door: ids in full and times in RFC 3339. Nothing else of a sentence is touched, and all of it
is escaped.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from console import links, moments

_HEX: Final = "[0-9a-f]"
_TASK: Final = rf"(?<=\btask ){_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}\b"
_TIME: Final = r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?:Z|\+00:00)"
_PART: Final = re.compile(f"({_TASK}|{_TIME})")


def told(text: str, *, zone: ZoneInfo, now: datetime, may_open: bool) -> SafeString:
    """The sentence; with `may_open` its tasks are links."""
    if isinstance(text, SafeString):
        return text
    parts = _PART.split(str(text))
    shown = [_shown(part, zone, now, may_open=may_open) if odd % 2 else escape(part) for odd, part in enumerate(parts)]
    return mark_safe("".join(shown))  # noqa: S308  each part is escaped


def _shown(part: str, zone: ZoneInfo, now: datetime, *, may_open: bool) -> str:
    if "T" not in part:
        return format_html('<a href="{}">{}</a>', links.task(part), part[:8]) if may_open else part[:8]
    try:
        at = datetime.fromisoformat(part).astimezone(UTC)
    except ValueError:
        return escape(part)
    said = moments.moment(at, zone=zone, now=now, seconds=True)
    return format_html('<time datetime="{}">{}</time>', said.iso, said.text)
