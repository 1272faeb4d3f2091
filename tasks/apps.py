"""Units of work on racks: admission, execution, cancellation."""

from django.apps import AppConfig

from tasks.http.endpoints import endpoints


class TasksConfig(AppConfig):
    """The tasks app."""

    name = "tasks"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Refuse to start with endpoints that make no sense."""
        endpoints()
