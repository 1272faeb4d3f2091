"""Who may do what: callers, their permissions and their tokens."""

from django.apps import AppConfig


class AccessConfig(AppConfig):
    """The access app."""

    name = "access"
    default_auto_field = "django.db.models.BigAutoField"
