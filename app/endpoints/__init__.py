"""Endpoints: where models are served, how they are reached, and what was last seen of them."""
