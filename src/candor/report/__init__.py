"""Measured numbers as tables and figures."""
