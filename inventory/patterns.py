"""Patterns by which lists of racks, components and domains are filtered (F-176)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import BooleanField, F, Func, Q, Value

from flowsched.errors import InvalidInput
from inventory.identifiers import check_text

MAX_PATTERNS = 1_000
MAX_PATTERN = 512


@dataclass(frozen=True, slots=True)
class Query:
    """What a text column must be: one of `patterns`, or, with `is_wildcard`, like all of them, with `use_or` any.

    No patterns: anything. In a wildcard `%` stands for any text, `_` for one character and a backslash takes the
    meaning of the next; without `%` at either end the pattern is looked for anywhere.
    """

    patterns: Sequence[str] = ()
    is_wildcard: bool = False
    use_or: bool = False


def condition(column: str, query: Query) -> Q:
    """`query` on `column`, a name of ours. InvalidInput for patterns too many, too long, unprintable."""
    check_query(query)
    if not query.patterns:
        return Q()
    if not query.is_wildcard:
        return Q(**{f"{column}__in": list(query.patterns)})
    return Q(_Like(column, [_anywhere(pattern) for pattern in query.patterns], every=not query.use_or))


def check_query(query: Query) -> None:
    """Refuse patterns that are too many, too long or unprintable."""
    if len(query.patterns) > MAX_PATTERNS:
        raise InvalidInput(f"{len(query.patterns)} patterns are more than the limit of {MAX_PATTERNS}", field="filters")
    for pattern in query.patterns:
        check_text(pattern, what="the pattern", field="filters", most=MAX_PATTERN)


class _Like(Func):
    """LIKE against an array of patterns: one parameter, however many there are."""

    output_field = BooleanField()

    def __init__(self, column: str, patterns: list[str], *, every: bool) -> None:
        joiner = " LIKE ALL(" if every else " LIKE ANY("
        super().__init__(F(column), Value(patterns), arg_joiner=joiner, template="%(expressions)s::text[])")


def _anywhere(pattern: str) -> str:
    backslashes = len(pattern) - len(pattern.rstrip("\\"))
    if backslashes % 2:  # takes the meaning of nothing: PostgreSQL calls that an error, here it is itself
        pattern += "\\"
    return pattern if pattern.startswith("%") or pattern.endswith("%") else f"%{pattern}%"
