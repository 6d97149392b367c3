"""Episodes: played by models and people, kept, opened again, branched."""
