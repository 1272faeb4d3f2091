"""Clients of the REST door, as users with a role."""

from __future__ import annotations

import pytest
from django.test import Client

from access.services import token_create, user_create
from flowsched import clock
from flowsched.actor import SYSTEM


@pytest.fixture
def client_of(db):
    """A client with a token of a user who has this role; the user's name is the role."""

    def make(role: str) -> Client:
        now = clock.now()
        user_create(username=role, roles=[role], by=SYSTEM, now=now)
        text = token_create(username=role, life=None, by=SYSTEM, now=now)[1]
        return Client(headers={"Authorization": f"Bearer {text}"})

    return make
