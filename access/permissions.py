"""Which Django permission each verb takes (D-22): one table, read by every door that knows its caller.

A verb that is missing here is refused to everybody but superusers: a new one is closed until somebody opens it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PERMISSIONS: Final[Mapping[str, str]] = {
    "schedule.read": "schedules.view_taskschedule",
    "schedule.check_conflicts": "schedules.view_taskschedule",
    "schedule.create": "schedules.add_taskschedule",
    "schedule.update": "schedules.change_taskschedule",
    "schedule.pause": "schedules.change_taskschedule",
    "schedule.resume": "schedules.change_taskschedule",
    "schedule.delete": "schedules.delete_taskschedule",
    "schedule.trigger": "schedules.trigger_taskschedule",
    "scope.read": "scopes.view_taskschedulescope",
    "scope.add": "scopes.add_taskschedulescope",
    "scope.reconcile": "scopes.change_taskschedulescope",
    "scope.remove": "scopes.delete_taskschedulescope",
    "feed.create": "schedules.view_taskschedule",  # whoever may read the plan may take it along
    "feed.revoke": "schedules.view_taskschedule",
    "firing.read": "dispatcher.view_firing",
    "audit.read": "audit.view_auditentry",
    "task.read": "tasks.view_task",
    "task.submit": "tasks.add_task",
    "task.cancel": "tasks.cancel_task",
    "task.acknowledge": "tasks.acknowledge_task",
    "rack.read": "inventory.view_rack",
    "rack.create": "inventory.add_rack",
    "component.read": "inventory.view_component",
    "component.create": "inventory.add_component",
    "nvl_domain.read": "inventory.view_nvldomain",
    "nvl_domain.create": "inventory.add_nvldomain",
    "nvl_domain.attach": "inventory.change_nvldomain",
    "nvl_domain.detach": "inventory.change_nvldomain",
}

# The verb of letting a schedule call an endpoint is this and the endpoint's name. One permission opens all of them, and
# each has one of its own, made by `migrate` for the endpoints that are configured then (I-88).
ENDPOINT_USE: Final = "endpoint.use:"
USE_ANY_ENDPOINT: Final = "tasks.use_endpoint"


def permissions_for(verb: str) -> tuple[str, ...]:
    """The permissions of which one is enough for the verb; none for a verb that is closed."""
    if verb.startswith(ENDPOINT_USE):
        return (USE_ANY_ENDPOINT, f"{USE_ANY_ENDPOINT}_{verb.removeprefix(ENDPOINT_USE)}")
    return (PERMISSIONS[verb],) if verb in PERMISSIONS else ()


_READ: Final = tuple(dict.fromkeys(permission for permission in PERMISSIONS.values() if ".view_" in permission))
_OPERATE: Final = (
    *_READ,
    "schedules.change_taskschedule",
    "schedules.trigger_taskschedule",
    "tasks.add_task",
    "tasks.cancel_task",
    "tasks.acknowledge_task",
)

# Groups that `manage.py user add --role` makes when they are missing; afterwards they are the site's own to change.
ROLES: Final[Mapping[str, tuple[str, ...]]] = {
    "viewer": _READ,
    "operator": _OPERATE,
    "planner": (
        *_OPERATE,
        "schedules.add_taskschedule",
        "schedules.delete_taskschedule",
        "scopes.add_taskschedulescope",
        "scopes.change_taskschedulescope",
        "scopes.delete_taskschedulescope",
    ),
    "inventory": (
        *_READ,
        "inventory.add_rack",
        "inventory.add_component",
        "inventory.add_nvldomain",
        "inventory.change_nvldomain",
    ),
}
