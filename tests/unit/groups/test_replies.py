"""What an answer becomes when the log does not take what is behind it."""

from __future__ import annotations

from typing import Any

import pytest

from riverlog.groups.replies import (
    CommitReply,
    DeleteGroupsReply,
    OffsetDeleteReply,
    OffsetFetchReply,
    refused_by_log,
)
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

NOT_COORDINATOR = ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize(
    ("answer", "refused"),
    [
        (
            messages.JoinGroupResponse(member_id="a", generation_id=3),
            messages.JoinGroupResponse(error_code=NOT_COORDINATOR, member_id="a", protocol_name=None),
        ),
        (
            messages.SyncGroupResponse(assignment=b"mine"),
            messages.SyncGroupResponse(error_code=NOT_COORDINATOR),
        ),
        (
            messages.SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID),
            messages.SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID),
        ),
        (
            messages.LeaveGroupResponse(members=[messages.MemberResponse(member_id="a")]),
            messages.LeaveGroupResponse(error_code=NOT_COORDINATOR),
        ),
        (CommitReply([0, 12]), CommitReply([NOT_COORDINATOR, 12])),
        (OffsetFetchReply(0, [("t", [])]), OffsetFetchReply(NOT_COORDINATOR, [])),
        (OffsetDeleteReply(0, [0, 86]), OffsetDeleteReply(NOT_COORDINATOR, [])),
        (DeleteGroupsReply({"g": 0, "h": 68}), DeleteGroupsReply({"g": NOT_COORDINATOR, "h": 68})),
    ],
    ids=lambda value: type(value).__name__,
)
def test_no_answer_promises_what_is_not_stored(answer: Any, refused: Any) -> None:
    assert refused_by_log(answer, ErrorCode.KAFKA_STORAGE_ERROR) == refused


@pytest.mark.parametrize(
    ("log_error", "told"),
    [
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.INVALID_RECORD, ErrorCode.INVALID_RECORD),
    ],
)
def test_a_log_s_errors_are_told_in_a_group_s_words(log_error: ErrorCode, told: ErrorCode) -> None:
    assert refused_by_log(messages.SyncGroupResponse(), log_error).error_code == told


def test_a_commit_too_large_to_store_is_told_so() -> None:
    assert refused_by_log(CommitReply([0]), ErrorCode.MESSAGE_TOO_LARGE) == CommitReply(
        [ErrorCode.INVALID_COMMIT_OFFSET_SIZE]
    )
