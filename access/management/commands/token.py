"""`manage.py token`: create, list and revoke the bearer tokens that REST and gRPC take."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser

from access.models import Token
from access.selectors import tokens_list
from access.services import token_create, token_revoke
from flowsched import clock
from flowsched.actor import Actor
from flowsched.cli import FlowCommand
from flowsched.errors import InvalidInput

LIFE = "90d"
_UNITS = {"d": 86400, "h": 3600, "m": 60}


class Command(FlowCommand):
    """A token is named by its first characters, as the list shows them."""

    help = "Create, list and revoke bearer tokens for REST and gRPC."

    def add_arguments(self, parser: CommandParser) -> None:
        """One subparser a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="create|list|revoke")
        create = verbs.add_parser("create", help="create a token and print it, this once")
        create.add_argument("user", metavar="USER")
        create.add_argument("--name", default="", help="what it is for; shown in the list")
        create.add_argument("--expires", default=LIFE, metavar="LIFE", help=f"30d, 12h or never (default {LIFE})")
        listing = verbs.add_parser("list", help="tokens, newest first; never their text")
        listing.add_argument("user", metavar="USER", nargs="?", help="only this user's")
        revoke = verbs.add_parser("revoke", help="end a token at once")
        revoke.add_argument("key", metavar="TOKEN", help="its first characters, as the list shows them")
        for parser_ in (create, listing, revoke):
            super().add_arguments(parser_)

    def run(self, **options: Any) -> int | None:
        """Call the verb."""
        match options["verb"]:
            case "create":
                self._create(options)
            case "list":
                self._list(options)
            case _:
                token = token_revoke(key=options["key"], by=Actor.cli(), now=clock.now())
                if options["json"]:
                    self.print_json(_plain(token))
                else:
                    self.stdout.write(f"token {token.token_key}… of {token.user.get_username()} is revoked")
        return None

    def _create(self, options: dict[str, Any]) -> None:
        token, text = token_create(
            username=options["user"],
            name=options["name"],
            life=_life(options["expires"]),
            by=Actor.cli(),
            now=clock.now(),
        )
        if options["json"]:
            self.print_json(_plain(token) | {"token": text})
            return
        self.stdout.write(text)
        until = f"until {token.expiry:%Y-%m-%d %H:%M:%SZ}" if token.expiry else "for ever"
        self.stderr.write(f"Good {until}. It is not stored and will not be shown again.")

    def _list(self, options: dict[str, Any]) -> None:
        tokens = list(tokens_list(options["user"]))
        if options["json"]:
            self.print_json([_plain(token) for token in tokens])
            return
        self.print_table(
            ["token", "user", "name", "created", "expires", "last used"],
            [(f"{t.token_key}…", t.user.get_username(), t.name, t.created, t.expiry, t.last_used_at) for t in tokens],
            empty="No tokens. Create one: token create USER",
        )


def _life(text: str) -> timedelta | None:
    """A length of life as typed, None for never. Raises InvalidInput."""
    if text == "never":
        return None
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not (number.isascii() and number.isdecimal()) or len(number) > 6:  # noqa: PLR2004
        raise InvalidInput(f"--expires '{text[:20]}' cannot be read: write 30d, 12h, 90m or never", field="expires")
    return timedelta(seconds=int(number) * _UNITS[unit])


def _plain(token: Token) -> dict[str, Any]:
    return {
        "key": token.token_key,
        "user": token.user.get_username(),
        "name": token.name,
        "created_at": token.created,
        "expires_at": token.expiry,
        "last_used_at": token.last_used_at,
    }
