"""DescribeCluster."""

from __future__ import annotations

import pytest

from riverlog.broker.authorized_operations import NOT_ASKED, ON_CLUSTER
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.broker.apis.asking import PORT, AskedBroker


@pytest.mark.parametrize("version", range(3))
def test_the_cluster_is_told_in_every_version(asked: AskedBroker, version: int) -> None:
    answer = asked.ask(messages.DescribeClusterRequest(), version)

    assert (answer.error_code, answer.controller_id) == (0, 1)
    assert answer.cluster_id == asked.broker.cluster.image.cluster_id
    assert [(broker.broker_id, broker.host, broker.port) for broker in answer.brokers] == [
        (1, "127.0.0.1", PORT)
    ]
    assert answer.cluster_authorized_operations == NOT_ASKED


def test_operations_are_told_to_those_who_ask(asked: AskedBroker) -> None:
    answer = asked.ask(messages.DescribeClusterRequest(include_cluster_authorized_operations=True))

    assert answer.cluster_authorized_operations == ON_CLUSTER


@pytest.mark.parametrize(
    ("endpoint_type", "code"),
    [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (0, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE), (7, 115)],
)
def test_other_endpoints_than_brokers_are_refused(asked: AskedBroker, endpoint_type: int, code: int) -> None:
    answer = asked.ask(messages.DescribeClusterRequest(endpoint_type=endpoint_type))

    assert (answer.error_code, answer.brokers) == (code, [])
    assert answer.error_message
