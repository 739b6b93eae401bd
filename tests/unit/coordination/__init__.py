"""Tests of riverlog.coordination."""
