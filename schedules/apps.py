"""When what runs."""

from django.apps import AppConfig


class SchedulesConfig(AppConfig):
    """The schedules app; plugs into tasks/, which may not import it."""

    name = "schedules"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Plug in."""
        from schedules.streaks import call_ended  # noqa: PLC0415  models exist only now
        from tasks.ports import ports  # noqa: PLC0415

        ports.call_ended = call_ended
