"""Who may do what: callers, their permissions and their tokens."""

from django.apps import AppConfig


class AccessConfig(AppConfig):
    """The access app."""

    name = "access"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Listen for sessions that begin and end."""
        from axes.signals import user_locked_out  # noqa: PLC0415  models are ready only now
        from django.contrib.auth.signals import user_logged_in, user_logged_out  # noqa: PLC0415

        from access import sessions  # noqa: PLC0415

        user_logged_in.connect(sessions.signed_in, dispatch_uid="access.signed_in")
        user_logged_out.connect(sessions.signed_out, dispatch_uid="access.signed_out")
        user_locked_out.connect(sessions.locked_out, dispatch_uid="access.locked_out")
