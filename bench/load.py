"""The load of `bench.doors`: a process of its own, so that its threads do not compete with a server's for one lock.

`python -m bench.load` reads a job from stdin and prints what came of it, both as JSON. A job is one kind of call, made
over and over by some threads, each on a connection of its own, for some seconds.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import grpc

BODY = {
    "spec": {"type": "interval", "spec": "24h"},
    "operation": {"type": "power_on"},
    "target_spec": {"racks": [{"name": "demo-0001"}]},
}


def http_caller(job: dict[str, Any]) -> Callable[[], None]:
    """One request on a kept connection; `create` posts a schedule with a name of its own."""
    connection = http.client.HTTPConnection(job["host"], timeout=30)
    headers = {"Authorization": f"Bearer {job['token']}", "Content-Type": "application/json"}

    def call() -> None:
        body = json.dumps(BODY | {"name": str(uuid.uuid4())}) if job["create"] else None
        connection.request("POST" if body else "GET", job["path"], body, headers)
        response = connection.getresponse()
        answer = response.read()
        if response.status >= 400:
            raise SystemExit(f"{job['path']} answered {response.status}: {answer[:300]!r}")

    return call


def grpc_caller(job: dict[str, Any]) -> Callable[[], None]:
    """One call on a channel of its own."""
    from rpc.proto import flow_pb2  # noqa: PLC0415  the bare method needs none of it

    channel = grpc.insecure_channel(job["host"], options=[("grpc.use_local_subchannel_pool", 1)])
    stub = channel.unary_unary(job["path"])
    metadata = [("authorization", f"Bearer {job['token']}")]
    identity = flow_pb2.UUID(id=job.get("id", ""))
    racks = flow_pb2.RackTargets(targets=[flow_pb2.RackTarget(name="demo-0001")])
    power = flow_pb2.PowerOnRackRequest(target_spec=flow_pb2.OperationTargetSpec(racks=racks))
    spec = flow_pb2.ScheduleSpec(type=flow_pb2.SCHEDULE_SPEC_TYPE_INTERVAL, spec="24h")

    def call() -> None:
        if job["create"]:
            config = flow_pb2.ScheduleConfig(name=str(uuid.uuid4()), spec=spec)
            request: Any = flow_pb2.CreateTaskScheduleRequest(
                schedule=config, operation=flow_pb2.ScheduledOperation(power_on=power)
            )
        else:
            request = flow_pb2.GetTaskScheduleRequest(id=identity)
        stub(request.SerializeToString(), timeout=30, metadata=metadata)

    return call


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Latencies in seconds, sorted, and for how long they were measured."""
    make = http_caller if job["kind"] == "http" else grpc_caller
    latencies: list[list[float]] = [[] for _ in range(job["threads"])]
    start = threading.Barrier(job["threads"] + 1)
    stop = threading.Event()

    def work(found: list[float]) -> None:
        call = make(job)
        call()  # connected
        start.wait()
        while not stop.is_set():
            began = time.perf_counter()
            call()
            found.append(time.perf_counter() - began)

    threads = [threading.Thread(target=work, args=(found,), daemon=True) for found in latencies]
    for thread in threads:
        thread.start()
    start.wait(30)
    began = time.perf_counter()
    time.sleep(job["seconds"])
    stop.set()
    for thread in threads:
        thread.join()
    return {"seconds": time.perf_counter() - began, "latencies": sorted(one for found in latencies for one in found)}


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
