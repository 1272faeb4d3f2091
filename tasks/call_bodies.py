"""HTTP calls in REST bodies and answers: the schema, piece by piece, and one reader, which is every other door's too.

`call_parse` names all that is wrong at once, in the words that the command line, the pages and a run use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from flowsched.errors import InvalidInput
from flowsched.rest.fields import OneOf, Strict, Text, Whole
from tasks.http.call import BACKOFFS, MAX_INSTANCES, MAX_RETRIES, MAX_TIMEOUT, METHODS, call_parse
from tasks.http.reading import MAX_LABEL, MAX_TEXT
from tasks.operations import Operation, OperationKind, OperationType
from tasks.rest import OperationIn

KINDS: Final = ("api", "gateway")
HTTP_CALL: Final = OperationType.HTTP.value
_TYPES: Final = (*OperationKind, HTTP_CALL)
_PLACE: Final = "operation"

# Parts of a call as the services name them -> as a body with an `operation` does; for RestView.field_names.
CALL_FIELDS: Final[Mapping[str, str]] = {
    f"{part}{dot}": f"{_PLACE}.{part}{dot}" for part in ("target", "identity", "policy") for dot in ("", ".")
}


@extend_schema_field({"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"})
class _Endpoint(serializers.CharField):
    """The name of an endpoint that this installation has; 404 for any other."""


@extend_schema_field({"type": "string", "pattern": "^[/{]", "maxLength": MAX_TEXT})
class _Path(serializers.CharField):
    """A path below the endpoint's base URL."""


@extend_schema_field({"type": "number", "exclusiveMinimum": 0, "maximum": MAX_TIMEOUT})
class _Seconds(serializers.FloatField):
    """Seconds, whole or not."""


@extend_schema_field({"type": "object", "additionalProperties": {}})
class _Document(serializers.DictField):
    """A JSON object; strings in it, at any depth, may be templates."""


def _endpoint() -> _Endpoint:
    return _Endpoint(help_text="The name of a configured endpoint, which says where it is and with what credentials.")


def _texts(what: str) -> serializers.DictField:
    return serializers.DictField(child=Text(max_length=MAX_TEXT), required=False, help_text=what)


class ApiTargetIn(Strict):
    """A request to an API. Path, query values, header values and strings of the body may be templates."""

    kind = OneOf(["api"])
    endpoint = _endpoint()
    method = OneOf(METHODS)
    path = _Path(help_text="Begins with one /, without query; no %, no .. and no host, after rendering too.")
    query = _texts("Name -> value.")
    body = _Document(required=False, allow_null=True, help_text="null or left out: none is sent. {}: an empty object.")
    headers = _texts("Name -> value; none that carries a credential, or that the connection owns.")


class GatewayTargetIn(Strict):
    """A notification: POST /notifications/<webhook_id> with the payload."""

    kind = OneOf(["gateway"])
    endpoint = _endpoint()
    webhook_id = Text(
        max_length=MAX_TEXT, help_text="1 to 64 lower-case letters, digits and inner hyphens; a template."
    )
    payload = _Document(help_text="Strings in it may be templates.")
    headers = _texts("Name -> value; none that carries a credential, or that the connection owns.")


@extend_schema_serializer(component_name="CallIdentity")
class IdentityIn(Strict):
    """As whom the call is made. The token is got when it is made, and kept nowhere."""

    described = {
        "oneOf": [
            {
                "properties": {
                    "kind": {"enum": ["none", "service_account"]},
                    "subject": {"type": "null"},
                    "consent_id": {"type": "null"},
                }
            },
            {
                "properties": {
                    "kind": {"enum": ["delegated_user"]},
                    "subject": {"type": "string", "minLength": 1},
                    "consent_id": {"type": "string", "minLength": 1},
                },
                "required": ["subject", "consent_id"],
            },
        ]
    }

    kind = OneOf(["none", "service_account", "delegated_user"])
    subject = Text(required=False, allow_null=True, max_length=MAX_LABEL, help_text="delegated_user: for whom.")
    consent_id = Text(
        required=False, allow_null=True, max_length=MAX_LABEL, help_text="delegated_user: by whose leave."
    )


