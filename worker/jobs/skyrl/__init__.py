"""Programs that travel with a SkyRL job. Each stands alone: one file, started by its path."""
