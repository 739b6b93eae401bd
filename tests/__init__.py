"""Tests of riverlog, by kind."""
