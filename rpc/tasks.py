"""The methods of tasks: list, look up, cancel (F-170…F-172)."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping
from typing import Final
from uuid import UUID

from django.conf import settings

from flowsched.errors import InvalidInput
from rpc.call import Call, Method
from rpc.convert_in import fields_named, optional_id, read_id, required_id
from rpc.convert_out import task_out
from rpc.proto import flow_pb2 as pb
from tasks.models import Task
from tasks.selectors import task_get, tasks_by_ids, tasks_list
from tasks.services import task_cancel
from tasks.states import FINISHED

DEFAULT_LIMIT: Final = 100
MAX_IDS: Final = 1_000
ANSWER_IN: Final = 0.5  # seconds before a call's deadline in which CancelTask answers whatever it knows
FIRST_LOOK: Final = 0.05  # seconds, doubled at each look
SLOWEST_LOOK: Final = 1.0

# CancelTask waits in a thread of the server. Half of them may, so that the rest go on serving.
_waiting: Final = threading.BoundedSemaphore(max(1, settings.FLOWSCHED_GRPC_THREADS // 2))


def list_tasks(call: Call, request: pb.ListTasksRequest) -> pb.ListTasksResponse:
    """A page of tasks, the newest first (F-170). No task of ours has a report, so `with_report` changes nothing."""
    rack_id, component_id = optional_id(request, "rack_id"), optional_id(request, "component_id")
    given = request.HasField("pagination")
    with fields_named({"limit": "pagination.limit", "offset": "pagination.offset"}):
        rows, total = tasks_list(
            rack=rack_id,
            component_id=component_id,
            active=request.active_only,
            limit=request.pagination.limit if given else DEFAULT_LIMIT,
            offset=request.pagination.offset,
        )
    return pb.ListTasksResponse(tasks=[task_out(row) for row in rows], total=total)


def get_tasks_by_ids(call: Call, request: pb.GetTasksByIDsRequest) -> pb.GetTasksByIDsResponse:
    """The tasks in the order asked for, repeated where asked for twice; unknown ids are left out (F-171)."""
    if len(request.task_ids) > MAX_IDS:
        raise InvalidInput(
            f"{len(request.task_ids)} ids are more than the {MAX_IDS} of one call: split them", field="task_ids"
        )
    ids = [read_id(one, f"task_ids[{place}]") for place, one in enumerate(request.task_ids)]
    return pb.GetTasksByIDsResponse(tasks=[task_out(task) for task in tasks_by_ids(ids)])


def cancel_task(call: Call, request: pb.CancelTaskRequest) -> pb.CancelTaskResponse:
    """Cancel a task; the task as it is afterwards (F-172, D-16).

    Cancelling one that is running is a request to its worker. Flow's clients expect the end of it, so the call waits
    until the task has ended, or its own time is nearly over: then the task is answered as it is, still running, and
    the request stands.
    """
    task = task_cancel(task_id=required_id(request, "task_id"), by=call.by, now=call.now)
    if task.status not in FINISHED and _waiting.acquire(blocking=False):
        try:
            task = _ended(task.id, call)
        finally:
            _waiting.release()
    return pb.CancelTaskResponse(task=task_out(task))


def _ended(task_id: UUID, call: Call) -> Task:
    """The task once it has ended or the call's time is up: looked at again and again, in no transaction."""
    limit = settings.FLOWSCHED_GRPC_DEADLINE.total_seconds()
    until = time.monotonic() + min(limit, call.context.time_remaining()) - ANSWER_IN
    pause = FIRST_LOOK
    while True:
        left = until - time.monotonic()
        time.sleep(max(0.0, min(left, pause * random.uniform(0.8, 1.0))))  # noqa: S311 - jitter
        task = task_get(task_id)
        if task.status in FINISHED or left <= 0 or not call.context.is_active():
            return task
        pause = min(2 * pause, SLOWEST_LOOK)


METHODS: Final[Mapping[str, Method]] = {
    "ListTasks": Method("task.read", list_tasks),
    "GetTasksByIDs": Method("task.read", get_tasks_by_ids),
    "CancelTask": Method("task.cancel", cancel_task),
}
