"""Racks, components and NVLink domains."""
