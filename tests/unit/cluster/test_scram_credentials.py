"""Credentials: what is kept of a password, and that it survives a start."""

from __future__ import annotations

import base64
import hashlib
from contextlib import closing
from pathlib import Path

import pytest

from riverlog.cluster import Deletion, Refusal, ScramCredential, ScramMechanism, Upsertion
from riverlog.cluster.scram_credentials import decide_credentials, derive
from riverlog.coordination import LocalStore
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.cluster.builders import image, running_cluster

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512


def upsertion(user: str, mechanism: int = SHA_256, salted_password: bytes = b"p" * 32) -> Upsertion:
    return Upsertion(user, mechanism, 4096, b"salt", salted_password)


def test_what_is_kept_is_what_the_standards_example_proves_against() -> None:
    # RFC 7677: the password "pencil", with this salt and these iterations.
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", salt, 4096)

    kept = derive(Upsertion("user", SHA_256, 4096, salt, salted))

    assert kept == ScramCredential(
        4096,
        salt,
        base64.b64decode("WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY="),
        base64.b64decode("wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="),
    )


def test_the_longer_hash_keeps_longer_keys() -> None:
    kept = derive(upsertion("user", SHA_512))

    assert (len(kept.stored_key), len(kept.server_key)) == (64, 64)


@pytest.mark.parametrize("user", ["alice", "a/b", "..", "%", "ä"])
def test_credentials_survive_a_start_and_a_deletion_leaves_the_others(tmp_path: Path, user: str) -> None:
    path = str(tmp_path / "journal")
    with closing(running_cluster(LocalStore(path))) as cluster:
        assert cluster.change_credentials([upsertion(user)]) == {user: None}
        assert cluster.change_credentials([upsertion(user, SHA_512)]) == {user: None}
        kept = cluster.image.credentials

    with closing(running_cluster(LocalStore(path))) as cluster:
        assert cluster.image.credentials == kept
        assert cluster.change_credentials([Deletion(user, SHA_256)]) == {user: None}
        assert cluster.image.credentials == {user: {SHA_512: kept[user][SHA_512]}}
        assert cluster.change_credentials([Deletion(user, SHA_512)]) == {user: None}
        assert cluster.image.credentials == {}


def test_a_refused_user_keeps_what_it_has() -> None:
    before = image().with_credentials({"alice": {SHA_256: derive(upsertion("alice"))}})

    outcomes = decide_credentials(before, [Deletion("alice", SHA_256), upsertion("alice", SHA_512)])

    assert list(outcomes) == ["alice"]
    assert outcomes["alice"][0] == ErrorCode.DUPLICATE_RESOURCE


@pytest.mark.parametrize("edit", [upsertion("alice", salted_password=b""), upsertion("x" * 1000)])
def test_a_credential_that_cannot_be_kept_is_refused(edit: Upsertion) -> None:
    (outcome,) = decide_credentials(image(), [edit]).values()

    assert isinstance(outcome, Refusal)
    assert outcome.error_code == ErrorCode.UNACCEPTABLE_CREDENTIAL
