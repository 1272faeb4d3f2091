"""Calls in a row that were not made, or changed nothing: the schedule that goes on so is stopped, or spoken of (D-24).

Counted on the row, after each call has ended. A worker that dies between a call's end and its count loses that count,
and nothing else; the next call counts again.
"""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from flowsched.errors import NotFound
from schedules.services import schedule_disable
from tasks.states import RunState

logger = logging.getLogger(__name__)

# Rows that are right already are not written: most calls of most schedules end well, again and again.
_COUNT: Final = """
UPDATE task_schedule
   SET consecutive_skips = CASE WHEN %(skipped)s THEN consecutive_skips + 1 ELSE 0 END,
       consecutive_no_effect = CASE WHEN %(no_effect)s THEN consecutive_no_effect + 1 ELSE 0 END
 WHERE id = %(id)s AND (%(skipped)s OR %(no_effect)s OR consecutive_skips > 0 OR consecutive_no_effect > 0)
RETURNING name, consecutive_skips, consecutive_no_effect
"""


def call_ended(schedule_id: UUID, state: RunState, message: str, now: datetime, /) -> None:
    """Count a call; disable the schedule whose calls were skipped too often in a row, with the reason."""
    values: dict[str, UUID | bool] = {
        "id": schedule_id,
        "skipped": state is RunState.SKIPPED,
        "no_effect": state is RunState.NO_EFFECT,
    }
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_COUNT, values)
            row = cursor.fetchone()
        if row is None:
            return
        name, skips, no_effect = row
        if skips >= settings.FLOWSCHED_CALL_SKIPS_LIMIT:
            reason = f"{skips} calls in a row were not made; the last: {message}. Mend it, then resume"
            try:
                schedule_disable(schedule_id=schedule_id, reason=reason, now=now)
            except NotFound:
                return  # deleted meanwhile
    if no_effect >= settings.FLOWSCHED_CALL_NO_EFFECT_LIMIT:
        logger.warning("schedule %s: %d calls in a row changed nothing", name, no_effect)
