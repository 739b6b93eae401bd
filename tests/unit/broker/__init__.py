"""Tests of riverlog.broker."""
