"""Code that people upload for their runs: checked, stored, and put into a job's package."""
