"""Pure parsers: bytes of a job's log or dump in; points, events and diagnoses out."""
