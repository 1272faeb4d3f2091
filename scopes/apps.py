"""Which racks a schedule covers."""

from django.apps import AppConfig


class ScopesConfig(AppConfig):
    """The scopes app; plugs into schedules/, which may not import it."""

    name = "scopes"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Plug in."""
        from schedules.ports import ports  # noqa: PLC0415  models exist only now
        from scopes import rows  # noqa: PLC0415

        ports.create_scopes = rows.create_scopes
        ports.delete_scopes = rows.delete_scopes
        ports.reset_streaks = rows.reset_streaks
