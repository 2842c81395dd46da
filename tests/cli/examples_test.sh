#!/usr/bin/env bash
# examples_test.sh RANKFALL FAMILIES [SECONDS=1]: runs every example that the help of a command shows, each in a folder of its own
# that has the files it names. One that is still running after SECONDS has read its arguments and inputs, and is ended.
set -euo pipefail

rankfall=$(readlink -f -- "$1")
families=$(readlink -f -- "$2")
seconds=${3:-1}
dir=$(mktemp -d)
trap 'rm -rf -- "$dir"' EXIT
mkdir -p "$dir/bin" "$dir/files/path/to"
ln -s "$rankfall" "$dir/bin/rankfall"
export PATH=$dir/bin:$PATH

# The files.
cd -- "$dir/files"
bert=path/to/bert-base-uncased
cp -r "$families/bert" "$bert"
chmod -R u+w "$bert"
printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' attention is not all you need the a of to and in > "$bert/vocab.txt"
cp -r "$bert" path/to/bert-base-cased
cp -r "$families/gpt2" path/to/gpt2
for _ in {1..40}; do echo 'attention is not all you need and the need of attention is in you to a not of all'; done > text.txt
cp text.txt texts.txt
echo '[[2, 5, 6, 7, 8, 3], [2, 9, 10, 5, 6, 3]]' > ids.json
rankfall measure bert-tiny@init --samples 1 --tokens 8 -q -o before.json
rankfall measure bert-tiny@init --samples 1 --tokens 8 --seed 1 -q -o after.json
rankfall audit --claims 4 --trials 20000 --witnesses . -q > /dev/null
rankfall capture "$bert" --ids ids.json -o states.safetensors > /dev/null
training=yes
rankfall train sort -o sorted --quick --train 300 --eval 50 --layers 2 --epochs 1 --quiet > /dev/null 2>&1 || training=
[[ -n $training ]] || echo "skipped: train and circle, which were not built"

failed=0
n=0
n_ended=0
for command in $(rankfall --complete ''); do
  [[ $command == -* ]] && continue
  if [[ -z $training && $command =~ ^(train|circle|effectiveness)$ ]]; then continue; fi
  examples=$(rankfall "$command" --help | awk '/^Examples?:/ { on = 1; next } on && /^  / { sub(/^  /, ""); print; next } { on = 0 }')
  if [[ -z $examples ]]; then
    echo "FAILED: the help of $command has no example"
    failed=1
    continue
  fi
  while IFS= read -r example; do
    rm -rf -- "$dir/work"
    mkdir -- "$dir/work"
    cd -- "$dir/work"
    for file in "$dir"/files/*; do
      if [[ $example != *"-o $(basename -- "$file")"* ]]; then cp -r -- "$file" .; fi
    done
    status=0
    timeout -k 10 "$seconds" bash -c "$example" > "$dir/out" 2> "$dir/err" < /dev/null || status=$?
    n=$((n + 1))
    if [[ $status -eq 124 || $status -eq 137 ]]; then
      n_ended=$((n_ended + 1))
    elif [[ $status -ne 0 && ! ($status -eq 5 && $example == *"--fail-if"*) ]]; then
      echo "FAILED ($status): $example"
      head -n 5 "$dir/err"
      failed=1
    fi
  done <<< "$examples"
done
cd /
echo "$n examples run, $n_ended of them for $seconds s only"
exit "$failed"
