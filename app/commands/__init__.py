"""The commands of `skydeck`. Each imports what it needs when it runs: `--help` stays quick."""
