"""Every way in, read from the product itself: URLs from its resolver, methods of the service from the wire's facts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_NUMBER, _TEXT = re.compile(r"<int:\w+>"), re.compile(r"<str:\w+>")


def routes() -> dict[str, Any]:
    """Route below /api/v1/ -> its view."""
    return {
        route.removeprefix("api/v1/"): pattern.callback
        for route, pattern in _patterns(get_resolver().url_patterns)
        if route.startswith("api/v1/")
    }


def elsewhere() -> set[str]:
    """Routes that are neither below /api/v1/ nor pages: tests/console/test_sweep.py asks for every one of those."""
    return {route for route, _ in _patterns(get_resolver().url_patterns) if not route.startswith(("api/v1/", "admin/"))}


def methods_of(view: Any) -> set[str]:
    """The methods that a view answers with something of its own."""
    found = getattr(view, "view_class", None) or view.cls
    return {method for method in METHODS if hasattr(found, method.lower())}


def path_to(route: str, value: str) -> str:
    """A route with `value` in each of its places; in those for numbers, one that nothing has."""
    return _TEXT.sub(lambda _: value, _NUMBER.sub("987654321", route))


def _patterns(patterns: list[URLPattern | URLResolver], before: str = "") -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        here = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _patterns(pattern.url_patterns, here)
        else:
            yield here, pattern
