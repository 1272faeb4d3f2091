"""Racks of schedules in REST bodies."""

from __future__ import annotations

from flowsched.rest.fields import Strict, Text
from inventory.identifiers import MAX_NAME
from inventory.rest import Id, TargetSpecIn
from tasks.call_bodies import HttpCallIn
from tasks.rest import OperationIn


class TargetsIn(Strict):
    """The racks meant."""

    target_spec = TargetSpecIn()


class ConflictsIn(Strict):
    """An operation on some racks."""

    operation = OperationIn()
    target_spec = TargetSpecIn()
    exclude_schedule_id = Id(required=False, help_text="Leave this schedule out.")


class RackIn(Strict):
    """Which of a schedule's racks."""

    rack = Text(required=False, max_length=MAX_NAME, help_text="Its name; left out: the first, or none if it has none.")


class DryRunIn(Strict):
    """A call to render."""

    operation = HttpCallIn()
    target_spec = TargetSpecIn(required=False, help_text="Its first rack is in the templates' context.")
    name = Text(required=False, max_length=MAX_NAME, help_text="The schedule's name in the templates' context.")
