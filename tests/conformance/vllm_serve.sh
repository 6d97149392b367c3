#!/usr/bin/env bash
# Runs COMMAND while the real vLLM serves the small model and its adapters, and ends it afterwards:
#   tests/conformance/vllm_serve.sh DIR MODELS COMMAND…
# DIR is vllm_env.sh's; MODELS holds tiny-qwen3vl and its adapters. COMMAND finds the server by
# SKYDECK_VLLM_URL and SKYDECK_VLLM_KEY. The server's log is DIR/server.log.
set -euo pipefail
target=$(realpath "${1:?usage: vllm_serve.sh DIR MODELS COMMAND…}")
models=$(realpath "${2:?usage: vllm_serve.sh DIR MODELS COMMAND…}")
shift 2
base=visgym-qwen3vl
key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
port=$("$target/bin/python" -S -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')

env PYTHONPATH="$target/shim" HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 HF_HOME="$target/hf" \
  VLLM_CACHE_ROOT="$target/cache" VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 VLLM_HOST_IP=127.0.0.1 \
  TORCHDYNAMO_DISABLE=1 VLLM_CPU_OMP_THREADS_BIND=nobind OMP_NUM_THREADS=1 VLLM_API_KEY="$key" \
  nice "$target/bin/python" -m vllm.entrypoints.openai.api_server \
  --model "$models/tiny-qwen3vl" --served-model-name "$base" --host 127.0.0.1 --port "$port" \
  --enforce-eager --dtype bfloat16 --max-model-len 6000 --max-num-seqs 8 \
  --limit-mm-per-prompt '{"image":20,"video":0}' --kv-cache-memory-bytes 67108864 \
  --enable-lora --max-lora-rank 32 --max-loras 2 --max-cpu-loras 4 \
  --lora-modules "$base:maze-stopfix=$models/tiny-qwen3vl-maze-stopfix" \
  "$base:maze-grpo=$models/tiny-qwen3vl-maze-grpo" >"$target/server.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true' EXIT

for ((waited = 0; waited < 300; waited++)); do
  if ! kill -0 "$server" 2>/dev/null || [ "$waited" -eq 299 ]; then
    tail -20 "$target/server.log" >&2
    exit 1
  fi
  if "$target/bin/python" -S -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$port/health')" 2>/dev/null; then
    break
  fi
  sleep 1
done
SKYDECK_VLLM_URL="http://127.0.0.1:$port/v1" SKYDECK_VLLM_KEY="$key" "$@"
