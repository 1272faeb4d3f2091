"""Racks, components, NVLink domains."""

from django.apps import AppConfig


class InventoryConfig(AppConfig):
    """The inventory app."""

    name = "inventory"
    default_auto_field = "django.db.models.BigAutoField"
