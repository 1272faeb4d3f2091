"""The operators' admin."""

from django.apps import AppConfig
from django.contrib import admin
from django.contrib.admin import apps as admin_apps


class ConsoleConfig(AppConfig):
    """The console app."""

    name = "console"
    default = True


class ConsoleAdminConfig(admin_apps.AdminConfig):
    """Django's admin, with our site."""

    default = False
    default_site = "console.site.ConsoleSite"

    def ready(self) -> None:
        """Take out what the queue's package registers: its pages change jobs past the services and their audit."""
        super().ready()
        from procrastinate.contrib.django.models import ProcrastinateJob  # noqa: PLC0415  models are ready only now

        admin.site.unregister(ProcrastinateJob)
