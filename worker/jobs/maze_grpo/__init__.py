"""The embedded trainer: GRPO with LoRA adapters on `maze_2d/easy`, numpy only.

A stand-alone job: it imports `app.maze` and nothing else of Skydeck.
"""

import os

# Before numpy loads its BLAS: on matrices this small a second thread only burns processor time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
