"""Users, roles and `require`: who may what, and that a refusal is recorded and changes nothing (D-22)."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, Permission, User

from access.callers import by_username, require
from access.permissions import PERMISSIONS, ROLES
from access.services import user_create
from audit.models import AuditEntry
from flowsched import clock
from flowsched.actor import Door
from flowsched.errors import AlreadyExists, InvalidInput, PermissionDenied, Unauthenticated
from tests.rest.helpers import ROOT, caller, make_user

pytestmark = pytest.mark.django_db

OPERATE = {"schedule.update", "schedule.pause", "schedule.resume", "schedule.trigger",
           "task.submit", "task.cancel", "task.acknowledge"}  # fmt: skip
PLAN = {"schedule.create", "schedule.delete", "scope.add", "scope.reconcile", "scope.remove"}
STOCK = {"rack.create", "component.create", "nvl_domain.create", "nvl_domain.attach", "nvl_domain.detach"}
FEEDS = {"feed.create", "feed.revoke"}  # whoever may read the plan may take it along
READ = {verb for verb in PERMISSIONS if verb.endswith(".read")} | {"schedule.check_conflicts"} | FEEDS


@pytest.mark.parametrize(
    ("roles", "verbs"),
    [
        ((), set()),
        (("viewer",), READ),
        (("operator",), READ | OPERATE),
        (("planner",), READ | OPERATE | PLAN),
        (("inventory",), READ | STOCK),
        (("planner", "inventory", "planner"), READ | OPERATE | PLAN | STOCK),
    ],
)
def test_what_each_role_may(roles, verbs):
    one = caller(*roles)
    assert {verb for verb in PERMISSIONS if one.may(verb)} == verbs


def test_every_verb_belongs_to_a_role_and_to_this_test():
    assert set(PERMISSIONS) == READ | OPERATE | PLAN | STOCK
    held = {permission for permissions in ROLES.values() for permission in permissions}
    assert set(PERMISSIONS.values()) == held


def test_unknown_verbs_are_closed_to_all_but_superusers():
    assert not caller("planner", "inventory").may("rack.melt")
    assert caller(superuser=True).may("rack.melt")
    with pytest.raises(PermissionDenied, match=r"rack\.melt"):
        require(caller("planner"), "rack.melt", door=Door.GRPC)


def test_a_refusal_is_recorded_and_raised():
    """Actor, door, verb, object and request; a schedule's racks belong to the schedule."""
    one = caller("viewer", name="vera")
    require(one, "task.read", door=Door.REST)
    require(one, ("task.read", "schedule.read"), door=Door.REST)
    assert not AuditEntry.objects.filter(actor="vera").exists()
    for verb, kind in (("task.cancel", "task"), ("scope.add", "schedule"), ("nvl_domain.attach", "nvl_domain")):
        with pytest.raises(PermissionDenied) as caught:
            require(one, ("task.read", verb), door=Door.GRPC, request_id="r-1", object_id="o-1")
        assert caught.value.reason == PERMISSIONS[verb]
        assert "vera" in caught.value.message
        assert PERMISSIONS[verb] in caught.value.message
        entry = AuditEntry.objects.order_by("-id")[0]
        assert (entry.actor, entry.door, entry.verb, entry.object_kind) == ("vera", "grpc", verb, kind)
        assert (entry.object_id, entry.request_id, entry.before, entry.after) == ("o-1", "r-1", None, None)
        assert entry.refused == caught.value.message
        assert entry.at == one.now


def test_a_role_is_made_once_and_then_the_sites_own():
    """What an administrator takes from a group stays taken."""
    make_user("operator")
    Group.objects.get(name="operator").permissions.remove(Permission.objects.get(codename="cancel_task"))
    one = caller("operator")
    assert one.may("task.submit")
    assert not one.may("task.cancel")
    assert Group.objects.filter(name="operator").count() == 1


def test_permissions_count_at_once():
    name = make_user("viewer", name="vera")
    User.objects.get(username=name).groups.clear()
    assert by_username(name).permissions == frozenset()
    User.objects.filter(username=name).update(is_active=False)
    with pytest.raises(Unauthenticated):
        by_username(name)


def test_a_user_of_automation_has_no_password():
    make_user("viewer", name="robot")
    user = User.objects.get(username="robot")
    assert not user.has_usable_password()
    assert not user.is_staff
    assert not user.is_superuser
    entry = AuditEntry.objects.get(verb="user.create")
    assert (entry.object_id, entry.object_name, entry.after) == (str(user.pk), "robot", {"roles": ["viewer"]})


@pytest.mark.parametrize("name", ["", " ", "a b", "a\n", "a/b", "\u00e9", "x" * 151, "a\x00", "a'--"])
def test_names_that_are_none(name):
    with pytest.raises(InvalidInput):
        user_create(username=name, roles=[], by=ROOT, now=clock.now())
    assert not User.objects.exists()
    assert AuditEntry.objects.get().refused


def test_names_and_roles_at_their_limits():
    user_create(username="x" * 150, roles=[], by=ROOT, now=clock.now())
    user_create(username="a.b+c-d_e@f", roles=["viewer"], by=ROOT, now=clock.now())
    with pytest.raises(AlreadyExists):
        user_create(username="x" * 150, roles=["viewer"], by=ROOT, now=clock.now())
    with pytest.raises(InvalidInput, match="unknown role 'root'"):
        user_create(username="eve", roles=["viewer", "root"], by=ROOT, now=clock.now())
    assert User.objects.count() == 2
