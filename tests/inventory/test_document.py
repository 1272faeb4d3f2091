"""Reading a rack file: F-113, F-269…F-271 as far as a file shows them; faults with file, pointer and reason."""

from __future__ import annotations

import json

import pytest

from flowsched.errors import InvalidInput
from inventory import document
from inventory.document import KEEP, parse
from inventory.identifiers import parse_ip, parse_mac, parse_uuid, uuid_or_none

TEXT = "f3a1c2d4-1001-4000-8000-00000000abcd"


def read(value, *, most=1000):
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return parse(data, source="racks.json", max_components=most)


def faults(value, **options):
    with pytest.raises(InvalidInput) as caught:
        read(value, **options)
    for pointer, reason in caught.value.fields.items():
        assert f"racks.json {pointer or '(the whole file)'}: {reason}" in caught.value.message
    return caught.value.fields


@pytest.mark.parametrize(
    "form", [TEXT, TEXT.upper(), TEXT.replace("-", ""), f"{{{TEXT}}}", f"urn:uuid:{TEXT}", f"URN:UUID:{TEXT}"]
)
def test_f113_every_form_of_a_uuid_is_read(form):
    assert str(parse_uuid(form)) == TEXT


@pytest.mark.parametrize(
    "form", ["", TEXT[:-1], f"{{{TEXT}", TEXT.replace("-", "", 1), f" {TEXT}", TEXT + "\n", "१" * 32]
)
def test_f113_nothing_else_is_a_uuid(form):
    assert uuid_or_none(form) is None
    with pytest.raises(InvalidInput, match="is not a UUID"):
        parse_uuid(form)


@pytest.mark.parametrize("form", ["AA:BB:CC:01:00:0f", "aa-bb-cc-01-00-0F", "aabb.cc01.000f", "aabbcc01000f"])
def test_macs_come_out_in_one_form(form):
    assert parse_mac(form) == "aa:bb:cc:01:00:0f"


@pytest.mark.parametrize("form", ["aa:bb:cc:01:00", "aa:bb-cc:01:00:0f", "gg:bb:cc:01:00:0f", "aa:bb:cc:01:00:0f\n"])
def test_other_macs_are_refused(form):
    with pytest.raises(InvalidInput, match="not a MAC"):
        parse_mac(form)


def test_ips_come_out_as_the_database_writes_them():
    assert parse_ip("2001:DB8::0001") == "2001:db8::1"
    assert parse_ip("::ffff:10.0.0.1") == "10.0.0.1"
    for bad in ("10.0.0.256", "fe80::1%eth0", "10.0.0.1/24"):
        with pytest.raises(InvalidInput):
            parse_ip(bad)


def test_f269_f270_f271_the_example_rack(example):
    found = read(example)
    [rack] = found.racks
    assert (rack.name, rack.model, rack.external_id, rack.nvl_domain) == ("r01", "GB200 NVL72 Rack", KEEP, KEEP)
    assert dict(rack.location) == {
        "region": "us-west",
        "data_center": "SJC01",
        "room": "SJC01 EW-A01-DH-01",
        "position": "A01",
    }
    assert [c.type for c in rack.components] == ["ToRSwitch"] * 2 + ["Compute"] * 2 + ["NVSwitch"] * 2 + [
        "PowerShelf"
    ] * 2
    tray = rack.components[2]
    assert (tray.slot_id, tray.tray_index, tray.host_id, tray.external_id) == (11, 0, 0, None)
    assert [(b.mac_address, b.type, b.ip_address) for b in tray.bmcs] == [
        ("aa:bb:cc:01:00:01", "Host", "192.168.1.1"),
        ("aa:bb:cc:02:00:01", "DPU", None),
        ("aa:bb:cc:02:01:01", "DPU", None),
    ]


def test_f271_logins_are_dropped_with_one_counting_warning(example):
    found = read(example)
    assert found.warnings == ("logins of 6 BMCs are dropped: user and password are never stored",)
    assert "changeme" not in repr(found)
    assert "admin" not in repr(found)


