from datetime import timedelta

import pytest

from flowsched.errors import InvalidInput
from tasks.operations import (
    CODES,
    Operation,
    budget,
    disruptive,
    idempotent,
    operation,
    operation_check,
    operation_label,
    operation_name,
)


@pytest.mark.parametrize(
    ("kind", "arguments", "type_", "code", "information"),
    [
        # F-185
        ("power_on", {}, "power_control", "power_on", {"operation": 1, "forced": False}),
        # F-186
        ("power_off", {}, "power_control", "power_off", {"operation": 3, "forced": False}),
        ("power_off", {"forced": True}, "power_control", "force_power_off", {"operation": 4, "forced": True}),
        # F-187
        ("power_reset", {}, "power_control", "restart", {"operation": 5, "forced": False}),
        ("power_reset", {"forced": True}, "power_control", "force_restart", {"operation": 6, "forced": True}),
        # F-189, F-313: a direct ingest is stored as an ingest too
        ("bring_up", {}, "bring_up", "bring_up", {}),
        ("ingest", {}, "bring_up", "ingest", {"op_code": "ingest"}),
        # F-190: zero and empty are left out
        ("upgrade_firmware", {}, "firmware_control", "upgrade", {"operation": 1}),
        (
            "upgrade_firmware",
            {"target_version": "", "start_time": 0, "end_time": 0},
            "firmware_control",
            "upgrade",
            {"operation": 1},
        ),
        (
            "upgrade_firmware",
            {"target_version": "1.2", "start_time": 100, "end_time": 200},
            "firmware_control",
            "upgrade",
            {"operation": 1, "target_version": "1.2", "start_time": 100, "end_time": 200},
        ),
        # F-191: flags are left out when false
        (
            "power_on",
            {"override_readiness_check": True},
            "power_control",
            "power_on",
            {"operation": 1, "forced": False, "override_readiness_check": True},
        ),
        ("bring_up", {"override_readiness_check": True}, "bring_up", "bring_up", {"override_readiness_check": True}),
        (
            "upgrade_firmware",
            {"override_version_check": True, "sub_targets": ("bmc", "bios")},
            "firmware_control",
            "upgrade",
            {"operation": 1, "override_version_check": True, "sub_targets": ["bmc", "bios"]},
        ),
    ],
)
def test_operations_are_stored_as_flow_stores_them(kind, arguments, type_, code, information):
    """F-185, F-186, F-187, F-189, F-190, F-191; F-167: forced chooses the code."""
    assert operation(kind, **arguments) == Operation(type_, code, information)


def test_every_power_code_has_its_number():
    """F-188."""
    numbers = {row.code: row.number for row in CODES if row.type == "power_control"}
    assert numbers == {
        "power_on": 1,
        "force_power_on": 2,
        "power_off": 3,
        "force_power_off": 4,
        "restart": 5,
        "force_restart": 6,
        "warm_reset": 7,
        "cold_reset": 8,
    }


