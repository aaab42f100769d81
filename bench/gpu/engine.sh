#!/bin/sh
# llama.cpp's server on a GPU, from its sources, with a model that is made on the spot. Each step keeps what it made in HOME_DIR.
#   engine.sh build HOME_DIR LLAMA.tar.xz        four minutes on 16 cores
#   engine.sh model HOME_DIR TOKENIZER.json      20 seconds; needs PyTorch
#   engine.sh start HOME_DIR [SLOTS]             chats on port 18090, embeddings on 18091; returns when both answer
set -eu
step=$1 home=$2
mkdir -p "$home"
serve() {
  port=$1
  shift
  setsid "$home/build/bin/llama-server" -m "$home/model.gguf" -a Llama-3.2-3B-Instruct -ngl 99 -fa on --port "$port" "$@" \
    >"$home/llama-$port.log" 2>&1 </dev/null &
}
answers() {
  python3 - "$1" <<'PY'
import sys, time, urllib.request
for _ in range(600):
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/health", timeout=2)
        sys.exit(0)
    except OSError:
        time.sleep(0.2)
sys.exit(1)
PY
}
case $step in
  build)
    tar xJf "$3" -C "$home"
    cmake -S "$home/llama" -B "$home/build" -G Ninja -DGGML_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=90 -DLLAMA_CURL=OFF \
      -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF \
      -DLLAMA_BUILD_APP=OFF -DBUILD_SHARED_LIBS=OFF -DCMAKE_BUILD_TYPE=Release >"$home/cmake.log" 2>&1
    ninja -C "$home/build" llama-server >"$home/ninja.log" 2>&1
    ;;
  model) python3 "$(dirname "$0")/make_model.py" "$3" "$home/model.gguf" 3b ;;
  start)
    slots=${3:-128}
    # -bs: sampled on the GPU. On one core of the processor it would be what is measured.
    # --cache-ram 0: it would keep every prompt in the machine's memory, and stop for it.
    serve 18090 -np "$slots" -c $((slots * 4096)) -bs --cache-ram 0 --slots --metrics
    serve 18091 -np 8 -c 32768 --cache-ram 0 --embeddings --pooling mean
    answers 18090
    answers 18091
    ;;
  *)
    echo "engine.sh: there is no step $step" >&2
    exit 2
    ;;
esac
