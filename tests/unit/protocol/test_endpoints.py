from riverlog.protocol.endpoints import node_endpoints_tags

ONE_ENDPOINT = (
    b"\x01" + b"\0" + b"\x0f"  # one tagged field: tag 0, 15 bytes
    + b"\x02" + b"\0\0\0\x05" + b"\x02h" + b"\0\0\x23\x84" + b"\x03r1" + b"\0"
)  # fmt: skip


def test_endpoints_are_tagged_field_0() -> None:
    assert node_endpoints_tags([(5, "h", 9092, "r1")]) == ONE_ENDPOINT


def test_a_broker_without_a_rack_has_a_null_rack() -> None:
    assert node_endpoints_tags([(5, "h", 9092, None)]).endswith(b"\0\0\x23\x84" + b"\0" + b"\0")


def test_no_endpoints_are_no_tagged_fields() -> None:
    assert node_endpoints_tags([]) == b"\0"
