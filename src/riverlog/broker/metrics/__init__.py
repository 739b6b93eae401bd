"""metrics: what a broker tells of itself, in the text format that Prometheus collects.

    counters     plain numbers that the hot path adds to
    table        every metric: name, kind, labels, meaning, and how it is read
      of_requests  of_partitions  of_groups  of_process
    scrape       what one request for metrics reads, in short steps
    exposition   metrics as text
    endpoint     `GET /metrics` on a listener of its own
    reference    the page docs/reference/metrics.md, made from the table

Rules: what the broker knows anyway is read when somebody asks; only what nothing else knows is counted, in
plain numbers. Reading never keeps the event loop for longer than a slice. Every label has a bound
(`metrics.series.max`).
"""
