"""Rows for tests: racks with components, in domains."""

from __future__ import annotations

from collections.abc import Sequence

import factory
from factory.django import DjangoModelFactory

from inventory.components import ComponentType
from inventory.models import Component, NVLDomain, Rack


class DomainFactory(DjangoModelFactory):
    class Meta:
        model = NVLDomain

    name = factory.Sequence(lambda n: f"nvl-{n:04d}")


class ComponentFactory(DjangoModelFactory):
    """A component; `rack=None` leaves it in none."""

    class Meta:
        model = Component

    rack = factory.SubFactory("tests.factories.RackFactory")
    name = factory.Sequence(lambda n: f"component-{n:05d}")
    serial_number = factory.Sequence(lambda n: f"C{n:08d}")
    manufacturer = "NVIDIA"
    type = ComponentType.COMPUTE.value


class RackFactory(DjangoModelFactory):
    """A rack; `components=3` gives it three, of `types` in turn (one INSERT)."""

    class Meta:
        model = Rack
        skip_postgeneration_save = True

    name = factory.Sequence(lambda n: f"rack-{n:04d}")
    serial_number = factory.Sequence(lambda n: f"R{n:08d}")
    manufacturer = "NVIDIA"

    @classmethod
    def _create(cls, model_class, *args, types: Sequence[str] = (), components: int = 0, **kwargs):
        rack = super()._create(model_class, *args, **kwargs)
        kinds = tuple(types) or (ComponentType.COMPUTE.value,)
        Component.objects.bulk_create(
            ComponentFactory.build(rack=rack, type=str(kinds[i % len(kinds)])) for i in range(components)
        )
        return rack