@pytest.mark.parametrize(
    ("kind", "arguments", "field"),
    [
        ("explode", {}, "operation"),
        ("inject_expectation", {}, "operation"),  # F-192: not to be asked for
        ("power_on", {"forced": True}, "forced"),
        ("ingest", {"forced": True}, "forced"),
        ("power_off", {"target_version": "1"}, "target_version"),
        ("bring_up", {"override_version_check": True}, "override_version_check"),
        ("upgrade_firmware", {"target_version": "x" * 256}, "target_version"),
        ("upgrade_firmware", {"target_version": "a\nb"}, "target_version"),
        ("upgrade_firmware", {"start_time": 200, "end_time": 100}, "end_time"),  # F-314
        ("upgrade_firmware", {"start_time": 200, "end_time": 200}, "end_time"),  # F-314
        ("upgrade_firmware", {"start_time": -1}, "start_time"),
        ("upgrade_firmware", {"sub_targets": [""]}, "sub_targets"),
        ("upgrade_firmware", {"sub_targets": ["x"] * 101}, "sub_targets"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_field(kind, arguments, field):
    """F-192, F-314."""
    with pytest.raises(InvalidInput) as caught:
        operation(kind, **arguments)
    assert list(caught.value.fields) == [field]


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (Operation("firmware_control", "upgrade", {"authentication_data": "s3cret"}), "authentication_data"),
        (Operation("power_control", "power_on", {"rule_id": "x"}), "rule_id"),
        (Operation("power_control", "upgrade", {}), "operation"),
        (Operation("nonsense", "power_on", {}), "operation"),
        (Operation("firmware_control", "upgrade", []), "information"),
        (Operation("power_control", "power_on", {"target_version": "1"}), "target_version"),
        (Operation("power_control", "power_on", {"override_readiness_check": "yes"}), "override_readiness_check"),
        (Operation("firmware_control", "upgrade", {"start_time": True}), "start_time"),
    ],
)
def test_an_operation_from_elsewhere_meets_the_same_rules(value, field):
    """F-191 as corrected by D-18: no rule, no secret."""
    with pytest.raises(InvalidInput) as caught:
        operation_check(value)
    assert field in caught.value.fields
    assert "s3cret" not in caught.value.message


def test_only_power_on_and_off_may_be_repeated():
    """D-16."""
    repeatable = {row.code for row in CODES if idempotent(row.type, row.code)}
    assert repeatable == {"power_on", "force_power_on", "power_off", "force_power_off"}
    assert not idempotent("power_control", "no such code")


def test_what_nobody_knows_is_taken_as_disruptive():
    assert disruptive("power_control", "restart")
    assert disruptive("no such type", "")
    assert not disruptive("power_control", "power_on")


@pytest.mark.parametrize(
    ("type_", "minutes"),
    [("power_control", 60), ("firmware_control", 60), ("inject_expectation", 60), ("bring_up", 120)],
)
def test_budgets(type_, minutes):
    """F-195."""
    assert budget(type_) == timedelta(minutes=minutes)


def test_other_types_have_no_budget():
    """F-195."""
    assert budget("decommission") is None


@pytest.mark.parametrize(
    ("type_", "code", "information", "expected"),
    [
        ("power_control", "power_on", {"forced": False}, "PowerOn, forced false"),
        ("power_control", "force_power_on", {"forced": True}, "ForcePowerOn, forced true"),
        ("power_control", "power_off", {}, "PowerOff, forced false"),
        ("power_control", "force_power_off", {"forced": True}, "ForcePowerOff, forced true"),
        ("power_control", "restart", {}, "Restart, forced false"),
        ("power_control", "force_restart", {"forced": True}, "ForceRestart, forced true"),
        ("power_control", "warm_reset", {}, "WarmReset, forced false"),
        ("power_control", "cold_reset", {}, "ColdReset, forced false"),
        ("firmware_control", "upgrade", {"target_version": "1.2"}, "FirmwareUpgrade, target version 1.2"),
        ("firmware_control", "downgrade", {"target_version": "1"}, "FirmwareDowngrade, target version 1"),
        ("firmware_control", "rollback", {}, "FirmwareRollback, target version "),
        ("firmware_control", "version", {}, "FirmwareVersion, target version "),
        ("bring_up", "bring_up", {}, "rack bring-up"),
        ("bring_up", "ingest", {}, "rack ingest"),
        ("decommission", "decommission", {}, "rack decommission"),
        ("odd", "strange", {}, "strange"),
    ],
)
def test_the_operation_as_one_string(type_, code, information, expected):
    """F-119."""
    assert operation_name(type_, code, information) == expected


def test_the_operation_in_a_sentence():
    assert operation_label("power_control", "force_power_off") == "forced power off"
    assert operation_label("firmware_control", "upgrade", {"target_version": "1.2"}) == "firmware upgrade to 1.2"
    assert operation_label("odd", "so_strange") == "so strange"
