from bench.rows.compaction import BATCH_BYTES, clean_up_to, keyed_batches
from riverlog.protocol.records import read_records


def test_batches_are_equal_in_size_and_their_keys_are_counted() -> None:
    batches, key_count = keyed_batches(500_000, value_bytes=1000, seed=1)

    keys = {record.key for batch in batches for record in read_records(batch, 0)}
    assert len(keys) == key_count
    assert len({len(batch) for batch in batches}) == 1
    assert 0.9 * BATCH_BYTES < len(batches[0]) < 1.1 * BATCH_BYTES


def test_a_checkpoint_tells_how_far_a_topic_is_clean() -> None:
    checkpoint = "0\n3\nother 0 9\ntopic 1 8\ntopic 0 7\n"

    assert clean_up_to(checkpoint, "topic") == 7
    assert clean_up_to(checkpoint, "topi") == 0
    assert clean_up_to("0\n0\n", "topic") == 0
