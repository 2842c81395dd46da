#!/usr/bin/env bash
# words_test.sh RANKFALL DATA: what the command says to people who do not know it yet, or mistype: the word that is wrong, the
# nearest right one, and before anything is computed.
set -uo pipefail
rankfall=$1
families=$2/families
# shellcheck source=tests/cli/check.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/check.sh"

small=(bert-tiny@init --samples 2 --tokens 8)
silent() { expect "$1" test ! -s "$dir/out"; }
# says_nothing_of WORDS: of the parser's or a library's own.
says_nothing_of() { expect "no '$1'" bash -c '! grep -qE -- "$1" "$2"' - "$1" "$dir/err"; }

# Commands.
check "no command" 0 --
expect "lists commands in groups" grep -qx 'Theory' "$dir/out"
expect "with an example" grep -q '^  Example: rankfall theory ' "$dir/out"
check "a mistyped command" 2 "unknown command 'mesure'; did you mean 'measure'\?" -- mesure X
check "a strange command" 2 "unknown command 'frobnicate'$" -- frobnicate
check "help" 0 -- help
expect "lists the commands" grep -q '^  collapse ' "$dir/out"
"$rankfall" --help > "$dir/whole"
expect "the same as --help" cmp -s "$dir/out" "$dir/whole"
check "help of a command" 0 -- help measure
"$rankfall" measure --help > "$dir/of_measure"
expect "the same as its --help" cmp -s "$dir/out" "$dir/of_measure"
parser='INT|TEXT|FLOAT|UINT|Excludes|Needs:| in \[|\[bert|ENUM'
for command in measure collapse paths counts bounds audit lowrank effectiveness report capture parity tokens bench doctor reproduce; do
  "$rankfall" "$command" -h > "$dir/short"
  "$rankfall" "$command" --help > "$dir/long"
  expect "$command -h fits a screen" bash -c '[[ $(wc -l < "$1") -le 50 ]]' - "$dir/short"
  expect "$command --help has no word of the parser" bash -c '! grep -nE "$1" "$2"' - "$parser" "$dir/long"
  expect "$command --help fits 100 columns" bash -c '! grep -v "^  rankfall" "$1" | grep -qE "^.{101}"' - "$dir/long"
  for option in $(grep -oE -- '^  (-., )?--[a-z-]+' "$dir/short" | grep -oE -- '--[a-z-]+'); do
    expect "$command --help has $option, too" grep -q -- "$option" "$dir/long"
  done
done
expect "defaults in words" grep -qE -- '^  --seeds N +repeat with N seeds, from --seed on \(default 1\)$' "$dir/of_measure"
check "help of a mistyped command" 2 "did you mean 'measure'" -- help mesure
if [[ -x $(dirname "$rankfall")/rankfall-train ]]; then
  check "help of another program's command" 0 -- help train
  expect "from that program" grep -q -- --as-published "$dir/out"
  check "an option of that program" 2 "unknown option '--layrs'; did you mean '--layers'\?" -- train sort --layrs 3 -o "$dir/x"
  check "a task of that program" 2 "'srt': expected sort, hull, memorize or circle; did you mean 'sort'\?" -- train srt -o "$dir/x"
  # Sizes are compared before anything is made of them.
  check "longer sequences than fit" 2 "100 sequences of 1000000 tokens.* GB of memory; this machine has" -- train sort --quick --train 100 --eval 10 --tokens 1000000 -o "$dir/x"
  (
    ulimit -v 3000000
    timeout 20 "$rankfall" train sort --quick --train 10000000 -o "$dir/x" > "$dir/out" 2> "$dir/err"
  )
  expect "more sequences than a limit allows are refused at once" test $? -eq 4
  expect "by their number" grep -q 'out of memory: training on 10000000 sequences' "$dir/err"
  expect "and no directory is left" test ! -e "$dir/x"
fi
for words in version -V --version; do
  check "$words" 0 -- $words
  expect "$words is a number" grep -qE '^[0-9]+\.[0-9]+\.[0-9]+$' "$dir/out"
