"""Who sent a request, as group members are described to administrators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.groups import Client

if TYPE_CHECKING:
    from riverlog.broker.handler import Context


def requester(context: Context) -> Client:
    """Name the client; its host is written with a slash before it, which Kafka's tools expect to print."""
    return Client(context.client_id or "", f"/{context.connection.peer_host}")
