"""Racks of schedules in REST bodies."""

from __future__ import annotations

from flowsched.rest.fields import Strict
from inventory.rest import Id, TargetSpecIn
from tasks.rest import OperationIn


class TargetsIn(Strict):
    """The racks meant."""

    target_spec = TargetSpecIn()


class ConflictsIn(Strict):
    """An operation on some racks."""

    operation = OperationIn()
    target_spec = TargetSpecIn()
    exclude_schedule_id = Id(required=False, help_text="Leave this schedule out.")
