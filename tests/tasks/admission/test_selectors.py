from uuid import UUID, uuid4

import pytest

from flowsched.errors import InvalidInput, NotFound
from inventory.models import Rack
from tasks.models import Task
from tasks.selectors import task_get, tasks_by_ids, tasks_list
from tests.tasks.admission.helpers import NOW, SECOND, admit_one, make_rack, parts

pytestmark = pytest.mark.django_db


def bare(task_id=None, **values):
    return Task.objects.create(
        id=task_id or uuid4(),
        type="power_control",
        code="restart",
        executor_type="x",
        lane=uuid4(),
        status="pending",
        **values,
    )


def test_by_id_or_its_beginning():
    task = bare(UUID("12345678-1234-4234-8234-123456789abc"))
    for name in (task.id, str(task.id), task.id.hex, "1234", "12345678-12", "123456781234"):
        assert task_get(name) == task


@pytest.mark.parametrize("name", ["123", "", "xyz1", "1234" * 9, "%%%%"])
def test_what_is_no_id(name):
    with pytest.raises(InvalidInput):
        task_get(name)


def test_a_beginning_of_several_ids():
    bare(UUID("12345678-1234-4234-8234-123456789abc"))
    other = bare(UUID("12345678-1234-4234-8234-123456789abd"))
    with pytest.raises(InvalidInput, match="several"):
        task_get("1234")
    assert task_get(str(other.id)) == other


@pytest.mark.parametrize("name", ["abcd", uuid4()])
def test_nothing_there(name):
    with pytest.raises(NotFound):
        task_get(name)


def test_newest_first_and_paged():
    """F-170: created_at descending, then id; a total."""
    tasks = [bare(created_at=NOW + n * SECOND) for n in (0, 1, 1, 2)]
    expected = sorted(tasks, key=lambda t: (t.created_at, t.id), reverse=True)
    assert tasks_list() == (expected, 4)
    assert tasks_list(limit=2, offset=1) == (expected[1:3], 4)
    assert tasks_list(offset=9) == ([], 4)


@pytest.mark.parametrize("page", [{"limit": 0}, {"limit": -1}, {"limit": 1001}, {"offset": -1}])
def test_pages_that_make_no_sense(page):
    """F-170."""
    with pytest.raises(InvalidInput):
        tasks_list(**page)


def test_filters():
    """F-170: rack, component, active; schedule and status besides."""
    rack, other = make_rack(Compute=2), make_rack("r02")
    schedule = uuid4()
    one = admit_one(rack, schedule_id=schedule, schedule_name="Nightly")
    two = admit_one(rack, queue=True)
    three = admit_one(other)
    Task.objects.filter(id=three.id).update(status="completed", finished_at=NOW)

    def found(**filters):
        return {t.id for t in tasks_list(**filters)[0]}

    assert found(rack=rack.id) == found(rack="r01") == found(rack=str(rack.id)) == {one.id, two.id}
    assert found(schedule=schedule) == found(schedule="Nightly") == found(schedule=str(schedule)) == {one.id}
    assert found(statuses=["waiting", "completed"]) == {two.id, three.id}
    assert found(active=True) == {one.id, two.id}
    assert found(component_id=parts(other)[0]) == {three.id}
    assert found(component_id=parts(other)[0], rack=rack.id) == set()
    with pytest.raises(InvalidInput):
        tasks_list(statuses=["nonsense"])


def test_a_rack_that_is_gone_is_found_by_the_name_its_tasks_kept():
    rack = make_rack()
    task = admit_one(rack)
    Rack.objects.filter(id=rack.id).update(name="renamed")
    assert tasks_list(rack="r01")[0] == tasks_list(rack="renamed")[0] == [task]
    with pytest.raises(NotFound, match="r77"):
        tasks_list(rack="r77")


def test_by_ids_in_request_order():
    """F-171: duplicates repeated, unknown ids left out."""
    one, two = bare(), bare()
    assert tasks_by_ids([two.id, one.id, uuid4(), two.id]) == [two, one, two]
