"""Idempotency keys: one request a key and user for 24 hours, also of two at once, then forgotten."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from access.idempotency import KEPT, begin, finish, keys_forget
from access.models import IdempotencyKey
from dispatcher.loop import Loop
from flowsched import clock
from flowsched.errors import InvalidInput, KeyReused
from tests.rest.helpers import make_user
from tests.schedules.helpers import NOW
from tests.tasks.admission.helpers import in_threads

pytestmark = pytest.mark.django_db
SECOND = timedelta(seconds=1)


@pytest.fixture
def user(db):
    return User.objects.get(username=make_user(name="ann")).pk


def noted(user, key="k", request="POST /api/v1/tasks/", body=None, now=NOW):
    return begin(user_id=user, key=key, request=request, body={"a": 1} if body is None else body, now=now)


def test_the_first_answer_comes_again(user):
    first = noted(user)
    assert first.answer is None
    assert noted(user, now=NOW + SECOND) == first, "the same id for the service, until there is an answer"
    finish(first, status=201, body={"id": "x", "none": None})
    again = noted(user, now=NOW + 2 * SECOND)
    assert (again.id, again.answer.status, again.answer.body) == (first.id, 201, {"id": "x", "none": None})


def test_an_answer_without_a_body_comes_again(user):
    finish(noted(user), status=204, body=None)
    assert (noted(user).answer.status, noted(user).answer.body) == (204, None)


@pytest.mark.parametrize(
    "other",
    [{"request": "PUT /api/v1/tasks/"}, {"request": "POST /api/v1/schedules/"}, {"body": {"a": 2}}, {"body": {}},
     {"body": []}, {"body": {"a": "1"}}, {"body": {"a": 1, "b": None}}, {"body": {"a": True}}, {"body": {"a": 1.5}}],
)  # fmt: skip
def test_another_request_under_the_key_is_refused(user, other):
    """Method, path and body are what a request is."""
    first = noted(user)
    with pytest.raises(KeyReused) as caught:
        noted(user, **other)
    assert caught.value.field == "Idempotency-Key"
    assert noted(user) == first


def test_the_order_of_keys_in_a_body_is_no_difference(user):
    assert noted(user, body={"a": 1, "b": 2}) == noted(user, body={"b": 2, "a": 1})


def test_keys_are_a_users_own(user):
    other = User.objects.get(username=make_user(name="bob")).pk
    assert noted(user).id != noted(other, body={"b": 2}).id


def test_after_24_hours_it_is_a_new_request(user):
    """Another id too: the service must not answer what it did a day before."""
    first = noted(user)
    finish(first, status=201, body={})
    assert noted(user, now=NOW + KEPT).answer is not None
    later = noted(user, body={"b": 2}, now=NOW + KEPT + SECOND)
    assert later.answer is None
    assert later.id != first.id
    assert IdempotencyKey.objects.count() == 1


@pytest.mark.parametrize("key", ["", "x" * 256, "a\nb", "\u00e9", "a\x00", "\x7f"])
def test_what_is_no_key(user, key):
    with pytest.raises(InvalidInput):
        noted(user, key=key)
    assert not IdempotencyKey.objects.exists()


def test_keys_at_their_limits(user):
    assert noted(user, key="x" * 255).id != noted(user, key=" ").id


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_all_get_the_same_id(user):
    found = in_threads(*[lambda: noted(user) for _ in range(8)])
    assert len({(one.row, one.id, one.answer) for one in found}) == 1
    assert IdempotencyKey.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_requests_at_once_under_a_key_one_is_refused(user):
    found = in_threads(*[lambda n=n: noted(user, body={"n": n}) for n in range(6)])
    assert sum(isinstance(one, KeyReused) for one in found) == 5


def test_old_keys_are_forgotten_and_young_ones_kept(user):
    for hours in (0, 1, 24, 25, 48):
        noted(user, key=str(hours), now=NOW - timedelta(hours=hours))
    assert keys_forget(now=NOW, limit=1) == 1
    assert keys_forget(now=NOW) == 1
    assert set(IdempotencyKey.objects.values_list("key", flat=True)) == {"0", "1", "24"}
    assert keys_forget(now=NOW) == 0


def test_the_dispatcher_forgets_them(user):
    now = clock.now()
    noted(user, key="old", now=now - KEPT - SECOND)
    noted(user, key="new", now=now)
    Loop(batch_size=10, poll_interval=10.0, clock=lambda: 1e9)._slow_chores(now)
    assert list(IdempotencyKey.objects.values_list("key", flat=True)) == ["new"]
