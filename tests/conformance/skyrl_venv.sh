#!/usr/bin/env bash
# Makes an environment with the real SkyRL's config code, without torch, vLLM or Ray:
#   tests/conformance/skyrl_venv.sh DIR
# Exit status 75: the package index cannot be reached. 187 MB, 10 s with a warm cache.
set -uo pipefail
target=${1:?usage: skyrl_venv.sh DIR}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
uv="$root/.venv/bin/uv"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; }

# SkyRL 0.4.0 asks for Python 3.12; its config code also runs on 3.11.
python="$root/.venv/bin/python"
for candidate in python3.12 python3.13 python3.14 \
  "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[2-9]*/bin/python; do
  if is_new_enough "$candidate"; then
    python=$candidate
    break
  fi
done

omegaconf=$(grep -o '^omegaconf==[0-9.]*' "$root/requirements/run.lock")
"$uv" venv --quiet --clear --python "$python" "$target" || exit 1
install() { "$uv" pip install --quiet --python "$target/bin/python" "$@" 2>>"$log"; }
if install --python-version 3.12 --no-deps skyrl==0.4.0 skyrl-gym==0.4.0 &&
  install "$omegaconf" pyyaml numpy pandas requests loguru; then
  exit 0
fi
cat "$log" >&2
if grep -Eqi 'error sending request|failed to fetch|connection (refused|reset)|dns error|timed out' "$log"; then
  exit 75
fi
exit 1
