"""Doubles shared by tests."""
