"""Fields and serializers that take what they say and nothing like it.

DRF's own read 1 as "1" and "yes" as true, and pass over keys they do not know: a client that misspells a field would
be told that all went well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from rest_framework import serializers

_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", re.ASCII)


class Text(serializers.CharField):
    """A string, as it is: blanks count, numbers and booleans are refused."""

    default_error_messages = {"not_text": "This must be a string."}

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("trim_whitespace", False)
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> str:
        """The string."""
        if not isinstance(data, str):
            self.fail("not_text")
        return super().to_internal_value(data)


class Flag(serializers.BooleanField):
    """true or false."""

    default_error_messages = {"not_boolean": "This must be true or false."}

    def to_internal_value(self, data: Any) -> bool:
        """The boolean."""
        if not isinstance(data, bool):
            self.fail("not_boolean")
        return data


class Whole(serializers.IntegerField):
    """A whole number, not a string of digits."""

    default_error_messages = {"not_whole": "This must be a whole number."}

    def to_internal_value(self, data: Any) -> int:
        """The number."""
        if not isinstance(data, int) or isinstance(data, bool):
            self.fail("not_whole")
        return int(super().to_internal_value(data))


class Instant(serializers.DateTimeField):
    """An instant as RFC 3339 writes it, with its offset: a time without one could be any of 38."""

    default_error_messages = {"not_rfc3339": "This must be an RFC 3339 time with an offset: 2026-06-01T04:00:00Z."}

    def to_internal_value(self, value: Any) -> datetime:
        """The instant."""
        if not isinstance(value, str) or not _RFC3339.fullmatch(value):
            self.fail("not_rfc3339")
        return super().to_internal_value(value)


class OneOf(serializers.ChoiceField):
    """One of some words."""

    def __init__(self, choices: Iterable[str], **kwargs: Any) -> None:
        words = list(choices)
        messages: dict[str, Any] = {"invalid_choice": f"This must be one of {', '.join(words)}."}
        super().__init__(choices=words, error_messages=messages, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        """The word."""
        if not isinstance(data, str):
            self.fail("invalid_choice", input=data)
        return super().to_internal_value(data)


class Strict(serializers.Serializer[Any]):
    """A serializer for input: keys it does not know are errors that name them.

    `refused` says why a key that a client might expect is not taken here.
    """

    refused: Mapping[str, str] = {}
    described: Mapping[str, Any] = {}  # what its JSON schema says besides

    def to_internal_value(self, data: Any) -> Any:
        """The values, unless a key is unknown."""
        if isinstance(data, Mapping):
            known = {name for name, field in self.fields.items() if not field.read_only}
            unknown = [str(key) for key in data if key not in known]
            if unknown:
                raise serializers.ValidationError(
                    {key[:64]: [self.refused.get(key, "unknown field")] for key in unknown[:20]}, code="unknown_field"
                )
        return super().to_internal_value(data)
