"""Tests of riverlog.broker.apis: what each API answers, on a broker without sockets."""