def test_f270_a_missing_position_is_minus_one(example):
    del example["components"][0]["position"]
    example["components"][1]["position"] = {"slot_id": 4}
    first, second = read(example).racks[0].components[:2]
    assert (first.slot_id, first.tray_index, first.host_id) == (-1, -1, -1)
    assert (second.slot_id, second.tray_index, second.host_id) == (4, -1, -1)


def test_other_spellings_of_keys(example):
    example["location"] = {"data_center": "X"}
    example["components"][2]["bmcs"] = [{"type": "HOST", "mac_address": "AA-BB-CC-01-00-01", "ip_address": "10.0.0.1"}]
    rack = read(example).racks[0]
    assert rack.location == (("data_center", "X"),)
    assert rack.components[2].bmcs[0].mac_address == "aa:bb:cc:01:00:01"
    example["location"] = {"data_center": "X", "datacenter": "Y"}
    example["components"][2]["bmcs"][0]["mac"] = "aa:bb:cc:01:00:01"
    assert faults([example]).keys() == {"/0/location/datacenter", "/0/components/2/bmcs/0/mac_address"}


def test_absent_keeps_and_empty_clears(example):
    example |= {"external_id": "", "nvl_domain": None}
    example["components"][0]["component_id"] = "ext-1"
    del example["components"][1]["component_id"]
    rack = read([example]).racks[0]
    assert (rack.external_id, rack.nvl_domain) == (None, None)
    assert [c.external_id for c in rack.components[:3]] == ["ext-1", KEEP, None]


def change(rack, path, value):
    *way, last = path
    for key in way:
        rack = rack[key]
    rack[last] = value


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("info", "id"), "", "is empty"),
        (("info", "id"), "nope", "not a UUID"),
        (("info", "id"), "00000000-0000-0000-0000-000000000000", "zero UUID"),
        (("info", "id"), 7, "must be a string, not a number"),
        (("info", "name"), "x" * 256, "256 characters"),
        (("info", "name"), " r01", "blanks around"),
        (("info", "name"), "r\t1", "control characters"),
        (("info", "name"), "r\x00", "control characters"),
        (("info", "name"), "r\u2028x", "control characters"),
        (("info", "name"), None, "is missing"),
        (("info", "serial_number"), "", "is empty"),
        (("info", "manufacturer"), ["x"], "must be a string, not a list"),
        (("info", "description"), "a\x00", "control characters"),
        (("info", "description"), "x" * 10_001, "10001 characters"),
        (("info",), [], "must be an object, not a list"),
        (("info",), None, "is missing"),
        (("location",), "x", "must be an object, not a string"),
        (("location", "room"), 1, "must be a string"),
        (("components",), {}, "must be a list, not an object"),
        (("nvl_domain",), 5, "must be a string"),
        (("external_id",), "a\nb", "control characters"),
        (("components", 3), 1, "must be an object, not a number"),
        (("components", 3, "type"), "gpu", "unknown component type 'gpu'"),
        (("components", 3, "type"), None, "is missing"),
        (("components", 3, "info", "serial_number"), True, "must be a string, not true"),
        (("components", 3, "position", "slot_id"), "1", "must be a whole number, not a string"),
        (("components", 3, "position", "slot_id"), 1.0, "must be a whole number"),
        (("components", 3, "position", "host_id"), True, "must be a whole number, not true"),
        (("components", 3, "position", "tray_index"), 2**31, "must be between"),
        (("components", 3, "firmware_version"), "x" * 256, "256 characters"),
        (("components", 3, "bmcs", 0, "mac"), "aa:bb", "not a MAC"),
        (("components", 3, "bmcs", 0, "mac"), "", "is empty"),
        (("components", 3, "bmcs", 0, "ip"), "1.2.3", "not an IP"),
        (("components", 3, "bmcs", 0, "type"), "ilo", "unknown BMC type"),
    ],
)
@pytest.mark.parametrize("many", [False, True])
def test_f173_faults_name_their_place(example, path, value, reason, many):
    change(example, path, value)
    found = faults([example] if many else example)
    pointer = "".join(f"/{key}" for key in ((0, *path) if many else path))
    assert found.keys() == {pointer}
    assert reason in found[pointer]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        (("components", 1, "info", "id"), ("components", 0, "info", "id")),
        (("components", 1, "info", "name"), ("components", 0, "info", "name")),
        (("components", 1, "info", "serial_number"), ("components", 0, "info", "serial_number")),
        (("components", 3, "bmcs", 1, "mac"), ("components", 2, "bmcs", 0, "mac")),
    ],
)
def test_what_may_occur_once_in_a_file(example, path, source):
    value = example
    for key in source:
        value = value[key]
    change(example, path, value.upper() if path[-1] == "mac" else value)
    pointer, first = ("".join(f"/{key}" for key in keys) for keys in (path, source))
    found = faults(example)
    assert found.keys() == {pointer}
    assert found[pointer].endswith(f"is also at {first}")


