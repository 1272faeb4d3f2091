"""The operators' admin."""

from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps


class ConsoleConfig(AppConfig):
    """The console app."""

    name = "console"
    default = True


class ConsoleAdminConfig(admin_apps.AdminConfig):
    """Django's admin, with our site."""

    default = False
    default_site = "console.site.ConsoleSite"
