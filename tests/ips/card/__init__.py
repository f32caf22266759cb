"""Measurements on a card that is lent for minutes: one process, no installation, each figure written at once.

``docs/gpu-day.md`` has the commands in order.
"""
