"""Time passing: claims due schedules and fires them."""

from django.apps import AppConfig


class DispatcherConfig(AppConfig):
    """The dispatcher app."""

    name = "dispatcher"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Plug `withdraw` into schedules/, which may not import a folder below it."""
        from dispatcher.firing import withdraw  # noqa: PLC0415  models are ready only now
        from schedules.ports import ports  # noqa: PLC0415

        ports.withdraw = withdraw
