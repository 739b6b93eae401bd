from riverlog.protocol import messages, schema
from riverlog.protocol.codec import encode
from riverlog.protocol.writing import WriterCompiler

LEADER_TAG = b"\x01" + b"\0\x09" + b"\0\0\0\x02" + b"\0\0\0\x03" + b"\0"  # one: tag 0 of 9 bytes


def test_tagged_fields_are_written_in_the_order_of_their_tags() -> None:
    response = messages.ApiVersionsResponse(
        zk_migration_ready=True,
        finalized_features_epoch=1,
        supported_features=[messages.SupportedFeatureKey(name="f", min_version=0, max_version=1)],
    )

    body = encode(response, 3)

    tags = body[7:]
    assert tags == (
        b"\x03" + b"\x00\x08" + b"\x02" + b"\x02f" + b"\0\0" + b"\0\x01" + b"\0"
        + b"\x01\x08" + b"\0\0\0\0\0\0\0\x01"
        + b"\x03\x01" + b"\x01"
    )  # fmt: skip


def test_tagged_fields_at_their_defaults_are_not_written() -> None:
    assert encode(messages.ApiVersionsResponse(), 3) == b"\0\0" + b"\x01" + b"\0\0\0\0" + b"\0"


def test_a_tagged_field_of_a_later_version_is_not_written() -> None:
    leader = messages.ProduceResponseLeaderIdAndEpoch(leader_id=2, leader_epoch=3)
    partition = messages.PartitionProduceResponse(index=1, current_leader=leader)
    response = messages.ProduceResponse(
        responses=[messages.TopicProduceResponse(name="t", partition_responses=[partition])]
    )

    assert LEADER_TAG not in encode(response, 9)
    assert LEADER_TAG in encode(response, 10)


def test_null_and_empty_lists_differ() -> None:
    assert encode(messages.MetadataRequest(topics=None), 1) == b"\xff\xff\xff\xff"
    assert encode(messages.MetadataRequest(topics=[]), 1) == b"\0\0\0\0"
    assert encode(messages.MetadataRequest(topics=None), 9)[:1] == b"\0"
    assert encode(messages.MetadataRequest(topics=[]), 9)[:1] == b"\x01"


def test_a_nullable_structure_stands_behind_a_byte_that_says_whether_it_is_there() -> None:
    cursor = messages.DescribeTopicPartitionsRequestCursor(topic_name="t", partition_index=3)

    absent = encode(messages.DescribeTopicPartitionsRequest(cursor=None), 0)
    present = encode(messages.DescribeTopicPartitionsRequest(cursor=cursor), 0)

    assert absent.endswith(b"\xff" + b"\0")
    assert present.endswith(b"\x01" + b"\x02t" + b"\0\0\0\x03" + b"\0" + b"\0")


def test_long_lists_of_numbers_are_written_whole() -> None:
    topic = messages.OffsetFetchRequestTopic(name="t", partition_indexes=list(range(1000)))

    body = encode(messages.OffsetFetchRequest(group_id="g", topics=[topic]), 5)

    assert body.endswith(b"".join(i.to_bytes(4, "big") for i in range(1000)))


def test_neighbouring_values_of_fixed_size_are_packed_in_one_go() -> None:
    source = WriterCompiler(schema.load("init_producer_id"), "InitProducerIdResponse", 2).source.text()

    assert source.count("pack_") == 1
