"""The project as an app, so that it may hold commands."""

from django.apps import AppConfig


class FlowschedConfig(AppConfig):
    """Holds no models."""

    name = "flowsched"
