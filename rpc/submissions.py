"""The methods that act at once: one task a rack, submitted now (F-165…F-169, D-13, D-18)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from inventory.selectors import targets_resolve
from rpc.call import Call, Method
from rpc.operations_in import RackRequest, operation_in
from rpc.proto import flow_pb2 as pb
from rpc.refusals import trail_refusals
from tasks.services import refusals_of, submission_refusal, task_submit


def submit(call: Call, request: RackRequest) -> pb.SubmitTaskResponse:
    """Submit what `request` asks for; the ids of the tasks in the order of its racks.

    A rack named repeatedly is one (F-245). Racks that refuse are in the trailing metadata, or in the error if all did.
    """
    asked = operation_in(request)
    with asked.fields():
        outcomes = task_submit(
            operation=asked.operation,
            targets=targets_resolve(asked.targets, merge=True),
            description=request.description,
            queue=asked.queue,
            queue_timeout=asked.queue_timeout,
            by=call.by,
            now=call.now,
        )
    accepted = [outcome.task_id for outcome in outcomes if outcome.task_id is not None]
    if not accepted:
        raise submission_refusal(outcomes)
    trail_refusals(call.context, refusals_of(outcomes))
    return pb.SubmitTaskResponse(task_ids=[pb.UUID(id=str(task_id)) for task_id in accepted])


METHODS: Final[Mapping[str, Method]] = {
    name: Method("task.submit", submit)
    for name in (
        "PowerOnRack",
        "PowerOffRack",
        "PowerResetRack",
        "ACPowerCycleRack",
        "BringUpRack",
        "IngestRack",
        "UpgradeFirmware",
    )
}
