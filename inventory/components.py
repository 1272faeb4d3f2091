"""Component and BMC types: the stored names, and every spelling that is read as one of them (F-11, F-204, D-20)."""

from __future__ import annotations

from enum import StrEnum

from flowsched.errors import InvalidInput


class ComponentType(StrEnum):
    """What a component is; the value is the stored name."""

    COMPUTE = "Compute"
    NVSWITCH = "NVSwitch"
    POWERSHELF = "PowerShelf"
    TORSWITCH = "ToRSwitch"
    UMS = "UMS"
    CDU = "CDU"


class BmcType(StrEnum):
    """Whose management controller it is; the value is the stored name."""

    UNKNOWN = "Unknown"
    HOST = "Host"
    DPU = "DPU"


class PowerState(StrEnum):
    """Last known power state of a component; empty while nobody has looked."""

    UNSET = ""
    ON = "on"
    OFF = "off"
    DISABLED = "disabled"
    UNKNOWN = "unknown"


_SPELLINGS = {member.value.lower(): member for member in ComponentType} | {"nvlswitch": ComponentType.NVSWITCH}


def parse_component_type(text: str, *, field: str = "component_types") -> ComponentType:
    """The type that `text` names, in any letter case. Raises InvalidInput that lists the known ones."""
    found = _SPELLINGS.get(text.strip().lower())
    if found is None:
        known = ", ".join(member.value.lower() for member in ComponentType)
        raise InvalidInput(f"unknown component type '{text[:64]}': use one of {known}", field=field)
    return found


def parse_bmc_type(text: str, *, field: str = "type") -> BmcType:
    """The BMC type that `text` names, in any letter case; empty is Unknown. Raises InvalidInput otherwise."""
    for member in BmcType:
        if member.value.lower() == (text.strip().lower() or "unknown"):
            return member
    raise InvalidInput(f"unknown BMC type '{text[:64]}': use host or dpu", field=field)
