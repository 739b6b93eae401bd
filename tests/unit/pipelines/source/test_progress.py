"""The lag of a query from its progress."""

from __future__ import annotations

from riverlog.pipelines import query_lag


def test_the_lag_is_told_by_topic_and_partition_and_other_sources_are_passed_over() -> None:
    progress = {
        "sources": [
            {
                "endOffset": '{"clicks": {"0": 3, "1": 5}, "(begins)": {"clicks": {"0": 1}}}',
                "latestOffset": '{"clicks": {"0": 10, "1": 5}, "orders": {"0": 2}}',
            },
            {"endOffset": '{"clicks": {"0": 9}}', "latestOffset": '{"clicks": {"0": 10}}'},
            {"endOffset": "17", "latestOffset": "18"},
            {"endOffset": '{"logOffset": 3}', "latestOffset": None},
        ]
    }

    assert query_lag(progress) == {"clicks": {0: 7, 1: 0}, "orders": {0: 2}}
    assert query_lag(None) == {}
