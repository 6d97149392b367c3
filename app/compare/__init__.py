"""Runs beside each other: what differs between them, and what can honestly be said of it."""
