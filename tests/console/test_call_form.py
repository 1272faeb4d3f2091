"""The schedule's form for HTTP calls: what it offers to whom, what it makes of what is typed, and what it refuses."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from audit.models import AuditEntry
from console.schedule_form.call_typed import lines_dump, lines_read
from schedules.models import TaskSchedule
from tasks.operations import Operation
from tests.console.calls import API, SECRET, call_schedule, configure, report
from tests.console.form import ADD, CRON, RULES, errors_of, fields_of, full_rack, lines, scopes
from tests.console.helpers import BUDGET, queries_of, stored, text_of
from tests.console.people import MARKUP, statements, writes

pytestmark = pytest.mark.django_db
PREVIEW, PART = f"{ADD}preview/", f"{ADD}call/"
POST = {
    "call_endpoint": "inventory",
    "call_method": "POST",
    "call_path": "/v1/racks/{{ rack.name | default('all') }}",
    "call_query": "day: {{ now }}\r\n\r\n  limit:5",
    "call_headers": "X-Env: lab: two",
    "call_body": '{"rack": "{{ rack.name | default(\'all\') }}", "n": [1, null]}',
    "call_identity": "service_account",
    "call_timeout": "2.5",
    "call_retries": "3",
    "call_retry_backoff": "linear",
    "call_max_running": "4",
    "call_key": "report-{{ run.id }}",
}
HOOK = {"call_endpoint": "hooks", "call_webhook_id": "night-report", "call_payload": '{"at": "{{ now }}"}'}


@pytest.fixture(autouse=True)
def configured(settings, monkeypatch):
    configure(settings, monkeypatch)


@pytest.fixture
def client():
    return planner("inventory", "hooks", "open")


def planner(*names: str) -> Client:
    """A planner who may use these endpoints."""
    from tests.console.conftest import staff  # noqa: PLC0415  the users exist once a test has a database

    user = User.objects.filter(username="planner").first() or staff("planner")
    kind = Permission.objects.get(codename="use_endpoint").content_type
    for name in names:
        user.user_permissions.add(
            Permission.objects.get_or_create(codename=f"use_endpoint_{name}", content_type=kind)[0]
        )
    made = Client()
    made.force_login(user)
    return made


def filled(*racks, **fields: str) -> dict[str, str]:
    given = {"name": "Report", "operation": "http_call", "racks": lines(racks), **CRON, **RULES, "late": "default"}
    return given | POST | fields


def only() -> TaskSchedule:
    return TaskSchedule.objects.get()


# What is offered ---------------------------------------------------------------------------------------------------


def test_a_call_is_offered_with_the_endpoints_that_one_may_use():
    body = planner("inventory").get(ADD).content.decode()
    assert '<option value="http_call">HTTP call</option>' in body
    assert f"inventory (API, {API})" in body
    assert "hooks (" not in body


def test_without_an_endpoint_to_use_there_is_no_call(settings):
    for names, config in (((), settings.FLOWSCHED_ENDPOINTS), (("inventory",), "")):
        settings.FLOWSCHED_ENDPOINTS = config
        body = planner(*names).get(ADD).content.decode()
        assert "http_call" not in body
        assert "call_endpoint" not in body


def test_the_only_endpoint_is_chosen_already():
    assert fields_of(planner("open").get(ADD))["call_endpoint"] == ["open"]


@pytest.mark.parametrize(
    ("endpoint", "methods", "identities", "fields"),
    [
        ("inventory", ["GET", "POST"], ["service_account", "delegated_user"], ("call_path", "call_webhook_id")),
        ("open", ["GET", "PUT"], ["none"], ("call_body", "call_payload")),
        ("hooks", [], ["none"], ("call_payload", "call_path")),
    ],
)
def test_an_endpoint_shows_what_it_takes_and_no_more(client, endpoint, methods, identities, fields):
    body = client.post(PART, {"call_endpoint": endpoint}).content.decode()
    assert [name for name in ("GET", "POST", "PUT", "PATCH", "DELETE") if f'<option value="{name}"' in body] == methods
    known = ("none", "service_account", "delegated_user")
    assert [name for name in known if f'name="call_identity" value="{name}"' in body] == identities
    assert f'id="id_{fields[0]}"' in body
    assert f'id="id_{fields[1]}"' not in body
    assert "http://127.0.0.1:9" in body


def test_another_kind_of_endpoint_and_back_loses_nothing(client):
    away = client.post(PART, POST | {"call_endpoint": "hooks"})
    kept = fields_of_part(away)
    back = fields_of_part(client.post(PART, kept | {"call_endpoint": "inventory"}))
    for name in ("call_path", "call_method", "call_body", "call_headers", "call_identity"):
        assert back[name] == POST[name], name


def test_without_a_script_a_button_shows_the_fields(client):
    before = stored()
    answer = client.post(ADD, {**filled(), "do": "endpoint", "call_endpoint": "hooks"})
    assert 'id="id_call_payload"' in answer.content.decode()
    assert "Not saved" not in text_of(answer)
    assert stored() == before


def fields_of_part(response) -> dict[str, str]:
    """What a browser would send of the fragment."""
    response.content = b'<form id="schedule-form">' + response.content + b"</form>"
    return {name: values[-1] for name, values in fields_of(response).items()}


# Creating ----------------------------------------------------------------------------------------------------------


def test_a_call_on_no_rack(client):
    answer = client.post(ADD, filled(), follow=True)
    row = only()
    assert row.operation_template["code"] == "api"
    assert row.operation_template["information"] == {
        "target": {
            "endpoint": "inventory", "method": "POST", "path": "/v1/racks/{{ rack.name | default('all') }}",
            "query": {"day": "{{ now }}", "limit": "5"}, "headers": {"X-Env": "lab: two"},
            "body": {"rack": "{{ rack.name | default('all') }}", "n": [1, None]},
        },
        "identity": {"kind": "service_account"},
        "policy": {
            "timeout": 2.5, "retries": 3, "retry_backoff": "linear", "max_running_instances": 4,
            "idempotency_key": "report-{{ run.id }}",
        },
    }  # fmt: skip
    assert scopes(row) == [(None, None)]
    assert row.misfire_grace == timedelta(minutes=5)
    assert "one call each time" in text_of(answer)


@pytest.mark.parametrize(
    ("fields", "code", "information"),
    [
        (
            HOOK, "gateway",
            {
                "target": {
                    "endpoint": "hooks", "webhook_id": "night-report", "headers": {"X-Env": "lab: two"},
                    "payload": {"at": "{{ now }}"},
                },
                "identity": {"kind": "none"},
            },
        ),
        ({"call_body": ""}, "api", {"identity": {"kind": "service_account"}}),
        (
            {"call_identity": "delegated_user", "call_subject": "ada", "call_consent_id": "c-1"}, "api",
            {"identity": {"kind": "delegated_user", "subject": "ada", "consent_id": "c-1"}},
        ),
        (
            {"call_endpoint": "open", "call_method": "PUT", "call_identity": "none"}, "api",
            {"identity": {"kind": "none"}},
        ),
    ],
)  # fmt: skip
def test_every_kind_of_call(client, fields, code, information):
    client.post(ADD, filled(**fields))
    template = only().operation_template
    assert template["code"] == code
    for part, value in information.items():
        assert template["information"][part] == value
    if fields.get("call_body") == "":
        assert template["information"]["target"]["body"] is None


def test_with_racks_it_is_one_call_a_rack(client):
    racks = [full_rack("r01"), full_rack("r02")]
    answer = client.post(ADD, filled(*racks), follow=True)
    assert scopes(only()) == [("r01", None), ("r02", None)]
    assert "2 calls each time, one a rack" in text_of(answer)


@pytest.mark.parametrize(("late", "grace"), [("run", None), ("skip", timedelta(minutes=7))])
def test_grace_may_be_chosen(client, late, grace):
    client.post(ADD, filled(late=late, grace_number="7"))
    assert only().misfire_grace == grace


def test_the_default_grace_is_said_for_both(client):
    said = text_of(client.get(ADD))
    assert "Default for HTTP calls: skip if later than 5 min." in said
    client.post(ADD, {**filled(full_rack("r01")), "operation": "power_on"})
    assert only().misfire_grace is None


# Errors, each on its field -----------------------------------------------------------------------------------------

CHOSEN = {"call_endpoint", "call_identity", "call_retry_backoff"}  # from a list that has no wrong ones
WRONG = [
    ({"call_endpoint": ""}, "call_endpoint", "choose the endpoint"),
    ({"call_endpoint": "nobody"}, "call_endpoint", "there is no endpoint 'nobody'"),
    ({"call_method": "DELETE"}, "call_method", "inventory allows GET, POST, not DELETE"),
    ({"call_method": "BREW"}, "call_method", "must be one of"),
    ({"call_path": ""}, "call_path", "write the path"),
    ({"call_path": "v1"}, "call_path", "must begin with one /"),
    ({"call_path": "/v1//x"}, "call_path", "may not have //"),
    ({"call_path": "/v2/x"}, "call_path", "allows paths below /v1/"),
    ({"call_path": "/v1/{{ rack.__class__ }}"}, "call_path", ""),
    ({"call_query": "no colon"}, "call_query", "line 1 is no “name: value”"),
    ({"call_query": "a: 1\nb\na: 2"}, "call_query", "line 3 gives a a second time"),
    ({"call_headers": "Authorization: x"}, "call_headers", ""),
    ({"call_headers": "X-A: {{ 1 + }}\nX-B: fine"}, "call_headers", "x-A: "),
    ({"call_body": '{"a": '}, "call_body", "not JSON"),
    ({"call_body": "[1]"}, "call_body", "it must be an object"),
    ({"call_body": '{"a": 1, "a": 2}'}, "call_body", "given twice"),
    ({"call_body": '{"a": NaN}'}, "call_body", "not a JSON number"),
    ({"call_body": '{"a": "{{ x() }}"}'}, "call_body", "a: "),
    ({"call_body": '{"a": ' * 2000}, "call_body", ""),
    ({"call_identity": "none"}, "call_identity", "is called as somebody"),
    ({"call_identity": "root"}, "call_identity", "must be one of"),
    ({"call_identity": "delegated_user", "call_consent_id": "c"}, "call_subject", "say which user"),
    ({"call_identity": "delegated_user", "call_subject": "a"}, "call_consent_id", "say by which consent"),
    ({"call_timeout": "0"}, "call_timeout", "must be seconds"),
    ({"call_timeout": "soon"}, "call_timeout", "'soon' is no number"),
    ({"call_timeout": ""}, "call_timeout", "write seconds"),
    ({"call_timeout": "9" * 400}, "call_timeout", "is no number"),
    ({"call_retries": "11"}, "call_retries", "from 0 to 10"),
    ({"call_retries": "1.5"}, "call_retries", "is no number"),
    ({"call_retry_backoff": "fast"}, "call_retry_backoff", "must be one of"),
    ({"call_max_running": "0"}, "call_max_running", "from 1 to 1000"),
    ({"call_key": "é"}, "call_key", ""),
    (HOOK | {"call_webhook_id": ""}, "call_webhook_id", "write which webhook"),
    (HOOK | {"call_webhook_id": "No Slug"}, "call_webhook_id", ""),
    (HOOK | {"call_payload": ""}, "call_payload", "write the payload"),
    (HOOK | {"call_payload": "7"}, "call_payload", "it must be an object"),
]


@pytest.mark.parametrize(("fields", "name", "words"), WRONG)
def test_an_error_stands_on_its_field_and_nothing_typed_is_lost(client, fields, name, words):
    sent = filled(**fields)
    before = stored()
    answer = client.post(ADD, sent)
    errors = errors_of(answer)
    assert list(errors) == [name]
    assert words in errors[name]
    assert stored() == before
    again = {key: values[-1] for key, values in fields_of(answer).items()}
    typed = {key: text.strip() for key, text in sent.items() if key.startswith("call_") and key not in CHOSEN}
    lost = {key for key, text in typed.items() if text and again.get(key) != text.replace("\r\n", "\n")}
    assert not lost


def test_several_errors_are_said_at_once(client):
    wrong = {"call_path": "x", "call_timeout": "-1", "call_body": "{", "cron": "x", "name": ""}
    errors = errors_of(client.post(ADD, filled(**wrong)))
    assert set(errors) == {"call_path", "call_timeout", "call_body", "cron", "name"}


def test_hardware_still_needs_racks(client):
    assert "racks" in errors_of(client.post(ADD, {**filled(), "operation": "power_on"}))


# Who may -----------------------------------------------------------------------------------------------------------


def test_an_endpoint_that_is_not_ones_own_is_refused_and_recorded():
    client = planner("hooks")
    before, last = TaskSchedule.objects.count(), AuditEntry.objects.order_by("-pk").values_list("pk", flat=True).first()
    assert client.post(ADD, filled()).status_code == 403
    assert TaskSchedule.objects.count() == before
    [entry] = AuditEntry.objects.filter(pk__gt=last or 0)
    assert (entry.verb.partition(":")[0], bool(entry.refused)) == ("endpoint.use", True)


def test_a_preview_of_such_an_endpoint_says_so_and_renders_nothing():
    said = planner("hooks").post(PREVIEW, filled()).content.decode()
    assert 'data-field="call_endpoint"' in said
    assert "may not use the endpoint inventory" in said
    assert API not in said


def test_a_copy_of_such_a_schedule_keeps_it_chosen_and_says_so():
    row = call_schedule()
    body = planner("hooks").get(f"{ADD}?copy={row.pk}").content.decode()
    assert "inventory (you may not use it)" in body


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_who_may_not_create_gets_no_part(signed_in, role):
    client = signed_in(role)
    assert client.post(PART, POST).status_code == 403
    assert client.post(PREVIEW, filled()).status_code == 403


# Copy and edit -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [{}, HOOK, {"call_body": ""}, {"call_identity": "delegated_user", "call_subject": "ada", "call_consent_id": "c-1"}],
)
def test_a_copy_makes_the_same_call(client, fields):
    client.post(ADD, filled(**fields))
    first = only()
    sent = {name: values[-1] for name, values in fields_of(client.get(f"{ADD}?copy={first.pk}")).items()}
    client.post(ADD, sent | {"name": "Second"})
    second = TaskSchedule.objects.get(name="Second")
    assert second.operation_template == first.operation_template
    assert (second.misfire_grace, scopes(second)) == (first.misfire_grace, scopes(first))


def test_what_lines_cannot_say_is_not_copied_and_named(client):
    stored_call = report(method="GET")
    information = dict(stored_call.information)
    information["target"] = {**information["target"], "query": {"a: b": "1"}}
    row = call_schedule("Odd", Operation("http_call", "api", information))
    answer = client.get(f"{ADD}?copy={row.pk}")
    assert "Not copied, as this form has no field for it: query." in text_of(answer)
    assert fields_of(answer)["call_query"] == [""]


@pytest.mark.parametrize("items", [{}, {"a": "b"}, {"X-A": "v: w", "b": ""}, {"a": "{{ now }}"}])
def test_lines_are_read_as_they_are_written(items):
    assert lines_read(lines_dump(items)) == (items, [])


def test_edit_shows_the_call_in_words_and_does_not_change_it(client):
    row = call_schedule(operation=report(retries=2, max_running_instances=3))
    answer = client.get(f"/admin/schedules/{row.pk}/edit/")
    said = text_of(answer)
    for words in (
        "HTTP call POST /v1/reports", "Endpoint: inventory", "Called as: the endpoint's service account",
        "2 retries, exponential back-off; at most 3 at a time", "It is on no rack: each firing makes one call.",
    ):  # fmt: skip
        assert words in said
    assert 'name="call_' not in answer.content.decode()
    sent = {name: values[-1] for name, values in fields_of(answer).items()}
    client.post(f"/admin/schedules/{row.pk}/edit/", sent | {"name": "Renamed", **POST, "call_path": "/v1/other"})
    changed = only()
    assert (changed.name, changed.operation_template) == ("Renamed", row.operation_template)
    assert scopes(changed) == [(None, None)]


# The preview -------------------------------------------------------------------------------------------------------


def test_the_preview_shows_the_request_for_the_first_rack(client):
    racks = [full_rack("r01"), full_rack("r02")]
    said = text_of(client.post(PREVIEW, filled(*racks)))
    for words in (
        "What would be sent, first for r01", f"POST {API}/v1/racks/r01?day=", "&limit=5", "X-Env: lab: two",
        "Authorization: Bearer (redacted)", '"rack": "r01"', "Idempotency-Key: report-",
        "Called as the endpoint's service account · shown for r01", "2 calls each time, one a rack",
        "Nothing is sent and no token is fetched",
    ):  # fmt: skip
        assert words in said


def test_the_preview_says_why_not_on_the_field(client):
    body = client.post(PREVIEW, filled(call_path="/v1/{{ rack.name }}")).content.decode()
    assert 'data-field="call_path"' in body
    assert "It would not be made" in body


def test_the_preview_of_what_is_missing_is_quiet(client):
    body = client.post(PREVIEW, {"operation": "http_call", **RULES}).content.decode()
    assert 'data-field="call_endpoint" data-missing' in body
    assert "What would be sent" not in body


def test_a_known_secret_is_not_in_the_request_that_is_shown(client):
    sent = filled(call_body=f'{{"a": "{SECRET}"}}', call_path=f"/v1/{SECRET}", call_query=f"a: {SECRET}")
    shown = client.post(PREVIEW, sent).content.decode()
    request = re.search(r'<div class="request">(.*?)</div>', shown, re.DOTALL)[1]
    assert f"POST {API}/v1/" in request
    assert SECRET not in request


def test_markup_is_text_everywhere(client):
    sent = filled(
        full_rack("r01"), name=MARKUP, call_query=f"q: {MARKUP}", call_headers=f"X-A: {MARKUP}",
        call_body=f'{{"a": "{MARKUP}", "b": "{{{{ \'<b>\' }}}}"}}', call_path="/v1/x",
    )  # fmt: skip
    for answer in (client.post(PREVIEW, sent), client.post(PART, sent), client.post(ADD, sent | {"cron": "x"})):
        body = answer.content.decode()
        assert answer.status_code == 200
        assert "<img" not in body
        assert "&lt;img src=x" in body


def test_the_preview_writes_nothing_within_its_budget(client):
    sent = filled(*[full_rack(f"r{n:02}") for n in range(12)])
    with statements() as found:
        assert client.post(PREVIEW, sent).status_code == 200
    assert writes(found) == []
    assert len(found) <= BUDGET
    one = filled(full_rack("r90"))
    with statements() as few:
        client.post(PREVIEW, one)
    assert len(few) == len(found)


def test_the_form_stays_within_the_budget(client):
    assert queries_of(client, ADD) <= BUDGET
    row = call_schedule()
    assert queries_of(client, f"{ADD}?copy={row.pk}") <= BUDGET
    assert queries_of(client, f"/admin/schedules/{row.pk}/edit/") <= BUDGET
