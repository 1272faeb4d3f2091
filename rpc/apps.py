"""The gRPC door."""

from django.apps import AppConfig


class RpcConfig(AppConfig):
    """The rpc app; it has no rows of its own."""

    name = "rpc"
    default_auto_field = "django.db.models.BigAutoField"
