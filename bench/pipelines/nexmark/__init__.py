"""NEXMark: an online auction as a stream of events, and nine questions about it.

    generator.py   persons, auctions and bids in the proportion 1 : 3 : 46, from a seed
    queries.py     q0 to q8, as functions from the stream of events to a stream of answers

After P. Tucker, K. Tufte, V. Papadimos, D. Maier, "NEXMark: a benchmark for queries over data streams"; q0 is
the addition that everybody makes, the stream as it is.
"""
