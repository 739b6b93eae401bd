"""Bytes to messages and back: Kafka's wire protocol, and nothing else.

     bytes from a peer                                                             bytes to a peer
          |                                                                               ^
      framing      cut into frames, within a size limit                                   |
          |                                                                               |
      headers      which API, version and correlation id; whose                           |
          |                                                                               |
          +--- key 0 ---> produce    by hand: records stay where they are ----------------+
          +--- key 1 ---> fetch      by hand: records pass through as objects ------------+
          +--- others --> wire       codec: compiled per message and version -------------+
                           |            ^
                           v            |
                        messages     one plain class per message, for all versions
                           ^
                           |         definitions/*.txt, read by schema, when first needed
                           |
      codec     bodies alone: the consumer protocol, records of internal topics

      batches, records, compression      what is inside a partition's records
      versions      which APIs and versions exist      error_codes      what can go wrong, by number

Promises
- Pure: no clock, socket, thread or randomness. It reads files only to load its own definitions.
- Whatever a peer sends either parses or raises RemoteProtocolError, in time and memory bounded by its own
  size. Bytes after a message are passed over, as Apache Kafka does. What we could not send correctly raises
  LocalProtocolError.
- The bytes are those of Apache Kafka 4.3.1, in every version that `versions.APIS` names.
- Importing is light, and a message costs nothing until a first one of its kind and version is met: then its
  reader or writer is compiled (about a millisecond) and kept.

Import the module that has what you need: `from riverlog.protocol import headers, messages, wire`.
"""
