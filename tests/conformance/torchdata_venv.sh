#!/usr/bin/env bash
# Makes an environment with the real torchdata (torch for CPUs) and SkyRL's data set code:
#   tests/conformance/torchdata_venv.sh DIR
# Exit status 75: no index has them. 1.1 GB, 20 s with wheels at hand.
set -uo pipefail
target=${1:?usage: torchdata_venv.sh DIR}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
uv="$root/.venv/bin/uv"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# uv does not read pip's settings: a folder of wheels that pip knows of.
links=(${PIP_FIND_LINKS:+--find-links "$PIP_FIND_LINKS"})

"$uv" venv --quiet --clear --python "$root/.venv/bin/python" "$target" || exit 1
install() { "$uv" pip install --quiet --python "$target/bin/python" "$@" 2>>"$log"; }
# The plain wheel of PyPI brings 3 GB of CUDA along.
if { install "${links[@]}" torch==2.13.0+cpu || install --torch-backend cpu torch==2.13.0; } &&
  install torchdata==0.11.0 numpy datasets loguru &&
  install --python-version 3.12 --no-deps skyrl==0.4.0; then
  exit 0
fi
cat "$log" >&2
if grep -Eqi 'error sending request|failed to fetch|connection (refused|reset)|dns error|timed out' "$log"; then
  exit 75
fi
exit 1
