#!/bin/bash -eu
# Builds each target of tests/fuzz for OSS-Fuzz, with its seeds and kept cases.
cd "$SRC/kwire"
pip3 install '.[compression,arrow]' pytest hypothesis
for target in tests/fuzz/fuzz_*.py; do
  name=$(basename "$target" .py)
  compile_python_fuzzer "$target" --paths "$SRC/kwire" --collect-all kwire --add-data fixtures:fixtures --add-data schemas:schemas
  PYTHONPATH="$SRC/kwire" python3 -m tests.tools.fuzz_corpus --seeds "$OUT/${name}_seed_corpus.zip" "${name#fuzz_}"
done
