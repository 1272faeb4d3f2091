"""Tokens: hashed at rest, shown once, expiring, revoked at once, never told apart by time (TH-14)."""

from __future__ import annotations

import hmac
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access import callers
from access.callers import LAST_USED_EVERY, by_token, by_user, by_username
from access.models import Token
from access.services import MAX_TOKENS, token_create, token_revoke
from audit.models import AuditEntry
from flowsched import clock
from flowsched.errors import InvalidInput, NotFound, PreconditionFailed, Unauthenticated
from tests.rest.helpers import ROOT, make_token, make_user, rest

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def dump() -> str:
    """Every row of every table as text."""
    with connection.cursor() as cursor:
        rows = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            rows += [row[0] for row in cursor.fetchall()]
    return "\n".join(rows)


def test_the_text_is_nowhere_in_the_database():
    """Nor all but its first characters; used, refused and named in the audit trail, it stays out."""
    text = make_token(make_user("operator", name="ann"), name="for the robot")
    caller = rest("operator", name="bob")
    caller.token = text
    assert caller.get("me/").status_code == 200
    caller.post("tasks/", {}, headers={"Idempotency-Key": "k"})
    caller.post("tasks/", {}, headers={"X-Request-ID": text[:64]})
    token_revoke(key=text[:15], by=ROOT, now=clock.now())
    everything = dump()
    assert "for the robot" in everything, "the dump shows what is there"
    assert text[:15] in everything
    assert text not in everything
    assert text[15:] not in everything


def test_what_a_token_is():
    """256 bits after a prefix that leak scanners can look for."""
    texts = {make_token(make_user()) for _ in range(5)}
    assert len(texts) == 5
    assert all(text.startswith("fs_") and len(text) == 3 + 64 for text in texts)
    token = Token.objects.first()
    assert token.digest not in texts
    assert len(token.digest) == 128


def test_a_caller_has_its_groups_and_its_own_permissions_and_the_clock():
    name = make_user("viewer", name="ann")
    User.objects.get(username="ann").user_permissions.add(Permission.objects.get(codename="cancel_task"))
    text = make_token(name)
    before = clock.now()
    with CaptureQueriesContext(connection) as captured:
        caller = by_token(text)
    assert len(captured) == 2, "who it is, and that the token was used"
    assert before <= caller.now <= clock.now()
    assert caller.name == "ann"
    assert caller.token == text[:15]
    assert caller.may("task.read")
    assert caller.may("task.cancel")
    assert not caller.may("task.submit")
    assert not caller.may("task.melt")
    assert by_username("ann").permissions == by_user(caller.user_id).permissions == caller.permissions


@pytest.mark.parametrize("text", ["", "fs_", "x" * 255, "x" * 256, "x" * 100_000, "fs_\u00e9", "fs_\x00", "\ud800"])
def test_what_is_no_token(text):
    with pytest.raises(Unauthenticated, match=r"manage\.py token create"):
        by_token(text)


def test_all_refusals_read_alike():
    """Unknown, expired, revoked, switched off, a prefix, a longer one: a stranger learns nothing."""
    text, expired, revoked, off = (make_token(make_user(name=name)) for name in ("a", "b", "c", "d"))
    Token.objects.filter(user__username="b").update(expiry=clock.now())
    token_revoke(key=revoked[:15], by=ROOT, now=clock.now())
    User.objects.filter(username="d").update(is_active=False)
    said = set()
    for wrong in (text[:-1], text + "0", text[:15], text.upper(), expired, revoked, off, "fs_" + "0" * 64):
        with pytest.raises(Unauthenticated) as caught:
            by_token(wrong)
        said.add((caught.value.message, caught.value.reason))
    assert len(said) == 1
    assert by_token(text).name == "a"


def test_expiry_is_by_the_databases_clock():
    text = make_token(make_user(), life=timedelta(seconds=1))
    assert by_token(text)
    Token.objects.update(expiry=clock.now() + timedelta(milliseconds=150))
    assert by_token(text)
    Token.objects.update(expiry=clock.now())
    with pytest.raises(Unauthenticated):
        by_token(text)


