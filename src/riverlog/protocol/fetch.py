"""Fetch (API 1, versions 4 to 18): the hot path's own codec.

`read_fetch` reads a request; `write_fetch_response` writes a response as chunks, with the records left as
the objects that were handed in, so that they can leave by `sendfile` and never pass through Python's memory.
The compiled codecs of `messages.FetchRequest` and `FetchResponse` read and write the same bytes; property
tests hold the two against each other. The layouts are in `fetch_request` and `fetch_response`.
"""

from riverlog.protocol.endpoints import NodeEndpoint
from riverlog.protocol.fetch_request import FetchPartition, FetchRequest, Topic, read_fetch
from riverlog.protocol.fetch_response import Chunks, FetchedPartition, Records, write_fetch_response

__all__ = [
    "read_fetch",
    "FetchRequest",
    "FetchPartition",
    "Topic",
    "write_fetch_response",
    "FetchedPartition",
    "Records",
    "Chunks",
    "NodeEndpoint",
]
