"""Reads scripts, commands and config files that people paste. Pure: nothing is ever executed."""
