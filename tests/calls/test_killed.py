"""kill -9 of a worker around a request: what may be repeated is applied once, what may not is never sent twice (D-16).

What counts as applied is the sink's log, which is on disk before it answers; a key that it has seen is the same effect.
"""

from __future__ import annotations

import pytest
from django.core.management import call_command

from flowsched import clock
from tasks.services import task_acknowledge
from tests.calls.helpers import call, fired, runs_of, scheduled, tasks_of
from tests.dispatcher.helpers import BY
from tests.faults.harness import Product, killed, terminate, wait_for

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]
ENDED = {"completed", "failed", "terminated"}


@pytest.fixture
def product(tmp_path, site, settings):
    made = Product(tmp_path)
    made.endpoints = settings.FLOWSCHED_ENDPOINTS
    yield made
    made.stop()


def worker(product, faults: str = ""):
    return product.worker(faults, FLOWSCHED_ENDPOINTS=product.endpoints)


def effects(site, word: str) -> int:
    """How often it was applied: requests with one key count once, and so do GETs of one path."""
    return len({(r["key"], r["method"] != "GET" and not r["key"] and i) for i, r in enumerate(site.arrived(word))})


@pytest.mark.parametrize(
    ("method", "endpoint", "fault", "requests", "state"),
    [
        ("GET", "api", "call.before_send", 1, "succeeded"),
        ("GET", "api", "call.after_answer", 2, "succeeded"),
        ("POST", "keyed", "call.before_send", 1, "succeeded"),
        ("POST", "keyed", "call.after_answer", 2, "succeeded"),
        ("POST", "keyed", "run.before_finish", 2, "succeeded"),  # twice on the wire, once by its key
        ("POST", "api", "run.before_effect", 0, "unknown"),  # nobody can tell that it had not left
        ("POST", "api", "call.before_send", 0, "unknown"),
        ("POST", "api", "call.after_answer", 1, "unknown"),
        ("POST", "api", "run.before_finish", 1, "unknown"),
    ],
)
def test_a_worker_is_killed(product, site, *, method, endpoint, fault, requests, state):
    path, word = site.path("ok")
    schedule = scheduled(call(path, method, endpoint=endpoint, timeout=5))
    fired(schedule)
    first = worker(product, f"{fault}:kill9")
    assert killed(first, 40)
    second = worker(product)
    wait_for(lambda: runs_of(schedule)[0].state == state, 40, f"the run is {state}\n{product.logs()}")
    assert len(site.arrived(word)) == requests
    assert effects(site, word) == min(requests, 1)
    assert terminate(second) == 0
    task = tasks_of(schedule)[0]
    if state == "unknown":
        assert task.status == "running"
        assert "outcome unknown" in task.message
        task_acknowledge(task_id=task.id, as_="failed", by=BY, now=clock.now())
        assert tasks_of(schedule)[0].status == "failed"
        assert len(site.arrived(word)) == requests
    else:
        assert task.status == "completed"


def test_a_worker_is_killed_while_its_target_takes_long(product, site):
    """The request is on its way when the worker dies; the target acts all the same."""
    path, word = site.path("slow/1.5")
    schedules = {name: scheduled(call(path, "POST", endpoint=name, timeout=20)) for name in ("keyed", "api")}
    for schedule in schedules.values():
        fired(schedule)
    first = worker(product)
    wait_for(lambda: len(site.arrived(word)) == 2, 40, "both requests arrived")
    first.kill()
    second = worker(product)
    wait_for(lambda: runs_of(schedules["keyed"])[0].state == "succeeded", 40, product.logs())
    wait_for(lambda: runs_of(schedules["api"])[0].state == "unknown", 40, product.logs())
    assert terminate(second) == 0
    keys = [record["key"] for record in site.arrived(word)]
    assert sorted(map(str, keys)).count("None") == 1
    assert len(keys) == 3
    assert len(set(keys)) == 2


def test_an_orderly_end_gives_up_what_hangs_and_says_whether_it_had_left(product, site):
    """SIGTERM, and nothing comes within the drain time: what may be repeated goes to another worker."""
    path, word = site.path("hang")
    schedules = {name: scheduled(call(path, "POST", endpoint=name, timeout=120)) for name in ("keyed", "api")}
    for schedule in schedules.values():
        fired(schedule)
    first = product.worker("", FLOWSCHED_ENDPOINTS=product.endpoints, FLOWSCHED_DRAIN_TIMEOUT="0.5")
    wait_for(lambda: len(site.arrived(word)) == 2, 40, "both requests arrived")
    assert terminate(first, 20) == 0
    assert runs_of(schedules["api"])[0].state == "unknown"
    kept = runs_of(schedules["keyed"])[0]
    assert (kept.state, kept.lease_token) == ("running", None)


def test_a_cancel_reaches_the_worker_that_holds_the_call(product, site):
    """I-34: at once, and the record says whether the request may have left."""
    path, word = site.path("hang")
    schedule = scheduled(call(path, "POST", timeout=600))
    fired(schedule)
    holder = worker(product)
    wait_for(lambda: site.arrived(word), 40, "the request arrived")
    call_command("task", "cancel", str(tasks_of(schedule)[0].id), verbosity=0)
    wait_for(lambda: tasks_of(schedule)[0].status == "terminated", 10, product.logs())
    run = runs_of(schedule)[0]
    assert (run.state, run.call["error_type"]) == ("cancelled", "cancelled")
    assert "may already have been sent" in run.message
    assert terminate(holder) == 0
    assert len(site.arrived(word)) == 1


def test_calls_that_waited_for_a_place_are_carried_out_by_others(product, site, settings):
    """What waits in a process is lost with it, and found again."""
    path, word = site.path("slow/0.3")
    schedules = [scheduled(call(path, "GET", timeout=20)) for _ in range(30)]
    for schedule in schedules:
        fired(schedule)
    first = worker(product)
    wait_for(lambda: site.arrived(word), 40, "some arrived")
    first.kill()
    second = worker(product)
    wait_for(lambda: all(tasks_of(schedule)[0].status in ENDED for schedule in schedules), 60, product.logs())
    assert {tasks_of(schedule)[0].status for schedule in schedules} == {"completed"}
    assert terminate(second) == 0
