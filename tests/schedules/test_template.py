"""The stored operation: F-184 to F-194."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsched.errors import InvalidInput
from schedules.template import summary, template_dump, template_load
from tasks.operations import Operation, operation

POWER = "power_control"
FIRMWARE = "firmware_control"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        # F-185
        (operation("power_on"), {"type": POWER, "code": "power_on", "information": {"operation": 1, "forced": False}}),
        # F-186
        (
            operation("power_off"),
            {"type": POWER, "code": "power_off", "information": {"operation": 3, "forced": False}},
        ),
        (
            operation("power_off", forced=True),
            {"type": POWER, "code": "force_power_off", "information": {"operation": 4, "forced": True}},
        ),
        # F-187
        (
            operation("power_reset"),
            {"type": POWER, "code": "restart", "information": {"operation": 5, "forced": False}},
        ),
        (
            operation("power_reset", forced=True),
            {"type": POWER, "code": "force_restart", "information": {"operation": 6, "forced": True}},
        ),
        # F-189
        (operation("bring_up"), {"type": "bring_up", "code": "bring_up", "information": {}}),
        (operation("ingest"), {"type": "bring_up", "code": "ingest", "information": {"op_code": "ingest"}}),
        # F-190
        (operation("upgrade_firmware"), {"type": FIRMWARE, "code": "upgrade", "information": {"operation": 1}}),
        (
            operation("upgrade_firmware", target_version="1.2", start_time=10, end_time=20),
            {
                "type": FIRMWARE,
                "code": "upgrade",
                "information": {"operation": 1, "target_version": "1.2", "start_time": 10, "end_time": 20},
            },
        ),
        # F-191
        (
            operation(
                "upgrade_firmware", override_readiness_check=True, override_version_check=True, sub_targets=["bmc"]
            ),
            {
                "type": FIRMWARE,
                "code": "upgrade",
                "information": {
                    "operation": 1,
                    "override_version_check": True,
                    "sub_targets": ["bmc"],
                    "override_readiness_check": True,
                },
            },
        ),
    ],
)
def test_f184_each_operation_is_stored_and_read_back(asked, stored):
    """F-184."""
    assert template_dump(asked) == stored
    loaded = template_load(stored)
    assert (loaded.type, loaded.code, loaded.information) == (asked.type, asked.code, asked.information)
    assert loaded.queue_timeout is None


def test_f184_keys_are_omitted_when_zero_and_no_target_is_stored():
    """F-184."""
    assert set(template_dump(operation("power_on"), timedelta(0))) == {"type", "code", "information"}
    assert template_dump(operation("power_on"), timedelta(seconds=-1)) == template_dump(operation("power_on"))


def test_f128_f317_a_queue_timeout_is_stored_in_seconds_and_a_conflict_strategy_never_is():
    """F-128, F-317."""
    stored = template_dump(operation("power_on"), timedelta(minutes=2))
    assert stored["queue_timeout_secs"] == 120
    assert "conflict_strategy" not in stored
    assert template_load(stored).queue_timeout == timedelta(minutes=2)
    assert template_dump(operation("power_on"), timedelta(milliseconds=1))["queue_timeout_secs"] == 1


def test_a_queue_timeout_is_bounded():
    with pytest.raises(InvalidInput, match="366 days") as refused:
        template_dump(operation("power_on"), timedelta(days=367))
    assert refused.value.field == "queue_timeout"


def test_f285_a_rule_is_refused_not_stored_and_forgotten():
    """F-285, D-18: a schedule that names a rule would run without it."""
    with pytest.raises(InvalidInput) as refused:
        template_dump(operation("power_on"), None, "2f1e7dfc-3f1c-4b0e-8f55-0d3c5bb5e8aa")
    assert refused.value.field == "rule_id"
    with pytest.raises(InvalidInput, match="rule"):
        template_load(template_dump(operation("power_on")) | {"rule_id": "x"})


@pytest.mark.parametrize(
    ("type_", "code"), [("inject_expectation", "inject_expectation"), ("decommission", "decommission")]
)
def test_f192_what_no_schedule_may_do_is_refused(type_, code):
    """F-192."""
    with pytest.raises(InvalidInput, match="cannot be scheduled"):
        template_dump(Operation(type_, code, {}))
    with pytest.raises(InvalidInput, match="unknown type and code"):
        template_load({"type": type_, "code": code, "information": {}})


def test_f188_an_unknown_code_never_falls_back_to_power_on():
    """F-188."""
    with pytest.raises(InvalidInput, match="unknown"):
        template_load({"type": POWER, "code": "unknown", "information": {"operation": 0}})


@pytest.mark.parametrize(
    ("code", "type_", "said"),
    [
        ("power_on", POWER, ("POWER_ON", "Power On")),
        ("force_power_on", POWER, ("POWER_ON", "Power On")),
        ("power_off", POWER, ("POWER_OFF", "Power Off")),
        ("force_power_off", POWER, ("POWER_OFF", "Power Off (forced)")),
        ("restart", POWER, ("POWER_RESET", "Power Reset")),
        ("warm_reset", POWER, ("POWER_RESET", "Power Reset")),
        ("force_restart", POWER, ("POWER_RESET", "Power Reset (forced)")),
        ("cold_reset", POWER, ("POWER_RESET", "Power Reset (forced)")),
        ("bring_up", "bring_up", ("BRING_UP", "Bring Up")),
        ("ingest", "bring_up", ("INGEST", "Ingest")),
        ("upgrade", FIRMWARE, ("UPGRADE_FIRMWARE", "Upgrade Firmware to 1.2")),
        ("downgrade", FIRMWARE, ("DOWNGRADE_FIRMWARE", "Downgrade Firmware to 1.2")),
        ("rollback", FIRMWARE, ("ROLLBACK_FIRMWARE", "Rollback Firmware")),
    ],
)
def test_f193_every_known_code_in_words(code, type_, said):
    """F-193."""
    version = {"target_version": "1.2"} if type_ == FIRMWARE else {}
    assert summary({"type": type_, "code": code, "information": version}) == said


def test_f193_a_firmware_upgrade_without_a_version_names_none():
    """F-193."""
    assert summary({"type": FIRMWARE, "code": "upgrade", "information": {"operation": 1}})[1] == "Upgrade Firmware"


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        ({"type": POWER, "code": "slow-power_cycle"}, ("POWER_CONTROL", "slow power cycle")),
        ({"type": FIRMWARE, "code": "verify_only"}, ("FIRMWARE_CONTROL", "verify only")),
        ({"type": POWER, "code": ""}, ("POWER_CONTROL", "Power Control")),
        ({"type": FIRMWARE}, ("FIRMWARE_CONTROL", "Firmware Control")),
        ({"type": "fan_control", "code": "spin_up"}, ("FAN_CONTROL", "spin up")),
        ({}, ("", "")),
        (None, ("", "")),
        ({"type": FIRMWARE, "code": "upgrade", "information": "1.2"}, ("", "")),
    ],
)
def test_f194_what_is_unknown_is_said_as_well_as_can_be(stored, said):
    """F-194."""
    assert summary(stored) == said


@given(JSON | st.fixed_dictionaries({}, optional={"type": JSON, "code": JSON, "information": JSON}))
def test_f136_f316_words_never_fail_and_reading_fails_in_one_way(stored):
    """F-136, F-316: one bad row empties no list."""
    kind, words = summary(stored)
    assert isinstance(kind, str)
    assert isinstance(words, str)
    try:
        template_load(stored)
    except InvalidInput as error:
        said = error.message
    else:
        return
    assert "cannot be read" in said


@pytest.mark.parametrize(
    "spoilt",
    [
        {"information": []},
        {"queue_timeout_secs": "60"},
        {"queue_timeout_secs": True},
        {"queue_timeout_secs": 10**12},
        {"code": None},
        {"type": ["power_control"]},
        {"information": {"target_version": "1"}},
    ],
)
def test_a_spoilt_template_is_refused(spoilt):
    with pytest.raises(InvalidInput, match="cannot be read"):
        template_load(template_dump(operation("power_on")) | spoilt)
