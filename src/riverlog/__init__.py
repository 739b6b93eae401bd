"""riverlog: the event log for Python teams, speaking Apache Kafka's wire protocol.

Importing this package is light: each room (`riverlog.broker`, `riverlog.testing`, ...) is
imported by whoever needs it.
"""

__version__ = "0.1.0"
