"""Made racks for demonstrations and measurements, shaped like a GB200 NVL72 rack.

Pure and deterministic: the same prefix and seed give the same ids, so that making them again changes nothing, and
making more adds to those that are there.
"""

from __future__ import annotations

import hashlib
from uuid import NAMESPACE_URL, uuid5

from flowsched.errors import InvalidInput
from inventory.document import BmcDocument, ComponentDocument, Document, RackDocument
from inventory.identifiers import check_name

MAX_RACKS = 10_000
MAX_PREFIX = 100
_RACKS_PER_ROW = 20
# (type, name, manufacturer, model, how many BMCs beside the host's, firmware)
_PARTS = {
    "C": ("Compute", "gpu", "NVIDIA", "GB200 Compute Tray", 2, "24.09.1"),
    "N": ("NVSwitch", "nvswitch", "NVIDIA", "GB200 NVLink Switch", 0, "35.2014.1660"),
    "P": ("PowerShelf", "pwr", "NVIDIA", "GB200 Power Shelf", 0, "1.3.0"),
    "T": ("ToRSwitch", "leaf", "Mellanox", "MSN2201-CB2RC", 0, "5.9.2"),
}
# The parts of one rack (18, 9, 8 and 2), ordered so that the first few already hold one of each.
_ORDER = "CNPT" + "CCNCPCNCPCCNPCTNCPCCNPCNCPCNCPCNC"


def demo_document(
    *, racks: int, components: int, domains: int, prefix: str, seed: int, max_components: int
) -> Document:
    """`racks` racks of `components` components each, dealt out to `domains` domains (0: none)."""
    for name, value, most in (
        ("--racks", racks, MAX_RACKS),
        ("--components", components, max_components),
        ("--domains", domains, MAX_RACKS),
    ):
        if not (0 if name != "--racks" else 1) <= value <= most:
            raise InvalidInput(f"{name} {value}: give a number up to {most}", field=name[2:])
    check_name(prefix, what="the prefix", field="prefix")
    if len(prefix) > MAX_PREFIX:
        raise InvalidInput(f"the prefix is longer than {MAX_PREFIX} characters", field="prefix")
    maker = _Maker(prefix, seed, domains)
    made = tuple(maker.rack(index, components) for index in range(1, racks + 1))
    return Document(made, f"demo racks '{prefix}', seed {seed}")


class _Maker:
    def __init__(self, prefix: str, seed: int, domains: int) -> None:
        self.prefix, self.domains = prefix, domains
        self.space = uuid5(NAMESPACE_URL, f"flowsched:demo:{prefix}:{seed}")
        self.tag = hashlib.sha256(self.space.bytes).hexdigest()[:8].upper()

    def rack(self, index: int, components: int) -> RackDocument:
        """The rack of this number."""
        name = f"{self.prefix}-{index:04d}"
        row, place = divmod(index - 1, _RACKS_PER_ROW)
        domain = f"{self.prefix}-nvl-{(index - 1) % self.domains + 1}" if self.domains else None
        return RackDocument(
            id=uuid5(self.space, f"rack:{index}"),
            name=name,
            serial_number=f"DEMO{self.tag}{index:05d}",
            manufacturer="NVIDIA",
            model="GB200 NVL72 Rack",
            description="Made for demonstration",
            location=(
                ("region", "us-west"),
                ("data_center", "SJC01"),
                ("room", f"SJC01 EW-DH-{row // 10 + 1:02d}"),
                ("position", f"R{row + 1:03d}-{place + 1:02d}"),
            ),
            nvl_domain=domain,
            components=tuple(self._component(index, name, number) for number in range(components)),
            pointer=f"/{index - 1}",
        )

    def _component(self, rack: int, rack_name: str, number: int) -> ComponentDocument:
        turn, at = divmod(number, len(_ORDER))
        kind = _ORDER[at]
        tray = turn * _ORDER.count(kind) + _ORDER[:at].count(kind)
        type_, name, manufacturer, model, dpus, firmware = _PARTS[kind]
        serial = f"{kind}{self.tag}{rack:05d}{number:04d}"
        return ComponentDocument(
            id=uuid5(self.space, f"component:{rack}:{number}"),
            type=type_,
            name=f"{name}{tray + 1}-{rack_name}",
            serial_number=serial,
            manufacturer=manufacturer,
            model=model,
            firmware_version=firmware,
            slot_id=number + 1,
            tray_index=tray,
            host_id=0,
            bmcs=tuple(self._bmc(rack, number, which) for which in range(dpus + 1)),
            pointer=f"/{rack - 1}/components/{number}",
        )

    def _bmc(self, rack: int, number: int, which: int) -> BmcDocument:
        """Locally administered MACs: which of its component's, 16 bits of the set's own, rack (14 bits), component."""
        digits = f"{0x02 + 4 * which:02x}{self.tag[:4].lower()}{(rack << 10) + number:06x}"
        mac = ":".join(digits[i : i + 2] for i in range(0, 12, 2))
        host = which == 0
        address = f"10.{rack >> 6 & 255}.{(rack & 63) << 2 | number >> 8 & 3}.{number & 255}" if host else None
        return BmcDocument(mac, "Host" if host else "DPU", address)
