"""Projects: what belongs together, and who may look at it, work in it, and manage it."""
