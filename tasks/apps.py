"""Units of work on racks: admission, execution, cancellation."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate

from tasks.http.endpoints import endpoints


class TasksConfig(AppConfig):
    """The tasks app."""

    name = "tasks"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Refuse to start with endpoints that make no sense; `migrate` makes a permission for each."""
        endpoints()
        post_migrate.connect(_make_permissions, sender=self)


def _make_permissions(**_kwargs: object) -> None:
    """A permission for each endpoint that is configured now; those of endpoints that are gone stay."""
    from django.contrib.auth.models import Permission  # noqa: PLC0415  models exist only now
    from django.contrib.contenttypes.models import ContentType  # noqa: PLC0415

    from tasks.models import Task  # noqa: PLC0415

    kind = ContentType.objects.get_for_model(Task)
    for name in endpoints():
        Permission.objects.get_or_create(
            content_type=kind,
            codename=f"use_endpoint_{name}",
            defaults={"name": f"Can use the endpoint {name} for HTTP calls"},
        )
