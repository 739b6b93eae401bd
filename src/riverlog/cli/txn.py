"""`riverlog txn`: list, describe, producers, abort."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from riverlog.cli.arguments import (
    Subparsers,
    add_command,
    add_connection,
    add_dry_run,
    add_json,
    add_subcommands,
    connection,
    position,
    whole_number,
)
from riverlog.cli.table import print_json, print_table, show_time

if TYPE_CHECKING:
    from riverlog.cli.plain_cluster import PlainCluster
    from riverlog.protocol import messages

STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")
UNDECIDED = ("Ongoing", "PrepareCommit", "PrepareAbort")

_TEXT = """\
A transaction writes to several partitions, and commits offsets, all at once or not at all. Readers of
committed data wait before the first record of one that is open. A transaction whose producer died is
aborted by its coordinator when its time is over; one that no coordinator knows of any more holds readers
back for ever, and is aborted by hand."""

_EXAMPLES = """\
  riverlog txn list --state Ongoing --longer-than 15m
  riverlog txn describe payments-1
  riverlog txn producers orders
  riverlog txn abort orders --partition 2 --start-offset 1042 --dry-run"""


def add_to(commands: Subparsers) -> None:
    """Add the command and its subcommands to the command line."""
    parser = add_command(commands, "txn", "list, describe and abort transactions", _TEXT, _EXAMPLES)
    subcommands = add_subcommands(parser)
    _add_list(subcommands)
    _add_describe(subcommands)
    _add_producers(subcommands)
    _add_abort(subcommands)


# list


def _add_list(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "list",
        "list transactional ids with their state",
        "Every broker is asked for the ids that it coordinates.",
        "  riverlog txn list\n  riverlog txn list --state Ongoing --longer-than 15m --json",
    )
    parser.add_argument(
        "--state",
        dest="states",
        metavar="STATE",
        choices=STATES,
        action="append",
        default=[],
        help=f"only ids in this state: {', '.join(STATES)}; may be repeated",
    )
    parser.add_argument(
        "--producer-id",
        dest="producer_ids",
        metavar="N",
        type=whole_number,
        action="append",
        default=[],
        help="only the id that has this producer id; may be repeated",
    )
    parser.add_argument(
        "--longer-than",
        metavar="AGE",
        type=position,
        help="only transactions that began longer ago than this: 30s, 15m, 2h, 7d",
    )
    add_json(parser)
    add_connection(parser)
    parser.set_defaults(run=_list, refuse=parser.error)


def _list(arguments: argparse.Namespace) -> int:
    from riverlog.cli.plain_cluster import PlainCluster
    from riverlog.client.positions import Kind

    duration_ms = -1
    if arguments.longer_than is not None:
        if arguments.longer_than.kind is not Kind.TIME:
            arguments.refuse("--longer-than expects an age (30s, 15m, 2h, 7d)")
        duration_ms = max(int(time.time() * 1000) - arguments.longer_than.number, 0)
    with PlainCluster(connection(arguments)) as cluster:
        listed = _listed(cluster, arguments.states, arguments.producer_ids, duration_ms)
    if arguments.json:
        for each in listed:
            print_json(
                {
                    "transactional_id": each.transactional_id,
                    "producer_id": each.producer_id,
                    "state": each.transaction_state,
                }
            )
    else:
        print_table(
            ["transactional id", "producer id", "state"],
            [[each.transactional_id, each.producer_id, each.transaction_state] for each in listed],
        )
    return 0


def _listed(
    cluster: PlainCluster, states: list[str], producer_ids: list[int], duration_ms: int = -1
) -> list[messages.ListTransactionsResponseTransactionState]:
    """Ask every broker; sorted by id."""
    from riverlog.cli.plain_cluster import LIST_TRANSACTIONS, refuse
    from riverlog.protocol import messages

    listed: list[messages.ListTransactionsResponseTransactionState] = []
    for broker in cluster.brokers():
        reply = cluster.ask(
            broker,
            LIST_TRANSACTIONS,
            messages.ListTransactionsRequest(
                state_filters=states, producer_id_filters=producer_ids, duration_filter=duration_ms
            ),
        )
        refuse(reply.error_code, "listing transactions")
        listed += reply.transaction_states
    return sorted(listed, key=lambda each: each.transactional_id)


# describe


def _add_describe(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "describe",
        "show how far the transactions of ids have come",
        "Partitions are those of the open transaction.",
        "  riverlog txn describe payments-1",
    )
    parser.add_argument("ids", metavar="ID", nargs="+", help="transactional ids to describe")
    add_json(parser)
    add_connection(parser)
    parser.set_defaults(run=_describe, list_argument="ids")


def _describe(arguments: argparse.Namespace) -> int:
    from riverlog.cli.plain_cluster import DESCRIBE_TRANSACTIONS, PlainCluster, refuse
    from riverlog.protocol import messages

    with PlainCluster(connection(arguments)) as cluster:
        described = []
        for transactional_id in arguments.ids:
            request = messages.DescribeTransactionsRequest(transactional_ids=[transactional_id])
            coordinator = cluster.coordinator_of(transactional_id)
            (told,) = cluster.ask(coordinator, DESCRIBE_TRANSACTIONS, request).transaction_states
            refuse(told.error_code, f"describing {transactional_id!r}")
            described.append(told)
    if arguments.json:
        for told in described:
            print_json(
                {
                    "transactional_id": told.transactional_id,
                    "state": told.transaction_state,
                    "producer_id": told.producer_id,
                    "producer_epoch": told.producer_epoch,
                    "timeout_ms": told.transaction_timeout_ms,
                    "start_timestamp": told.transaction_start_time_ms,
                    "partitions": {each.topic: list(each.partitions) for each in told.topics},
                }
            )
        return 0
    print_table(
        ["transactional id", "state", "producer id", "epoch", "timeout ms", "begun", "partitions"],
        [
            [
                told.transactional_id,
                told.transaction_state,
                told.producer_id,
                told.producer_epoch,
                told.transaction_timeout_ms,
                show_time(told.transaction_start_time_ms) if told.transaction_start_time_ms >= 0 else None,
                [f"{each.topic}-{index}" for each in told.topics for index in each.partitions] or None,
            ]
            for told in described
        ],
    )
    return 0


# producers


def _add_producers(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "producers",
        "show the producers that a topic's partitions remember",
        "Where one has an open transaction, `open from` is the offset of its first record: readers of\n"
        "committed data wait there.",
        "  riverlog txn producers orders --open",
    )
    parser.add_argument("topic", metavar="TOPIC", help="topic to look into")
    parser.add_argument("--open", action="store_true", help="only those that have an open transaction")
    add_json(parser)
    add_connection(parser)
    parser.set_defaults(run=_producers)


def _producers(arguments: argparse.Namespace) -> int:
    from riverlog.cli.plain_cluster import PlainCluster

    with PlainCluster(connection(arguments)) as cluster:
        found = [
            (index, each)
            for index in cluster.partitions_of(arguments.topic)
            for each in _producers_of(cluster, arguments.topic, index)
            if each.current_txn_start_offset >= 0 or not arguments.open
        ]
    if arguments.json:
        for index, each in found:
            print_json(
                {
                    "topic": arguments.topic,
                    "partition": index,
                    "producer_id": each.producer_id,
                    "producer_epoch": each.producer_epoch,
                    "last_sequence": each.last_sequence,
                    "last_timestamp": each.last_timestamp,
                    "open_from": each.current_txn_start_offset
                    if each.current_txn_start_offset >= 0
                    else None,
                }
            )
        return 0
    print_table(
        ["partition", "producer id", "epoch", "last sequence", "last written", "open from"],
        [
            [
                index,
                each.producer_id,
                each.producer_epoch,
                each.last_sequence,
                show_time(each.last_timestamp),
                each.current_txn_start_offset if each.current_txn_start_offset >= 0 else None,
            ]
            for index, each in found
        ],
    )
    return 0


def _producers_of(cluster: PlainCluster, topic: str, partition: int) -> list[messages.ProducerState]:
    from riverlog.cli.plain_cluster import DESCRIBE_PRODUCERS, refuse
    from riverlog.protocol import messages

    request = messages.DescribeProducersRequest(
        topics=[messages.DescribeProducersRequestTopicRequest(name=topic, partition_indexes=[partition])]
    )
    reply = cluster.ask(cluster.leader_of(topic, partition), DESCRIBE_PRODUCERS, request)
    (told,) = reply.topics[0].partitions
    refuse(told.error_code, f"describing the producers of {topic}-{partition}")
    return list(told.active_producers)


# abort


def _add_abort(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "abort",
        "abort a transaction in one partition, where nobody else would",
        "For transactions that no coordinator knows of any more. One that a coordinator still has is\n"
        "refused: it is aborted when its time is over, or when a producer with its transactional id\n"
        "starts. --force aborts it all the same, in this partition alone.",
        "  riverlog txn abort orders --partition 2 --start-offset 1042 --dry-run",
    )
    parser.add_argument("topic", metavar="TOPIC", help="topic that the transaction wrote to")
    parser.add_argument("-p", "--partition", metavar="N", type=whole_number, required=True, help="partition")
    parser.add_argument(
        "--start-offset",
        metavar="OFFSET",
        type=whole_number,
        required=True,
        help="the first record of the transaction, as `riverlog txn producers` shows it",
    )
    parser.add_argument("--force", action="store_true", help="also if its coordinator still knows of it")
    add_dry_run(parser)
    add_json(parser)
    add_connection(parser)
    parser.set_defaults(run=_abort)


def _abort(arguments: argparse.Namespace) -> int:
    from riverlog.cli.plain_cluster import PlainCluster
    from riverlog.errors import RiverlogError

    place = f"{arguments.topic}-{arguments.partition}"
    with PlainCluster(connection(arguments)) as cluster:
        found = [
            each
            for each in _producers_of(cluster, arguments.topic, arguments.partition)
            if each.current_txn_start_offset == arguments.start_offset
        ]
        if not found:
            raise RiverlogError(f"no open transaction begins at offset {arguments.start_offset} of {place}")
        (producer,) = found
        known = [
            each
            for each in _listed(cluster, [], [producer.producer_id])
            if each.transaction_state in UNDECIDED
        ]
        if known and not arguments.force:
            raise RiverlogError(
                f"the transaction is that of {known[0].transactional_id!r}, in state"
                f" {known[0].transaction_state}: its coordinator will end it (--force aborts it here)"
            )
        if not arguments.dry_run:
            _write_abort(cluster, arguments, producer)
    done = {
        "topic": arguments.topic,
        "partition": arguments.partition,
        "start_offset": arguments.start_offset,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "aborted": not arguments.dry_run,
    }
    if arguments.json:
        print_json(done)
    else:
        said = "would be aborted" if arguments.dry_run else "is aborted"
        print(f"the transaction of producer {producer.producer_id} at {place} {said}")
    return 0


def _write_abort(cluster: PlainCluster, arguments: argparse.Namespace, producer: Any) -> None:
    from riverlog.cli.plain_cluster import WRITE_TXN_MARKERS, refuse
    from riverlog.protocol import messages

    marker = messages.WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=False,
        coordinator_epoch=max(producer.coordinator_epoch, 0),
        topics=[
            messages.WritableTxnMarkerTopic(name=arguments.topic, partition_indexes=[arguments.partition])
        ],
    )
    leader = cluster.leader_of(arguments.topic, arguments.partition)
    reply = cluster.ask(leader, WRITE_TXN_MARKERS, messages.WriteTxnMarkersRequest(markers=[marker]))
    (result,) = reply.markers[0].topics[0].partitions
    refuse(result.error_code, "aborting the transaction")
