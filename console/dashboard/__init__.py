"""The dashboard: whether it is safe to go back to sleep."""

from console.dashboard.page import DashboardPage

__all__ = ["DashboardPage"]
