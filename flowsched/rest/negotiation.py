"""Answers are JSON whatever `Accept` says; reading a hostile one costs nothing then."""

from __future__ import annotations

from typing import Any

from rest_framework.negotiation import DefaultContentNegotiation


class AlwaysJson(DefaultContentNegotiation):
    """The view's first renderer."""

    def select_renderer(self, request: Any, renderers: Any, format_suffix: str | None = None) -> tuple[Any, str]:
        """Take it."""
        return renderers[0], renderers[0].media_type
