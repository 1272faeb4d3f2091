"""Units of work on racks: admission, execution, cancellation."""

from django.apps import AppConfig


class TasksConfig(AppConfig):
    """The tasks app."""

    name = "tasks"
    default_auto_field = "django.db.models.BigAutoField"
