"""Measure pipelines: riverlog's source and sink on Spark beside what else does the same, on one machine.

    python -m bench.pipelines                      every row
    python -m bench.pipelines windowed-count       one row
    python -m bench.pipelines --record             write the newest results into docs/performance.md

    command ──▶ turns ──▶ rows/NAME.py ──▶ in_own_process(a Spark session) | a Java program
                  │            │                        │
                  ▼            ▼                        ▼
                report      contest (pure)     one broker: riverlog, the same for all

Rules, beside those of `bench`:
- All contenders of a row read the same topic of the same broker, one after the other, in alternating order.
- Each turn is a new process of the contender, with a heap of the same size and as many threads as cores.
- What came out is checked before it counts: rows and bytes read, or the sum of all counts.
- CPU and memory are those of the contender with all its children (a JVM, Python's workers); the broker's CPU
  is shown beside.
"""
