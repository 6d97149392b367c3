#!/usr/bin/env bash
# Makes an environment with the real MLflow client: tests/conformance/mlflow_venv.sh DIR
# Exit status 75: the package index cannot be reached. 130 MB, 10 s with a warm cache.
set -uo pipefail
target=${1:?usage: mlflow_venv.sh DIR}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
uv="$root/.venv/bin/uv"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

"$uv" venv --quiet --clear --python "$root/.venv/bin/python" "$target" || exit 1
if "$uv" pip install --quiet --python "$target/bin/python" "mlflow-skinny==3.17.2" 2>"$log"; then
  exit 0
fi
cat "$log" >&2
if grep -Eqi 'error sending request|failed to fetch|connection (refused|reset)|dns error|timed out' "$log"; then
  exit 75
fi
exit 1
