"""The log as Arrow: record batches become columns, without a look at single records in Python.

     segments       segment files, in pieces (`segment_files`)
          |
     batches        whole? CRC right?           isolation      for readers, or aborted?
          |                                                    |
          +----------------------------------------------------+
          v
     arrays         blocks of many batches to one pyarrow.RecordBatch
          |
     kernels        the loops over bytes; compiled by numba where it is (`compiling`)
          |
     schema         which columns there are, and which are asked for

Promises
- From `batches` on down nothing touches a file, a socket or a clock.
- Any bytes are safe: what is no batch raises RemoteProtocolError, naming partition and offset where it can.
- The records are those that `riverlog.protocol.records` reads.
- Only this room loads pyarrow and numba: `pip install riverlog[arrow]`.
"""
