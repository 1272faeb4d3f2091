"""Operations: stand-in until the real module is merged."""

from __future__ import annotations

from datetime import timedelta


def idempotent(type_: str, code: str) -> bool:
    """Whether repeating it changes nothing."""
    return code in {"power_on", "force_power_on", "power_off", "force_power_off"}


def budget(type_: str) -> timedelta | None:
    """Total time it may take."""
    return {
        "power_control": timedelta(minutes=60),
        "firmware_control": timedelta(minutes=60),
        "bring_up": timedelta(minutes=120),
    }.get(type_)
