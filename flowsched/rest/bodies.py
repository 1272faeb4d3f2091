"""Reading a request's body: by a serializer, or refusing one where none is expected."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.serializers import Serializer

from flowsched.errors import InvalidInput


def read(kind: type[Serializer[Any]], request: Request) -> Any:
    """What a serializer makes of the body. Raises DRF's ValidationError, InvalidInput."""
    body = kind(data=request.data)
    body.is_valid(raise_exception=True)
    return body.validated_data


def nothing(request: Request) -> None:
    """Refuse a body that says something where nothing can be said; none and `{}` are fine."""
    if request.data not in ({}, None):
        raise InvalidInput("this takes no body: send none, or {}", field="body")
