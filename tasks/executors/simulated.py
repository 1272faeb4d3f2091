"""An executor without hardware: it acts on the inventory's power state and firmware version, and on the effect log.

It behaves like a management controller. Powering on what is on changes nothing; a key is not remembered by the target,
so a restart whose answer was lost is in doubt (`honours_idempotency_key` is off). When a step is repeated after a
crash, the log says whether it was applied, and nothing is applied twice.

FLOWSCHED_SIMULATED names a JSON file, read again whenever it changes, that makes it slow or faulty:

    {"latency": 0.2,
     "components": {"rack-7": {"latency": 5}, "tray-1*": {"fail": 2}, "rack-9/nvswitch-0": {"hang": true}}}

`latency` is seconds a component (else FLOWSCHED_SIMULATED_LATENCY). A pattern (shell wildcards) matches a component's
name, its rack's, or `rack/component`; the first that matches counts. `fail` is how often a component fails before it
obeys, per task, or "always"; `retryable` false makes the failure final. `hang` never answers, until cancelled or out of
time.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models.functions import Now

from flowsched import clock
from flowsched.faults import fault
from inventory.components import PowerState
from inventory.models import Component, Rack
from tasks.executors.base import Capabilities, HardwareExecutor, Step, StepContext, StepResult, StepState, ordered
from tasks.executors.effects import effect_append, effect_known
from tasks.models import Task

logger = logging.getLogger(__name__)

HANG_SECONDS = 1.0  # how often a hang looks whether it may still hang
PROGRESS_PARTS = 4
FAILURES_KEPT = 10_000
TARGET_POWER = {
    "power_on": PowerState.ON,
    "force_power_on": PowerState.ON,
    "bring_up": PowerState.ON,
    "power_off": PowerState.OFF,
    "force_power_off": PowerState.OFF,
}
RESTARTS = frozenset({"restart", "force_restart", "warm_reset", "cold_reset"})
FIRMWARE = frozenset({"upgrade", "downgrade", "rollback"})


@dataclass(frozen=True, slots=True)
class Manners:
    """How one component behaves."""

    latency: float
    fail: float = 0  # times; infinity for always
    retryable: bool = True
    hang: bool = False


class SimulatedExecutor(HardwareExecutor):
    """See the module."""

    name = "simulated"
    capabilities = Capabilities(progress=True, cancellable=True, honours_idempotency_key=False)

    def __init__(self) -> None:
        self._manners = MannersFile()
        self._failures: Counter[tuple[UUID, UUID]] = Counter()
        self._lock = threading.Lock()

    def plan(self, task: Task) -> list[Step]:
        """One step a component, in physical order; what left the inventory or the rack since is planned as gone."""
        wanted = [UUID(str(i)) for ids in task.attributes.get("components_by_type", {}).values() for i in ids]
        found = {c.id: c for c in Component.objects.filter(id__in=wanted, deleted_at=None)}
        steps = [_step(task, component_id, found.get(component_id)) for component_id in dict.fromkeys(wanted)]
        return ordered(steps, code=task.code)

    def apply(self, step: Step, context: StepContext) -> StepResult:
        """Carry out one step on the component as it is now."""
        if step.gone:
            return StepResult(StepState.NO_EFFECT, step.gone)
        manners = self._manners.of(step)
        self._pass_time(manners, context)
        component = Component.objects.filter(id=step.component_id, deleted_at=None).first()
        gone = _gone(component, step.rack_id, step.rack_name)
        if component is None or gone:
            return StepResult(StepState.NO_EFFECT, gone)
        change = _change(component, step)
        log: Path = settings.FLOWSCHED_EFFECT_LOG
        applied = context.repeated and effect_known(log, context.key)
        if not applied:
            if not change:
                return StepResult(StepState.NO_EFFECT, f"already {_wanted_state(step)}")
            if self._fails(manners, step, context):
                return StepResult(StepState.FAILED, "simulated failure", retryable=manners.retryable)
            context.guard()
            effect_append(log, _record(step, context))
            fault("effect.after_log")
        _store(component, change)
        return StepResult(StepState.CHANGED, "applied before the interruption" if applied else "")

    def _pass_time(self, manners: Manners, context: StepContext) -> None:
        while manners.hang:
            context.wait(HANG_SECONDS)
        for part in range(1, PROGRESS_PARTS + 1):
            context.wait(manners.latency / PROGRESS_PARTS)
            context.progress(part * 100 // PROGRESS_PARTS)

    def _fails(self, manners: Manners, step: Step, context: StepContext) -> bool:
        if not manners.fail:
            return False
        with self._lock:
            if len(self._failures) > FAILURES_KEPT:
                self._failures.clear()
            self._failures[context.task_id, step.component_id] += 1
            return self._failures[context.task_id, step.component_id] <= manners.fail


class MannersFile:
    """The file FLOWSCHED_SIMULATED names, read again when it changes; none is fine, a broken one is reported."""

    def __init__(self) -> None:
        self._seen: tuple[Path, int, int] | None = None
        self._content: dict[str, Any] = {}

    def of(self, step: Step) -> Manners:
        """How the step's component behaves."""
        content = self._read()
        latency = float(content.get("latency", settings.FLOWSCHED_SIMULATED_LATENCY.total_seconds()))
        names = (step.name, step.rack_name, f"{step.rack_name}/{step.name}")
        for pattern, said in content.get("components", {}).items():
            if any(fnmatchcase(name, pattern) for name in names):
                fail = said.get("fail", 0)
                return Manners(
                    latency=float(said.get("latency", latency)),
                    fail=float("inf") if fail == "always" else float(fail),
                    retryable=bool(said.get("retryable", True)),
                    hang=bool(said.get("hang", False)),
                )
        return Manners(latency=latency)

    def _read(self) -> dict[str, Any]:
        path: Path = settings.FLOWSCHED_SIMULATED
        try:
            status = path.stat()
            seen = (path, status.st_mtime_ns, status.st_size)
            if seen != self._seen:
                self._seen, self._content = seen, dict(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError) as error:
            logger.warning("FLOWSCHED_SIMULATED=%s cannot be read and is ignored: %s", path, error)
            return {}
        return self._content