def test_racks_repeated_in_a_file(example):
    bare = {**example, "components": [], "external_id": "e"}
    assert faults([bare, bare]).keys() == {"/1/info/id", "/1/info/name", "/1/info/serial_number", "/1/external_id"}
    for component in example["components"][:2]:
        component["component_id"] = "same"
    assert faults(example).keys() == {"/components/1/component_id"}
    example["components"][0]["type"] = "cdu"  # another type: another thing
    read(example)


def test_only_twenty_faults_are_listed_and_the_rest_counted(example):
    racks = [{**example, "components": [], "info": {}} for _ in range(9)]
    assert len(faults(racks)) == 20
    with pytest.raises(InvalidInput, match=r"and 7 more$"):
        read(racks)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a":\n  ,', "line 2, column 3"),
        (b"", "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"3", "holds a number"),
        (b'"x"', "holds a string"),
        (b"[" * 200_000, "nested too deeply"),
        (b"[1" + b"0" * 5000 + b"]", "too many digits"),
    ],
)
def test_what_is_no_rack_file_says_why(data, reason):
    with pytest.raises(InvalidInput, match=reason) as caught:
        read(data)
    assert caught.value.message.startswith("racks.json: ")


def test_a_byte_order_mark_is_harmless(example):
    assert read(b"\xef\xbb\xbf" + json.dumps(example).encode()).racks


def test_repeated_keys_are_refused(example):
    text = json.dumps([example]).replace('"name": "r01"', '"name": "r01", "name": "r02"')
    assert faults(text.encode()) == {"/0/info/name": "this key is given twice"}


def test_numbers_that_json_lacks_are_refused_even_under_keys_nobody_reads(example):
    text = json.dumps([example]).replace("43", "NaN").replace('"region"', '"a/b~c": {"deep": -Infinity}, "region"')
    assert faults(text.encode()) == {
        "/0/components/0/position/slot_id": "NaN is not a JSON number",
        "/0/location/a~1b~0c/deep": "-Infinity is not a JSON number",
    }
    assert faults(b"[Infinity]") == {"/0": "Infinity is not a JSON number"}


def test_unknown_keys_are_warned_of_once_a_kind(example):
    example["colour"] = "red"
    for component in example["components"]:
        component["info"]["asset/tag"] = 1
    warnings = read([example]).warnings
    assert warnings[0] == "unknown key 'colour' is ignored (at /0/colour)"
    assert warnings[1].endswith("ignored (8 places, the first is /0/components/0/info/asset~1tag)")
    many = {**example, "components": [], **{f"key{n}": 1 for n in range(30)}}
    assert read(many).warnings[-1] == "other unknown keys at 11 places are ignored as well"


def test_limits_of_components_bmcs_and_bytes(example, monkeypatch):
    assert "limit of 7 a rack (FLOWSCHED_MAX_COMPONENTS_PER_RACK)" in faults(example, most=7)["/components"]
    example["components"][2]["bmcs"] = example["components"][2]["bmcs"] * 11
    assert "limit of 32" in faults(example)["/components/2/bmcs"]
    monkeypatch.setattr(document, "MAX_FILE_BYTES", 2**20)
    with pytest.raises(InvalidInput, match="limit of 1 MiB"):
        read(b" " * (2**20 + 1))
