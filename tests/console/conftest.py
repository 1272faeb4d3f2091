"""People at the pages, and how to read what they see."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from access.services import user_create
from flowsched import clock
from flowsched.actor import SYSTEM


def staff(role: str) -> User:
    """A member of staff in a role of the table; "admin" may do everything."""
    if role == "admin":
        return User.objects.create_superuser("admin", "admin@example.org", "long enough a password")
    user = user_create(username=role, roles=[role], by=SYSTEM, now=clock.now())
    User.objects.filter(pk=user.pk).update(is_staff=True)
    user.refresh_from_db()
    return user


@pytest.fixture
def signed_in(db):
    """A client that is signed in as this role."""

    def client(role: str = "admin") -> Client:
        made = Client()
        made.force_login(staff(role))
        return made

    return client
