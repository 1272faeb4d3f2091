"""How callers identify themselves, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # drf-spectacular's types are partial
    """The token. Being defined is being known: whoever makes the document imports this."""

    target_class = "access.rest.BearerAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """As OpenAPI writes it."""
        return {"type": "http", "scheme": "bearer", "description": "A token of `manage.py token create USER`."}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The admin's session."""

    target_class = "access.rest.CallerSessionAuthentication"
    name = "session"
    priority = 1

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """As OpenAPI writes it."""
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "sessionid",
            "description": "The session of the admin's login; changes take its CSRF token in X-CSRFToken.",
        }
