"""Measure riverlog against Apache Kafka, on one machine, in turns.

    python -m bench                     every row of the budget table
    python -m bench small --runs 5      one row, five turns each
    python -m bench --profile small     riverlog alone, under cProfile

Absolute figures swing by a factor of two from hour to hour on a shared machine, so nothing here is judged by
one: both brokers are up, they take turns under the same load, and what is compared with a budget is the
median of the ratios of neighbouring turns.

    command ──▶ schedule ──▶ rows/NAME.py ──▶ in_own_process(load) ──▶ wire + connection | librdkafka
                   │              │                                          │
                   ▼              ▼                                          ▼
                 report        row (figures, budgets)             peer | subject (a broker process)

Rules:
- The load generator is an independent client. It writes protocol bytes by hand (`wire`) or drives librdkafka;
  it imports nothing of riverlog, so that it cannot share a misunderstanding with the broker.
- The load runs in a process of its own and costs as little CPU as can be had: it shares the machine with the
  broker. Its CPU is reported beside the broker's, so that a reader sees which of the two was the limit.
- What is counted is what was acknowledged, and what was acknowledged is checked against the log's end offset.
- A row is one file in `rows`: its loads, its figures, its budgets.
"""
