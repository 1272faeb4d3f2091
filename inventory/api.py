"""REST: racks, components, NVLink domains: look, create, move racks between domains."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from django.urls import path, reverse
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.views import RestView
from flowsched.rest.answers import Link
from flowsched.rest.bodies import read
from flowsched.rest.filtering import listed, parameters
from flowsched.rest.paging import only
from inventory.answers import (
    AttachedOut,
    ComponentCreatedOut,
    ComponentOut,
    ComponentsOut,
    DetachedOut,
    DomainDetailOut,
    DomainOut,
    DomainsOut,
    RackCreatedOut,
    RackOut,
    RacksOut,
    component_out,
    domain_detail_out,
    domain_out,
    rack_out,
)
from inventory.bodies import ComponentIn, DomainIn, RackIn, RacksIn
from inventory.filterset import ComponentFilters, DomainFilters, RackFilters, shows_components
from inventory.identifiers import parse_uuid
from inventory.rest import ID_SCHEMA
from inventory.searching import (
    component_by_id,
    components_live,
    domain_by_id,
    domains_live,
    rack_by_id,
    racks_live,
)
from inventory.selectors import racks_of_domains
from inventory.services import component_create, domain_create, rack_create, racks_attach, racks_detach

TAGS: Final = ["inventory"]
DEVICE: Final = {
    "id": "f3a1c2d4-1001-4000-8000-000000000001",
    "name": "rack-a01",
    "manufacturer": "NVIDIA",
    "model": "GB200 NVL72 Rack",
    "serial_number": "NVRK0001001",
}
TRAY: Final = {
    "type": "compute",
    "info": {
        "id": "f3a1c2d4-3001-4000-8000-000000000001",
        "name": "tray-01",
        "manufacturer": "NVIDIA",
        "serial_number": "C9000001",
    },
    "position": {"slot_id": 11, "tray_index": 0, "host_id": 0},
    "bmcs": [{"type": "host", "mac_address": "aa:bb:cc:01:00:01", "ip_address": "192.168.1.1"}],
}
RACK: Final = {
    "info": DEVICE,
    "location": {"region": "us-west", "datacenter": "SJC01", "room": "EW-A01", "position": "A01"},
    "components": [TRAY],
}
# A body's part that aims at the rack which was just shown.
_ON_RACK: Final = {"target_spec": {"racks": [{"id": "$response.body#/info/id"}]}}


def _id(noun: str) -> OpenApiParameter:
    return OpenApiParameter("id", ID_SCHEMA, OpenApiParameter.PATH, description=f"The {noun}'s id.")


class RacksView(RestView):
    """All racks."""

    verbs: ClassVar = {"GET": "rack.read", "POST": "rack.create"}
    links: ClassVar = {"POST": {"retrieve": Link("racks_retrieve", {"id": "$response.body#/info/id"})}}

    @extend_schema(
        operation_id="racks_list",
        summary="List racks",
        parameters=parameters(RackFilters),
        responses=RacksOut,
        tags=TAGS,
    )
    def get(self, request: Request) -> Response:
        """A page of racks, by name."""
        rows, about = listed(request, RackFilters, racks_live())
        shown = shows_components(request.query_params)
        return Response({"racks": [rack_out(row, with_components=shown) for row in rows], **about})

    @extend_schema(
        operation_id="racks_create",
        summary="Create a rack with its components",
        request=RackIn,
        responses={201: RackCreatedOut},
        examples=[OpenApiExample("A rack with one compute tray", RACK, request_only=True)],
        tags=TAGS,
    )
    def post(self, request: Request) -> Response:
        """Create a rack that is not there, all of it or nothing. The ids are yours: the same again is 409."""
        only(request, ())
        asked = read(RackIn, request)
        rack = rack_create(rack=asked.rack, by=self.by, now=self.caller.now)
        return _created("rack", {**rack_out(rack, with_components=True), "warnings": asked.warnings})


class RackView(RestView):
    """One rack."""

    verbs: ClassVar = {"GET": "rack.read"}
    links: ClassVar = {"GET": {name: Link(name, body=_ON_RACK) for name in ("schedules_create", "tasks_create")}}

    @extend_schema(
        operation_id="racks_retrieve",
        summary="Look at a rack and its components",
        parameters=[_id("rack")],
        responses=RackOut,
        tags=TAGS,
    )
    def get(self, request: Request, id: str) -> Response:
        """The rack."""
        only(request, ())
        return Response(rack_out(rack_by_id(parse_uuid(id), with_components=True), with_components=True))


class ComponentsView(RestView):
    """All components."""

    verbs: ClassVar = {"GET": "component.read", "POST": "component.create"}
    links: ClassVar = {"POST": {"retrieve": Link("components_retrieve", {"id": "$response.body#/info/id"})}}

    @extend_schema(
        operation_id="components_list",
        summary="List components",
        parameters=parameters(ComponentFilters),
        responses=ComponentsOut,
        tags=TAGS,
    )
    def get(self, request: Request) -> Response:
        """A page of components, by name, those in no rack included."""
        rows, about = listed(request, ComponentFilters, components_live())
        return Response({"components": [component_out(row) for row in rows], **about})

    @extend_schema(
        operation_id="components_create",
        summary="Create a component",
        request=ComponentIn,
        responses={201: ComponentCreatedOut},
        examples=[OpenApiExample("A compute tray", {**TRAY, "rack_id": DEVICE["id"]}, request_only=True)],
        tags=TAGS,
    )
    def post(self, request: Request) -> Response:
        """Create a component that is not there, in a rack or in none."""
        only(request, ())
        asked = read(ComponentIn, request)
        row = component_create(component=asked.component, rack_id=asked.rack_id, by=self.by, now=self.caller.now)
        return _created("component", {**component_out(row), "warnings": asked.warnings})


class ComponentView(RestView):
    """One component."""

    verbs: ClassVar = {"GET": "component.read"}

    @extend_schema(
        operation_id="components_retrieve",
        summary="Look at a component",
        parameters=[_id("component")],
        responses=ComponentOut,
        tags=TAGS,
    )
    def get(self, request: Request, id: str) -> Response:
        """The component."""
        only(request, ())
        return Response(component_out(component_by_id(parse_uuid(id))))


class DomainsView(RestView):
    """All NVLink domains."""

    verbs: ClassVar = {"GET": "nvl_domain.read", "POST": "nvl_domain.create"}
    links: ClassVar = {
        "POST": {
            name: Link(f"nvl_domains_{name}", {"id": "$response.body#/id"}) for name in ("retrieve", "attach", "detach")
        }
    }

    @extend_schema(
        operation_id="nvl_domains_list",
        summary="List NVLink domains",
        parameters=parameters(DomainFilters),
        responses=DomainsOut,
        tags=TAGS,
    )
    def get(self, request: Request) -> Response:
        """A page of domains, by name."""
        rows, about = listed(request, DomainFilters, domains_live())
        return Response({"nvl_domains": [domain_out(row) for row in rows], **about})

    @extend_schema(
        operation_id="nvl_domains_create",
        summary="Create an NVLink domain",
        request=DomainIn,
        responses={201: DomainOut},
        examples=[OpenApiExample("A domain", {"name": "nvl-01"}, request_only=True)],
        tags=TAGS,
    )
    def post(self, request: Request) -> Response:
        """Create a domain without racks."""
        only(request, ())
        domain = domain_create(**read(DomainIn, request), by=self.by, now=self.caller.now)
        return _created("nvl-domain", domain_out(domain))


class DomainView(RestView):
    """One NVLink domain."""

    verbs: ClassVar = {"GET": "nvl_domain.read"}

    @extend_schema(
        operation_id="nvl_domains_retrieve",
        summary="Look at an NVLink domain and its racks",
        parameters=[_id("NVLink domain")],
        responses=DomainDetailOut,
        tags=TAGS,
    )
    def get(self, request: Request, id: str) -> Response:
        """The domain."""
        only(request, ())
        domain = domain_by_id(parse_uuid(id))
        return Response(domain_detail_out(domain, racks_of_domains([domain.id])))


class DomainAttachView(RestView):
    """Putting racks into an NVLink domain."""

    verbs: ClassVar = {"POST": "nvl_domain.attach"}

    @extend_schema(
        operation_id="nvl_domains_attach",
        summary="Put racks into an NVLink domain",
        parameters=[_id("NVLink domain")],
        request=RacksIn,
        responses=AttachedOut,
        examples=[OpenApiExample("Two racks", {"racks": ["rack-a01", "rack-a02"]}, request_only=True)],
        tags=TAGS,
    )
    def post(self, request: Request, id: str) -> Response:
        """Put all these racks into it, or none: one that is in another domain is 409, one in this domain is skipped."""
        only(request, ())
        domain, racks = str(parse_uuid(id)), read(RacksIn, request)["racks"]
        moved = racks_attach(domain=domain, racks=racks, by=self.by, now=self.caller.now)
        return Response({"attached": moved.moved, "skipped": moved.skipped})


class DomainDetachView(RestView):
    """Taking racks out of an NVLink domain."""

    verbs: ClassVar = {"POST": "nvl_domain.detach"}

    @extend_schema(
        operation_id="nvl_domains_detach",
        summary="Take racks out of an NVLink domain",
        parameters=[_id("NVLink domain")],
        request=RacksIn,
        responses=DetachedOut,
        examples=[OpenApiExample("Two racks", {"racks": ["rack-a01", "rack-a02"]}, request_only=True)],
        tags=TAGS,
    )
    def post(self, request: Request, id: str) -> Response:
        """Take all these racks out of it, or none: one that is in another domain is 409, one in none is skipped."""
        only(request, ())
        domain, racks = str(parse_uuid(id)), read(RacksIn, request)["racks"]
        moved = racks_detach(domain=domain, racks=racks, by=self.by, now=self.caller.now)
        return Response({"detached": moved.moved, "skipped": moved.skipped})


def _created(name: str, body: dict[str, Any]) -> Response:
    thing = body.get("info", body)["id"]
    return Response(body, 201, headers={"Location": reverse(name, args=[thing])})


urlpatterns = [
    path("racks/", RacksView.as_view(), name="racks"),
    path("racks/<str:id>/", RackView.as_view(), name="rack"),
    path("components/", ComponentsView.as_view(), name="components"),
    path("components/<str:id>/", ComponentView.as_view(), name="component"),
    path("nvl-domains/", DomainsView.as_view(), name="nvl-domains"),
    path("nvl-domains/<str:id>/", DomainView.as_view(), name="nvl-domain"),
    path("nvl-domains/<str:id>/attach/", DomainAttachView.as_view(), name="nvl-domain-attach"),
    path("nvl-domains/<str:id>/detach/", DomainDetachView.as_view(), name="nvl-domain-detach"),
]
