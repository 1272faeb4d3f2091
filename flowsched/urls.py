"""URL composition of the project; the doors that need URLs add themselves here."""

from django.urls import URLPattern, URLResolver

urlpatterns: list[URLPattern | URLResolver] = []
