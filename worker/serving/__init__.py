"""The embedded endpoint: the maze policy behind an OpenAI-compatible API, in plain vLLM's dialect.

`python -m worker.serving --home DIR` is a process of its own, on loopback, with a key of its own.
Of Skydeck it imports `app.maze` and the embedded trainer, and nothing else.
"""

# Before anything else loads numpy: it sets how many threads numpy's BLAS takes.
import worker.jobs.maze_grpo  # noqa: F401