@extend_schema_serializer(component_name="CallPolicy")
class PolicyIn(Strict):
    """How long, how often, how many at once."""

    timeout = _Seconds(required=False, help_text="Seconds of one attempt in all, connect to last byte; 120.")
    retries = Whole(required=False, min_value=0, max_value=MAX_RETRIES, help_text="Attempts after the first; 0.")
    retry_backoff = OneOf(BACKOFFS, required=False, help_text="The wait between attempts; exponential.")
    max_running_instances = Whole(
        required=False, allow_null=True, min_value=1, max_value=MAX_INSTANCES,
        help_text="Calls of this schedule under way at once, in all workers; null: any number.",
    )  # fmt: skip
    idempotency_key = Text(
        required=False, allow_null=True, max_length=MAX_TEXT,
        help_text="A template. An endpoint that honours keys gets one either way; null: the task's own.",
    )  # fmt: skip


@extend_schema_field(
    PolymorphicProxySerializer(
        component_name="CallTarget", serializers=[ApiTargetIn, GatewayTargetIn], resource_type_field_name=None
    )
)
class _Target(serializers.Field[Any, Any, Any, Any]):
    """Where the call goes."""


def _of_kind(kind: str, **more: Any) -> dict[str, Any]:
    return {"properties": {"target": {"properties": {"kind": {"const": kind}}}, **more.pop("properties", {})}, **more}


@extend_schema_serializer(component_name="HttpCall")
class HttpCallIn(Strict):
    """One HTTP call to a configured endpoint: an API as somebody, or a gateway as nobody."""

    described = {
        "oneOf": [
            _of_kind("api", required=["identity"], properties={"identity": {"type": "object"}}),
            _of_kind("gateway", properties={"identity": {"properties": {"kind": {"const": "none"}}}}),
        ]
    }

    type = OneOf([HTTP_CALL])
    target = _Target()
    identity = IdentityIn(required=False, allow_null=True, help_text="Of a gateway: none, or left out.")
    policy = PolicyIn(required=False, allow_null=True, help_text="Left out or null: what its parts are unless said.")

    def to_internal_value(self, data: Any) -> Operation:
        """The operation as it is stored. Raises InvalidInput that names every part at fault."""
        if not isinstance(data, Mapping):
            return super().to_internal_value(data)  # type: ignore[no-any-return]  # it refuses
        if data.get("type") != HTTP_CALL:
            raise serializers.ValidationError({"type": [f"This must be one of {HTTP_CALL}."]}, code="invalid_choice")
        kind, given = _kind(data)
        try:
            call = call_parse(kind, given)
        except InvalidInput as error:
            fields = {f"{_PLACE}.{place}": why for place, why in error.fields.items()}
            raise InvalidInput(error.message, reason=error.reason, fields=fields) from None
        return Operation(HTTP_CALL, call.code, call.information())


def _kind(data: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The kind of target, which is the operation's code, and the rest."""
    given = {key: value for key, value in data.items() if key != "type"}
    target = given.get("target")
    if not isinstance(target, Mapping):
        return KINDS[0], given  # whose reader says what is wrong with that
    kind = target.get("kind")
    if kind not in KINDS:
        raise InvalidInput(f"target.kind must be one of {', '.join(KINDS)}", field=f"{_PLACE}.target.kind")
    return str(kind), {**given, "target": {key: value for key, value in target.items() if key != "kind"}}


@extend_schema_field(
    PolymorphicProxySerializer(
        component_name="ScheduledOperation", serializers=[OperationIn, HttpCallIn], resource_type_field_name=None
    )
)
class ScheduledOperation(serializers.Field[Any, Any, Any, Any]):
    """What a schedule is to do: an operation on its racks, or an HTTP call."""

    def to_internal_value(self, data: Any) -> Operation:
        """The operation as it is stored."""
        if isinstance(data, Mapping) and "type" in data and data["type"] not in _TYPES:
            raise serializers.ValidationError(
                {"type": [f"This must be one of {', '.join(_TYPES)}."]}, code="invalid_choice"
            )
        body = HttpCallIn() if is_call(data) else OperationIn()
        found: Operation = body.run_validation(data)
        return found


def is_call(data: Any) -> bool:
    """Whether an operation in a body is meant to be an HTTP call."""
    return isinstance(data, Mapping) and data.get("type") == HTTP_CALL


def call_out(stored: Any) -> dict[str, Any] | None:
    """A stored operation as it can be sent again; None for one that is no call, or that nobody can read.

    Not parsed: a list of schedules would read every template of each of them anew.
    """
    if not is_call(stored) or stored.get("code") not in KINDS or not isinstance(stored.get("information"), Mapping):
        return None
    parts = [stored["information"].get(part) for part in ("target", "identity", "policy")]
    if not all(isinstance(part, Mapping) for part in parts):
        return None
    target, identity, policy = parts
    return {"type": HTTP_CALL, "target": {"kind": stored["code"], **target}, "identity": identity, "policy": policy}
