"""`manage.py user`: users for automation, with a role instead of a password, and who there is."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandParser

from access.permissions import ROLES
from access.services import user_create
from flowsched import clock
from flowsched.actor import Actor
from flowsched.cli import FlowCommand


class Command(FlowCommand):
    """People with a password are made by `createsuperuser` or in the admin."""

    help = "Create users for automation and list all users."

    def add_arguments(self, parser: CommandParser) -> None:
        """One subparser a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="add|list")
        add = verbs.add_parser("add", help="create a user without a password, who comes with a token")
        add.add_argument("user", metavar="USER")
        add.add_argument(
            "--role",
            action="append",
            default=[],
            choices=list(ROLES),
            help="what it may do (repeatable; none: nothing)",
        )
        listing = verbs.add_parser("list", help="all users with their groups")
        for parser_ in (add, listing):
            super().add_arguments(parser_)

    def run(self, **options: Any) -> int | None:
        """Call the verb."""
        if options["verb"] == "add":
            user = user_create(username=options["user"], roles=options["role"], by=Actor.cli(), now=clock.now())
            if options["json"]:
                self.print_json(_plain(user))
            else:
                self.stdout.write(f"user {user.username} is there; its token: manage.py token create {user.username}")
            return None
        users = list(User.objects.prefetch_related("groups").order_by("username"))
        if options["json"]:
            self.print_json([_plain(user) for user in users])
            return None
        self.print_table(
            ["user", "groups", "superuser", "active", "last login"],
            [(u.username, ", ".join(_groups(u)), u.is_superuser, u.is_active, u.last_login) for u in users],
            empty="No users. Create one: user add NAME --role operator",
        )
        return None


def _groups(user: User) -> list[str]:
    return sorted(group.name for group in user.groups.all())


def _plain(user: User) -> dict[str, Any]:
    return {
        "name": user.username,
        "groups": _groups(user),
        "superuser": user.is_superuser,
        "active": user.is_active,
        "last_login": user.last_login,
    }
