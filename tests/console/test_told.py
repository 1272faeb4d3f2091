"""Sentences of the services on pages: tasks they name are links, times are the viewer's, all else is escaped text."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from django.utils.html import format_html

from console.told import told

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
TASK = "8c1f0000-0000-4000-8000-00000000000a"


def said(text: str, *, may_open: bool = True) -> str:
    return told(text, zone=ZoneInfo("America/New_York"), now=NOW, may_open=may_open)


def test_a_task_is_a_link_for_who_may_open_it():
    assert said(f"busy (task {TASK})") == f'busy (task <a href="/admin/tasks/{TASK}/">8c1f0000</a>)'
    assert said(f"busy (task {TASK})", may_open=False) == "busy (task 8c1f0000)"
    assert said(f"rack {TASK}") == f"rack {TASK}"


def test_a_time_is_the_viewers():
    shown = 'since <time datetime="2026-03-01T07:30:04Z">Sun 1 Mar 02:30:04 EST</time>.'
    assert said("since 2026-03-01T07:30:04Z.") == shown
    assert said("since 2026-03-01T07:30:04.125+00:00.") == shown


@pytest.mark.parametrize("text", ["2026-13-45T99:99:99Z", "20260301", "task 8c1f0000", ""])
def test_what_is_neither_stays(text):
    assert said(text) == text


def test_markup_is_text_and_what_is_safe_stays():
    assert said("<b>2026-03-01T07:30:04Z").startswith('&lt;b&gt;<time datetime="2026-03-01T07:30:04Z">')
    assert said(format_html("<i>{}</i>", "x")) == "<i>x</i>"
