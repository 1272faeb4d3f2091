"""Time passing: claims due schedules and fires them."""

from django.apps import AppConfig


class DispatcherConfig(AppConfig):
    """The dispatcher app."""

    name = "dispatcher"
    default_auto_field = "django.db.models.BigAutoField"