def test_two_tokens_with_the_same_first_characters():
    """The index narrows it down to both; the digest decides."""
    texts = [make_token(make_user(name=name)) for name in ("ann", "bob")]
    Token.objects.filter(user__username="bob").update(token_key=texts[0][:15])
    assert by_token(texts[0]).name == "ann"
    with pytest.raises(Unauthenticated):
        by_token(texts[0][:15] + texts[1][15:])
    with pytest.raises(InvalidInput, match="several tokens"):
        token_revoke(key=texts[0][:15], by=ROOT, now=clock.now())
    assert Token.objects.count() == 2


def test_digests_are_compared_in_constant_time(monkeypatch):
    """Every candidate's digest goes through it, a wrong one too."""
    compared = []

    def watched(one, other):
        compared.append((one, other))
        return hmac.compare_digest(one, other)

    monkeypatch.setattr(callers, "compare_digest", watched)
    text = make_token(make_user())
    by_token(text)
    with pytest.raises(Unauthenticated):
        by_token(text[:-1] + ("0" if text[-1] != "0" else "1"))
    assert [len(one) for pair in compared for one in pair] == [128] * 4
    assert compared[0][0] == compared[0][1] == compared[1][1] != compared[1][0]


def test_last_use_is_noted_once_a_minute():
    text = make_token(make_user())

    def used():
        return Token.objects.get().last_used_at

    assert used() is None
    by_token(text)
    first = used()
    by_token(text)
    assert used() == first
    Token.objects.update(last_used_at=first - LAST_USED_EVERY - timedelta(seconds=1))
    by_token(text)
    assert used() >= first


def test_a_revoked_token_is_refused_at_once_and_forgotten():
    caller = rest("viewer")
    assert caller.get("me/").status_code == 200
    token_revoke(key=caller.token[:15], by=ROOT, now=clock.now())
    assert caller.get("me/").status_code == 401
    assert not Token.objects.exists()


def test_create_and_revoke_are_in_the_audit_trail():
    """D-22: who, for whom, which; never the text."""
    text = make_token(make_user(name="ann"), name="robot", life=DAY)
    token_revoke(key=text[:15], by=ROOT, now=clock.now())
    created, revoked = AuditEntry.objects.filter(object_kind="token").order_by("id")
    assert (created.actor, created.door, created.verb, created.object_id) == ("root", "cli", "token.create", text[:15])
    assert created.object_name == "ann"
    assert created.after["name"] == "robot"
    assert (revoked.verb, revoked.object_id, revoked.object_name) == ("token.revoke", text[:15], "ann")
    assert revoked.before["name"] == "robot"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"username": "nobody"}, NotFound),
        ({"username": "a\x00b"}, NotFound),
        ({"username": "off"}, PreconditionFailed),
        ({"name": "x" * 256}, InvalidInput),
        ({"name": "a\nb"}, InvalidInput),
        ({"name": "a\x00"}, InvalidInput),
        ({"life": timedelta(0)}, InvalidInput),
        ({"life": -DAY}, InvalidInput),
        ({"life": 3661 * DAY}, InvalidInput),
    ],
)
def test_tokens_that_are_not_made(options, error):
    """Each refusal is recorded (D-22)."""
    make_user(name="ann")
    User.objects.filter(username=make_user(name="off")).update(is_active=False)
    with pytest.raises(error):
        token_create(**{"username": "ann", "life": None, "by": ROOT, "now": clock.now()} | options)
    assert not Token.objects.exists()
    assert AuditEntry.objects.get(verb="token.create").refused


def test_tokens_at_their_limits():
    name = make_user(name="ann")
    for number in range(MAX_TOKENS):
        make_token(name, name="x" * 255, life=3660 * DAY if number else timedelta(microseconds=1))
    with pytest.raises(PreconditionFailed, match="50 tokens: revoke"):
        make_token(name)
    token_revoke(key=Token.objects.first().token_key, by=ROOT, now=clock.now())
    make_token(name)


@pytest.mark.parametrize(("key", "error"), [("", InvalidInput), ("fs_ab", InvalidInput), ("fs_abc%", NotFound),
                                            ("fs_zzzzzz", NotFound), ("fs_\x00aaaa", NotFound)])  # fmt: skip
def test_what_is_not_revoked(key, error):
    text = make_token(make_user())
    with pytest.raises(error):
        token_revoke(key=key, by=ROOT, now=clock.now())
    assert by_token(text)
