"""People at the admin's pages, and what a page did to the database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from access.permissions import PERMISSIONS, ROLES

MARKUP = "<img src=x onerror=alert(1)>"


def browse(role: str | None = None, *, verbs: Sequence[str] = (), name: str = "", zone: str = "") -> Client:
    """A browser with a member of staff signed in: of a role, with single verbs, or, without either, a superuser."""
    user = User.objects.create_user(
        name or f"user-{User.objects.count()}", is_staff=True, is_superuser=role is None and not verbs
    )
    wanted = [*ROLES.get(role or "", ()), *(PERMISSIONS[verb] for verb in verbs)]
    for label in wanted:
        app, _, code = label.partition(".")
        user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=code))
    client = Client()
    client.force_login(user)
    if zone:
        client.cookies["fs_tz"] = zone
    return client


@contextmanager
def statements() -> Iterator[list[str]]:
    """The statements run inside, without those that only open and close transactions."""
    found: list[str] = []
    with CaptureQueriesContext(connection) as queries:
        yield found
    skipped = ("SAVEPOINT", "RELEASE", "ROLLBACK", "BEGIN", "COMMIT")
    found += [query["sql"] for query in queries if not query["sql"].startswith(skipped)]


def writes(found: Sequence[str]) -> list[str]:
    """Those of the statements that change something."""
    return [sql for sql in found if sql.lstrip(" (\n").split(" ", 1)[0].upper() in {"INSERT", "UPDATE", "DELETE"}]
