"""Decides on credentials of SCRAM users (KIP-554, RFC 5802).

Clients send a salted password; what is kept cannot be turned back into it:

    stored key = H(HMAC(salted password, "Client Key"))      server key = HMAC(salted password, "Server Key")

All that a request asks of one user is done or none of it; a user is named once in a request.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from riverlog.cluster.changes import Change, Refusal
from riverlog.cluster.metadata_image import MetadataImage, ScramCredential, ScramMechanism
from riverlog.cluster.stored_nodes import credentials_path, encode_credentials
from riverlog.coordination import ANY_VERSION, PATH_BYTES_MAX, Create, Delete, Operation, Set
from riverlog.errors import RequestRefused
from riverlog.protocol.error_codes import ErrorCode

ITERATIONS_MIN, ITERATIONS_MAX = 4_096, 16_384


HASHES = {ScramMechanism.SCRAM_SHA_256: "sha256", ScramMechanism.SCRAM_SHA_512: "sha512"}


class Deletion(NamedTuple):
    """Remove a user's credential."""

    user: str
    mechanism: int


class Upsertion(NamedTuple):
    """Give a user a credential, in place of the one that there may be."""

    user: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes


def decide_credentials(
    image: MetadataImage, edits: Sequence[Deletion | Upsertion]
) -> dict[str, Change | Refusal]:
    """Decide on edits, by user in the order asked for; of a user's refusals the first is told."""
    counts = Counter(edit.user for edit in edits)
    outcomes: dict[str, Change | Refusal] = {}
    for edit in edits:
        if isinstance(outcomes.get(edit.user), Refusal):
            continue
        try:
            _check(image, edit)
            if counts[edit.user] > 1:
                raise RequestRefused(ErrorCode.DUPLICATE_RESOURCE, "the user is named twice in this request")
            outcomes[edit.user] = _decide(image, edit)
        except RequestRefused as refused:
            outcomes[edit.user] = Refusal(refused.error_code, refused.message)
    return outcomes


def _check(image: MetadataImage, edit: Deletion | Upsertion) -> None:
    if not edit.user:
        raise RequestRefused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "the user's name is empty")
    if edit.mechanism not in ScramMechanism.__members__.values():
        raise RequestRefused(
            ErrorCode.UNSUPPORTED_SASL_MECHANISM, f"{edit.mechanism} is not a SCRAM mechanism"
        )
    if isinstance(edit, Deletion):
        if edit.mechanism not in image.credentials.get(edit.user, {}):
            raise RequestRefused(ErrorCode.RESOURCE_NOT_FOUND, "the user has no such credential")
        return
    if not ITERATIONS_MIN <= edit.iterations <= ITERATIONS_MAX:
        raise RequestRefused(
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            f"{edit.iterations} iterations; between {ITERATIONS_MIN} and {ITERATIONS_MAX} are accepted",
        )
    if not edit.salted_password:
        raise RequestRefused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "the salted password is empty")
    if len(credentials_path(edit.user).encode()) > PATH_BYTES_MAX:
        raise RequestRefused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "the user's name is too long")


def _decide(image: MetadataImage, edit: Deletion | Upsertion) -> Change:
    former = image.credentials.get(edit.user, {})
    credentials = dict(former)
    if isinstance(edit, Deletion):
        del credentials[edit.mechanism]
    else:
        credentials[edit.mechanism] = derive(edit)
    return Change(_operations(edit.user, former, credentials), credentials=(edit.user, credentials))


def derive(upsertion: Upsertion) -> ScramCredential:
    """Work out what is kept of a salted password."""
    name = HASHES[ScramMechanism(upsertion.mechanism)]
    client_key = hmac.digest(upsertion.salted_password, b"Client Key", name)
    return ScramCredential(
        iterations=upsertion.iterations,
        salt=upsertion.salt,
        stored_key=hashlib.new(name, client_key).digest(),
        server_key=hmac.digest(upsertion.salted_password, b"Server Key", name),
    )


def _operations(
    user: str, former: Mapping[int, ScramCredential], credentials: Mapping[int, ScramCredential]
) -> tuple[Operation, ...]:
    path = credentials_path(user)
    if not credentials:
        return (Delete(path, ANY_VERSION),)
    content = encode_credentials(credentials)
    return (Set(path, content, ANY_VERSION),) if former else (Create(path, content),)