def _step(task: Task, component_id: UUID, component: Component | None) -> Step:
    return Step(
        component_id=component_id,
        name=component.name if component else str(component_id),
        type=component.type if component else "",
        action=task.code,
        rack_id=task.rack_id,
        rack_name=task.rack_name,
        parameters=dict(task.information),
        gone=_gone(component, task.rack_id, task.rack_name),
    )


def _gone(component: Component | None, rack_id: UUID | None, rack_name: str) -> str:
    """Why there is nothing to act on; a component that moved belongs to another rack's lane now."""
    if component is None:
        return "no longer in the inventory"
    return f"no longer in rack {rack_name}" if rack_id is not None and component.rack_id != rack_id else ""


def _change(component: Component, step: Step) -> dict[str, Any]:
    """The columns the step changes; empty when the component is as wanted."""
    if step.action in TARGET_POWER:
        wanted = TARGET_POWER[step.action]
        return {} if component.power_state == wanted else {"power_state": wanted.value}
    if step.action in RESTARTS:
        return {"power_state": PowerState.ON.value}
    if step.action in FIRMWARE:
        version = str(step.parameters.get("target_version") or _next_version(component.firmware_version))
        return {} if component.firmware_version == version else {"firmware_version": version}
    if step.action == "ingest":
        return {} if component.ingested_at else {"ingested_at": Now()}
    return {}


def _wanted_state(step: Step) -> str:
    if step.action in TARGET_POWER:
        return TARGET_POWER[step.action].value
    if step.action in FIRMWARE:
        return f"at {step.parameters.get('target_version', 'its version')}"
    return "ingested" if step.action == "ingest" else f"done: '{step.action}' changes nothing here"


def _next_version(version: str) -> str:
    """`1.2` → `1.3`: an upgrade without a target takes the newest there is, and there is always one."""
    head, dot, last = version.rpartition(".")
    if last.isdigit():
        return f"{head}{dot}{int(last) + 1}"
    return f"{version}.1" if version else "1"


def _record(step: Step, context: StepContext) -> dict[str, Any]:
    return {
        "key": context.key,
        "task": str(context.task_id),
        "component": str(step.component_id),
        "name": step.name,
        "rack": step.rack_name,
        "action": step.action,
        "applied": True,
        "at": clock.now().isoformat(),
        "pid": os.getpid(),
    }


def _store(component: Component, change: dict[str, Any]) -> None:
    """What the device is now, in a transaction of its own: it is true whatever becomes of the run."""
    if not change:
        return
    Component.objects.filter(id=component.id).update(updated_at=Now(), **change)
    if "ingested_at" in change and component.rack_id:
        waiting = Component.objects.filter(rack_id=component.rack_id, deleted_at=None, ingested_at=None)
        if not waiting.exists():
            Rack.objects.filter(id=component.rack_id).update(
                status=Rack.Status.INGESTED, ingested_at=Now(), updated_at=Now()
            )
