"""Record batches as they are stored, fetched from a broker: a small blocking client for readers.

     cluster        which broker leads a partition; asks again when that changes, within a deadline
          |
     connection     one socket: frames, correlation ids, versions that both sides speak
          |
     partition      the fetch loop of one partition, one request ahead of its reader
          |
     requests       what is asked, and what an answer means: pure

librdkafka, which the client room uses, hands out records one by one and never the bytes of a batch; decoding
by the column needs these. The messages are those of `riverlog.protocol`. Whatever it does not do, joining
groups or writing for a start, is librdkafka's business. Connections are plain: no TLS, no passwords.
"""
