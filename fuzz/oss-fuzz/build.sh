#!/bin/bash -eu
# Builds all targets into $OUT, each with its corpus. Not run by OSS-Fuzz itself so far.
python=$(command -v python3)
build=build-fuzzer-sanitizer
cmake -S . -B "$build" -G Ninja -DCMAKE_CXX_COMPILER="$CXX" -DMT_SANITIZE=fuzzer -DMT_IN_PLACE=OFF -DMT_ISAS=base \
    -DPython_EXECUTABLE="$python"
cmake --build "$build"
mkdir -p "$OUT/site" "$OUT/targets"
cp -r src/mindtorch_v2 "$OUT/site/"
cmake --install "$build" --prefix "$OUT/site"
cp "$build"/targets/fuzz_* "$OUT/targets/"
for program in "$OUT"/targets/fuzz_*; do
  name=$(basename "$program")
  printf '#!/bin/bash\nhere=$(dirname "$(readlink -f "$0")")\nPYTHONPATH=$here/site PYTHONMALLOC=malloc exec "$here/targets/%s" "$@"\n' \
      "$name" > "$OUT/$name"
  chmod +x "$OUT/$name"
done
for target in fuzz/targets/*.py; do
  name=$(basename "$target" .py)
  [ "$name" = __init__ ] && continue
  printf '#!/bin/bash\nhere=$(dirname "$(readlink -f "$0")")\nPYTHONPATH=$here/site:$here exec python3 -m fuzz.python_target %s "$@"\n' \
      "$name" > "$OUT/fuzz_$name"
  chmod +x "$OUT/fuzz_$name"
done
cp -r fuzz "$OUT/"
for corpus in fuzz/corpus/*; do
  (cd "$corpus" && zip -q "$OUT/fuzz_$(basename "$corpus")_seed_corpus.zip" ./*)
done