done
check "models" 0 -- models
expect "presets" grep -qE '^  bert-base@init +12 layers of 12 heads, width 768$' "$dir/out"
expect "by what they are for" bash -c 'sed -n "/^Released decoders/,/^$/p" "$1" | grep -q pythia-70m@init && ! sed -n "/^Released decoders/,/^$/p" "$1" | grep -q bert' - "$dir/out"
expect "and how to get trained ones" grep -q 'hf download' "$dir/out"
expect "families with what they need" grep -qE '^  gpt2 +n_embd, n_layer, n_head, vocab_size; for --text vocab.json' "$dir/out"
expect "kinds of attention" grep -qE '^  nystrom +nystrom:m=64$' "$dir/out"
check "models with a word" 0 -- models GPT2
expect "has it" grep -q '^  gpt2-medium@init ' "$dir/out"
expect "and no other" bash -c '! grep -q bert "$1"' - "$dir/out"
check "models with a mistyped word" 2 "has 'nystrm' in it; did you mean 'nystrom'\?" -- models nystrm

# Metrics.
fits() { expect "$1 fits 100 columns" bash -c '[[ $(LC_ALL=C.UTF-8 wc -L < "$1") -le 100 ]]' - "$dir/out"; }
check "metrics" 0 -- metrics
fits "the list"
expect "by group" grep -qx 'exact residual' "$dir/out"
expect "with words and formula" grep -qE '^  rank.stable +stable rank: ' "$dir/out"
LC_ALL=C "$rankfall" metrics > "$dir/out"
expect "are plain ASCII" bash -c '! LC_ALL=C grep -q "[^ -~]" "$1"' - "$dir/out"
fits "the plain list"
check "metrics of a group" 0 -- metrics COSINE
expect "has its members" grep -q '^  cosine.mean_abs ' "$dir/out"
expect "and no others" bash -c '! grep -q "^  rank.stable" "$1"' - "$dir/out"
expect "no letters of others" bash -c '! grep -qE "^  (P |W, D|n, d)" "$1"' - "$dir/out"
check "one metric" 0 -- metrics growth_factor
expect "letters that occur" grep -qE '^  res X +the residual' "$dir/out"
expect "and no others" bash -c '! grep -qE "^  (n, d, L, H|P|1·mean) " "$1"' - "$dir/out"
expect "its mean" grep -qE '^  mean +mean of the logarithms' "$dir/out"
expect "its studies" grep -qE '^  written by +collapse per layer$' "$dir/out"
check "a member of a family" 0 -- metrics log10_bound.T2.2
expect "its own formula" grep -qE '^  formula +log10 \(4 s beta' "$dir/out"
check "a family" 0 -- metrics minimal_residual_lower
expect "its members" grep -q '^  minimal_residual_lower.inf ' "$dir/out"
check "a mistyped metric" 2 "no metric has 'rank.stabel' .*; did you mean 'rank.stable'\?" -- metrics rank.stabel
check "a metric that would control a terminal" 2 'no metric has .*x1b' -- metrics $'\e[31m'
"$rankfall" metrics --markdown > "$dir/metrics.md"
expect "docs/metrics.md is up to date (rankfall metrics --markdown > docs/metrics.md)" diff "$dir/metrics.md" "$(dirname -- "${BASH_SOURCE[0]}")/../../docs/metrics.md"

