"""Tests of riverlog.cluster."""
