"""Skydeck: launch, watch, compare, serve and play with RL training runs on Ray."""

__version__ = "0.1.0"