# Options and their values.
check "a mistyped option" 2 "unknown option '--varient'; did you mean '--variant'\?" -- measure --varient san
check "one with a value" 2 "unknown option '--variants'; did you mean" -- measure --variants=san
check "a strange option" 2 "unknown option '--frobnicate'$" -- measure --frobnicate
check "a mistyped option hides what is missing" 2 "unknown option '--ouput'" -- capture bert-tiny@init --ouput "$dir/c.safetensors"
expect "help is pointed to" grep -q "^Try 'rankfall capture --help'" "$dir/err"
check "an argument too many" 2 "unexpected argument 'x'" -- doctor x
check "a precision" 2 "--precision: 'f16': expected f32 or f64" -- measure "${small[@]}" --precision f16
says_nothing_of 'FAILED|->'
check "a format" 2 "--format: 'jsn': expected table, csv or json; did you mean 'json'\?" -- measure "${small[@]}" --format jsn
check "a metric" 2 "unknown metric 'rank.stabel'; did you mean 'rank.stable'\?" -- measure "${small[@]}" --metrics rank.stabel
check "a variant" 2 "did you mean 'san'" -- measure "${small[@]}" --variant SAN
check "a kind of attention" 2 "did you mean 'nystrom'" -- measure "${small[@]}" --attention nystrm
check "a missing value" 2 "--samples: its value is missing" -- measure --samples
says_nothing_of 'INT'
check "an option given twice" 2 "--samples is given twice" -- measure --samples 1 --samples 2
check "a missing file" 2 "FILE is missing: results" -- report

# Models: who names a released one wants its weights.
export HF_HUB_CACHE=$dir/hub
check "a released model's name" 2 "gpt2: no such directory, and openai-community/gpt2 is not in the hub cache. Trained weights: first run .hf download openai-community/gpt2.. Random weights: gpt2@init" -- measure gpt2
check "a hub name that is not there" 2 "org/name: no such directory, and not in the hub cache .*first run .hf download org/name" -- measure org/name
mkdir -p "$HF_HUB_CACHE/models--org--name/snapshots" "$HF_HUB_CACHE/models--org--name/refs"
cp -r "$families/gpt2" "$HF_HUB_CACHE/models--org--name/snapshots/0123abcd"
printf 0123abcd > "$HF_HUB_CACHE/models--org--name/refs/main"
for name in org/name org/name@main org/name@0123; do
  check "$name in the hub cache" 0 "read from the hub cache, .*/snapshots/0123abcd" -- measure "$name" --ids "$families/gpt2/input.safetensors"
done
check "its architecture with random weights" 0 -- measure org/name@init --samples 2 --tokens 5
check "a revision that is not there" 2 "has no revision v9; found 0123abcd" -- measure org/name@v9
unset HF_HUB_CACHE
check "a mistyped preset" 2 "did you mean 'bert-base@init'" -- measure brt-base@init

# A trained model on random inputs, and what the numbers are about.
check "trained on random ids" 0 "note: .*trained weights, but random inputs.*--text FILE" -- measure "$families/gpt2" --samples 2 --tokens 5
expect "the table says so" grep -q '^Measured on 2 samples of 5 random token ids (uniform). Warning: gpt2 is trained, but' "$dir/out"
check "on ids of its own" 0 -- measure "$families/gpt2" --ids "$families/gpt2/input.safetensors"
says_nothing_of 'random'
check "untrained on random ids" 0 -- measure "${small[@]}"
expect "is as it should be" test ! -s "$dir/err"
expect "an arithmetic mean" grep -q 'arithmetic mean over 2 samples' "$dir/out"
check "the other mean" 0 -- collapse "${small[@]}" -o "$dir/c.csv"
expect "a mean of logarithms" grep -q 'mean of the logarithms over 2 samples' "$dir/out"
expect "also beside CSV" grep -q '"mean": "mean of the logarithms"' "$dir/c.manifest.json"

