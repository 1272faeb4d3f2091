"""When what runs."""

from django.apps import AppConfig


class SchedulesConfig(AppConfig):
    """The schedules app."""

    name = "schedules"
    default_auto_field = "django.db.models.BigAutoField"
