"""SkyRL's config: its keys, its override parser, its rules. Pure: no database, clock or web."""