# --fail-if is checked before the first computation: one of these would take hours.
huge=(bert-large@init --samples 1000 --tokens 512)
for command in measure collapse paths bounds lowrank; do
  example=$("$rankfall" "$command" --help | tr '\n' ' ' | sed -E "s/ +/ /g; s/.*holds, e\.g\. '([^']*)'.*/\1/")
  options=()
  if [[ $command == lowrank ]]; then options=(--lengths 8,16 --draws 5); fi
  "$rankfall" "$command" "${small[@]}" "${options[@]}" --fail-if "$example" > "$dir/out" 2> "$dir/err"
  status=$?
  expect "$command: its example '$example' fits" test $status -eq 0 -o $status -eq 5
  timeout 20 "$rankfall" "$command" "${huge[@]}" --fail-if 'nothing.like.this>1' > "$dir/out" 2> "$dir/err"
  expect "$command: an unknown metric is refused at once" test $? -eq 2
  expect "and named" grep -q "has no metric 'nothing.like.this'" "$dir/err"
  timeout 20 "$rankfall" "$command" "${huge[@]}" --fail-if 'x@first>1' > "$dir/out" 2> "$dir/err"
  expect "$command: a strange layer is refused at once" test $? -eq 2
done
check "a variant that is not run" 2 "there is no variant 'sam'.*did you mean 'san'" -- collapse "${huge[@]}" --fail-if 'sam:growth_factor>1'
check "a view that was not asked for" 2 "is not computed; add --heads" -- paths "${huge[@]}" --fail-if 'head.share.residual>1'
check "a part that was not asked for" 2 "add sketches to --only" -- lowrank "${huge[@]}" --only spectra --fail-if 'jl.failure>1'
check "no layers there" 2 "leave out '@'" -- parity "$families/gpt2" --fail-if 'parity.hidden.max@last>1'

# Files that are something else, in plain words.
printf 'root:x:0:0:root:/root:/bin/bash\n' > "$dir/passwd"
check "a report of a text" 3 "passwd: is not a result; expected one that rankfall saved as JSON" -- report "$dir/passwd" -o "$dir/page.html"
says_nothing_of 'json\.exception|syntax|last read'
check "ids from a text" 3 "passwd: is neither safetensors, NumPy \(.npy\) nor JSON" -- measure bert-tiny@init --ids "$dir/passwd"
printf '{"a": 1,}' > "$dir/comma.json"
check "a comma too many" 3 "comma.json: line 1, column 9: not valid JSON: unexpected" -- measure bert-tiny@init --ids "$dir/comma.json"
says_nothing_of 'syntax|last read|literal'

# What is read is not overwritten.
cp -r "$families/gpt2" "$dir/m"
chmod -R u+w "$dir/m"
before=$(cat "$dir"/m/* | sha256sum)
check "a model's description" 2 "m/config.json: is part of the model" -- measure "$dir/m" --samples 1 --tokens 4 -o "$dir/m/config.json"
check "at random initialisation" 2 "is part of the model" -- measure "$dir/m@init" --samples 1 --tokens 4 -o "$dir/m/config.json"
check "a model's weights" 2 "is part of the model" -- capture "$dir/m" --samples 1 --tokens 4 -o "$dir/m/model.safetensors"
ln "$dir/m/config.json" "$dir/linked.json"
check "under another name" 2 "is part of the model" -- measure "$dir/m" --samples 1 --tokens 4 -o "$dir/linked.json"
ln -s m/config.json "$dir/soft.json"
check "by a link" 2 "is part of the model" -- measure "$dir/m" --samples 1 --tokens 4 -o "$dir/soft.json"
echo '[[1, 2, 3]]' > "$dir/ids.json"
check "its input" 2 "is an input of this command" -- measure "$dir/m" --ids "$dir/ids.json" -o "$dir/./ids.json"
expect "the input is intact" grep -qx '\[\[1, 2, 3\]\]' "$dir/ids.json"
check "a result beside the model" 0 -- measure "$dir/m" --samples 1 --tokens 4 -q -o "$dir/m/result.json"
check "written again" 0 -- measure "$dir/m" --samples 1 --tokens 4 -q -o "$dir/m/result.json"
cp "$dir/m/result.json" "$dir/r.html"
check "a page over its result" 2 "is an input of this command" -- report "$dir/r.html" -o "$dir/r.html"
rm "$dir/m/result.json"
expect "the model is intact" test "$before" = "$(cat "$dir"/m/* | sha256sum)"

finish words
