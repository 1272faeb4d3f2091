import factory
from inventory.models import Component, Rack
class RackFactory(factory.django.DjangoModelFactory):
    class Meta: model = Rack; skip_postgeneration_save = True
    name = factory.Sequence(lambda n: f"rack{n:05}")
    serial_number = factory.Sequence(lambda n: f"S{n}")
    @factory.post_generation
    def components(self, create, n, **kw):
        Component.objects.bulk_create([Component(rack=self, type="Compute" if i%2==0 else "NVSwitch", name=f"{self.name}-{i}", serial_number=f"{self.name}-{i}") for i in range(n or 0)])
