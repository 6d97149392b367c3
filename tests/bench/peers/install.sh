#!/usr/bin/env bash
# Makes an environment for each peer, newest versions: tests/bench/peers/install.sh DIR [NAME…]
# Then: make bench PEERS="trackio=DIR/trackio mlflow=DIR/mlflow" (with SKYDECK_SHARED). 1 GB.
set -euo pipefail
target=${1:?usage: install.sh DIR [NAME…]}
shift
[ $# -gt 0 ] || set -- trackio mlflow
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
uv="$root/.venv/bin/uv"

for name in "$@"; do
  "$uv" venv --quiet --clear --seed --python "$root/.venv/bin/python" "$target/$name"
  "$uv" pip install --quiet --python "$target/$name/bin/python" "$name"
done
