"""Which racks a schedule covers."""

from django.apps import AppConfig


class ScopesConfig(AppConfig):
    """The scopes app."""

    name = "scopes"
    default_auto_field = "django.db.models.BigAutoField"
