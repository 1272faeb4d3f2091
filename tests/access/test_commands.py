"""`manage.py user` and `manage.py token`: what they print, as text and as JSON, and how they end."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User

from access.callers import by_token
from access.models import Token
from audit.models import AuditEntry
from flowsched import clock
from flowsched.errors import Unauthenticated
from tests.dispatcher.test_schedule_command import run
from tests.rest.helpers import make_token, make_user

pytestmark = pytest.mark.django_db


def test_add_list_create_use_revoke():
    """The whole life of a robot's access."""
    added = run("add", "robot", "--role", "operator", "--role", "inventory", command="user")
    assert (added.code, added.err) == (0, "")
    assert added.out == "user robot is there; its token: manage.py token create robot\n"
    listed = run("list", command="user").out.splitlines()
    assert listed[0].split() == ["USER", "GROUPS", "SUPERUSER", "ACTIVE", "LAST", "LOGIN"]
    assert listed[1].split() == ["robot", "inventory,", "operator", "no", "yes", "-"]

    created = run("create", "robot", "--name", "rack robot", "--expires", "12h", command="token")
    assert created.code == 0
    text = created.out.strip()
    assert "will not be shown again" in created.err
    assert by_token(text).name == "robot"
    life = Token.objects.get().expiry - clock.now()
    assert 43190 < life.total_seconds() <= 43200

    listed = run("list", "robot", command="token").out
    assert f"{text[:15]}…" in listed
    assert "rack robot" in listed
    assert text not in listed

    revoked = run("revoke", text[:15], command="token")
    assert (revoked.code, revoked.out) == (0, f"token {text[:15]}… of robot is revoked\n")
    with pytest.raises(Unauthenticated):
        by_token(text)
    assert AuditEntry.objects.filter(door="cli", actor__startswith="cli:").count() == 3


def test_json():
    added = run("add", "robot", "--role", "viewer", "--json", command="user").json
    assert added == {"name": "robot", "groups": ["viewer"], "superuser": False, "active": True, "last_login": None}
    assert run("list", "--json", command="user").json == [added]
    created = run("create", "robot", "--expires", "never", "--json", command="token")
    token = created.json.pop("token")
    assert created.err == ""
    assert created.json["expires_at"] is None
    assert by_token(token).name == "robot"
    (listed,) = run("list", "--json", command="token").json
    assert listed.pop("last_used_at").endswith("Z")
    assert listed == {key: value for key, value in created.json.items() if key not in {"token", "last_used_at"}}
    assert run("revoke", token[:10], "--json", command="token").json["key"] == token[:15]


def test_nothing_to_list():
    assert run("list", command="user").out == "No users. Create one: user add NAME --role operator\n"
    assert run("list", command="token").out == "No tokens. Create one: token create USER\n"
    assert run("list", "--json", command="user").json == []
    assert run("list", "--json", command="token").json == []


def test_lists_are_by_name_and_newest_first():
    for name in ("zoe", "adam"):
        make_token(make_user(name=name), name=f"of {name}")
    assert [user["name"] for user in run("list", "--json", command="user").json] == ["adam", "zoe"]
    assert [token["user"] for token in run("list", "--json", command="token").json] == ["adam", "zoe"]
    assert [token["user"] for token in run("list", "zoe", "--json", command="token").json] == ["zoe"]


@pytest.mark.parametrize(
    ("command", "words", "code", "said"),
    [
        ("user", ["add", "ann"], 1, "there is a user 'ann' already"),
        ("user", ["add", "a b"], 2, "1 to 150 letters"),
        ("user", ["add", "eve", "--role", "root"], 2, "invalid choice: 'root'"),
        ("user", ["add"], 2, "required"),
        ("user", [], 2, "required"),
        ("token", ["create", "nobody"], 1, "no user 'nobody': manage.py user add"),
        ("token", ["create", "ann", "--expires", "1w"], 2, "write 30d, 12h, 90m or never"),
        ("token", ["create", "ann", "--expires", ""], 2, "cannot be read"),
        ("token", ["create", "ann", "--expires", "0d"], 2, "lives longer than nothing"),
        ("token", ["create", "ann", "--expires", "9999d"], 2, "at most 3660 days"),
        ("token", ["create", "ann", "--expires", "-1d"], 2, ""),
        ("token", ["create", "ann", "--expires", "٣d"], 2, "cannot be read"),
        ("token", ["create", "ann", "--name", "x" * 256], 2, "at most 255"),
        ("token", ["list", "nobody"], 1, "no user 'nobody'"),
        ("token", ["revoke", "fs_abc"], 1, "no token that begins with 'fs_abc'"),
        ("token", ["revoke", "fs"], 2, "at least 6"),
    ],
)
def test_refusals_say_why_and_end_with_their_code(command, words, code, said):
    """1 refused, 2 wrong usage."""
    make_user(name="ann")
    answer = run(*words, command=command)
    assert (answer.code, answer.out) == (code, "")
    assert said in answer.err
    assert User.objects.count() == 1
    assert not Token.objects.exists()


def test_a_refusal_as_json():
    answer = run("create", "nobody", "--json", command="token")
    assert (answer.code, json.loads(answer.err)["error"]["kind"]) == (1, "not_found")
