#!/usr/bin/env bash
# cli_test.sh RANKFALL DATA: the command as a person meets it: exit codes, what goes where, nothing half-written.
set -uo pipefail
rankfall=$1
families=$2/families
tokenizers=$2/tokenizers
images=$2/images
# shellcheck source=tests/cli/check.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/check.sh"

small=(bert-tiny@init --samples 2 --tokens 8)

check "version" 0 -- --version
expect "version is a number" grep -qE '^[0-9]+\.[0-9]+\.[0-9]+$' "$dir/out"
check "help" 0 -- measure --help
expect "help shows an example" grep -q 'rankfall measure' "$dir/out"

check "a measurement" 0 -- measure "${small[@]}"
expect "only the result on standard output" grep -q 'relative residual' "$dir/out"
expect "nothing on standard error" test ! -s "$dir/err"
OPENBLAS_CORETYPE=Prescott check "a user's own BLAS kernel" 0 -- measure "${small[@]}" --format json
if [[ $(uname -m) == x86_64 ]]; then
  expect "wins" grep -q '"blas_choice": "OPENBLAS_CORETYPE"' "$dir/out"
  expect "and is used" grep -q '"blas": ".*Prescott' "$dir/out"
fi
check "csv" 0 -- measure "${small[@]}" --format csv
expect "csv header" grep -q '^model,variant,layer,metric,mean,std,n' "$dir/out"
expect "csv has a line per value" test "$(wc -l < "$dir/out")" -eq 121
check "json" 0 -- measure "${small[@]}" --format json
expect "a schema version" grep -q '^  "schema": 2,$' "$dir/out"
expect "who chose the BLAS kernel" grep -qE '"blas_choice": "(OpenBLAS|OPENBLAS_CORETYPE|rankfall instead of [A-Za-z0-9]+)"' "$dir/out"
expect "no bare NaN" bash -c "! grep -qE 'NaN|Infinity' '$dir/out'"

# The same bits whatever the number of threads.
"$rankfall" measure "${small[@]}" --format csv --threads 1 > "$dir/one.csv"
"$rankfall" measure "${small[@]}" --format csv --threads 8 > "$dir/eight.csv"
expect "threads do not matter" cmp -s "$dir/one.csv" "$dir/eight.csv"
"$rankfall" measure "${small[@]}" --format csv --seed 1 > "$dir/other.csv"
expect "the seed does" bash -c "! cmp -s '$dir/one.csv' '$dir/other.csv'"

check "output to a file" 0 -- measure "${small[@]}" -o "$dir/r.json" --quiet
expect "the file is there" grep -q '"command": *"measure"' "$dir/r.json"
expect "quiet is quiet" test ! -s "$dir/out"
check "no such folder" 2 '' -- measure "${small[@]}" -o "$dir/none/r.json"
expect "nothing half-written" bash -c "[[ \$(ls '$dir' | grep -c r.json) -eq 1 ]]"

check "unknown preset" 2 "no such preset" -- measure gpt9@init
check "heads do not divide" 2 "7 heads do not divide the width 768" -- measure san:layers=2,heads=7,dim=768
check "zero tokens" 2 "--tokens: found 0, expected 1 to" -- measure "${small[@]:0:1}" --tokens 0
check "no number" 2 "--tokens: found 'x', expected 1 to" -- measure "${small[@]:0:1}" --tokens x
check "a fraction" 2 "--tokens: found 1.5, expected a whole number from 1 to" -- measure "${small[@]:0:1}" --tokens 1.5
check "a share" 2 "--eps: found 2, expected 0 to 1" -- lowrank "${small[@]:0:1}" --eps 2
check "too many tokens" 2 "positions for 512" -- measure bert-tiny@init --tokens 513 --samples 1
check "negative samples" 2 "" -- measure bert-tiny@init --samples -1
check "samples not a number" 2 "" -- measure bert-tiny@init --samples many
check "a billion layers" 2 "1 to 10000" -- measure san:layers=1000000000,heads=1,dim=8
check "more than the memory" 2 "GB of memory" -- measure san:layers=1,heads=1,dim=262144 --tokens 1000000 --samples 1000000
check "whole attention beyond the memory" 2 "whole attention" -- measure san:layers=1,heads=1,dim=8 --metrics attention --tokens 1000000 --samples 1
check "unknown part" 2 "unknown part 'head'" -- measure "${small[@]}" --without head
check "unknown variant" 2 "unknown variant" -- measure "${small[@]}" --variant SAN
check "unknown metric" 2 "unknown metric 'frobnicate', expected one of residual.composite" -- measure "${small[@]}" --metrics frobnicate
check "published and others" 2 "does not go with" -- measure "${small[@]}" --as-published --variant san
check "not published" 2 "bert, albert and xlnet" -- measure san:layers=1,heads=1,dim=8 --as-published
check "numbers overflow" 4 "block [0-9]+, .* output: (NaN|infinity) at token" -- measure san:layers=3,heads=1,dim=64,norm=none,std=1000 --samples 1 --tokens 4
check "nothing published" 2 "nothing to compare" -- measure "${small[@]}" --compare-published
check "published over too few seeds" 2 "seeds 3 or more" -- measure bert-base@init --compare-published
check "a model twice" 2 "given twice" -- measure "${small[@]}" bert-tiny@init
check "negative seed" 2 "" -- measure "${small[@]}" --seed -1
check "features and tokens" 2 "is for tokens" -- measure san:layers=1,heads=1,dim=8,features=3,vocab=7
check "no control characters on the terminal" 2 "" -- measure $'\e[31mX@init'
expect "they are gone" bash -c "! grep -q \$'\\e' '$dir/err'"
# Sanitizers reserve terabytes of addresses, so the limit would be theirs.
if [[ -z ${RANKFALL_SANITIZED-} ]]; then
  (
    ulimit -v 250000
    timeout 60 "$rankfall" measure "${small[@]}" > "$dir/out" 2> "$dir/err"
  )
  expect "little memory is said, not waited for" test $? -eq 4
fi

# Endings are kept or refused; ranges are compared before anything is made of them.
check "an ending that says another format" 2 "its ending says another format than --format csv" -- measure "${small[@]}" -o "$dir/a.json" --format csv
check "an empty name" 2 "expected a file's name" -- measure "${small[@]}" -o ''
check "states as npy" 2 "so that must be its ending" -- capture "${small[@]}" -o "$dir/states.npy"
check "a page as json" 2 ".html" -- report "$dir/x.json" -o "$dir/page.json"
expect "nothing was written" test ! -e "$dir/a.json" -a ! -e "$dir/states.npy"
for option in --layers --positions; do
  check "the largest number" 2 "expected numbers up to" -- capture "${small[@]}" "$option" 9223372036854775807 -o "$dir/s.safetensors"
  check "the largest range" 2 "expected numbers up to" -- capture "${small[@]}" "$option" 0-9223372036854775807 -o "$dir/s.safetensors"
done
check "the largest length" 2 "expected numbers up to" -- lowrank "${small[@]}" --lengths 9223372036854775806-9223372036854775807
check "the largest claim" 2 "expected numbers up to" -- audit --claims 9223372036854775807
mkfifo "$dir/pipe.json"
check "a result from a pipe" 3 "is a pipe or a device" -- report "$dir/pipe.json" -o "$dir/page.html"
check "a result from a device" 3 "is a pipe or a device" -- report /dev/zero -o "$dir/page.html"
check "into a pipe that nobody reads" 3 "a pipe that nobody reads" -- measure "${small[@]}" -o "$dir/pipe.json"
rm "$dir/pipe.json"

check "variants by parts" 0 -- measure "${small[@]}" --without attn_skip,mlp --without norm --format csv
expect "they are named" grep -q '^bert-tiny@init,"-attn_skip,-mlp",0,' "$dir/out"
check "threshold holds" 5 "the condition holds" -- measure "${small[@]}" --fail-if 'full:relative_residual.composite@last>0.1'
expect "the result is printed all the same" grep -q 'relative residual' "$dir/out"
check "threshold does not hold" 0 -- measure "${small[@]}" --fail-if 'san:relative_residual.composite@last>0.1'
check "threshold nonsense" 2 "" -- measure "${small[@]}" --fail-if 'large'
check "threshold on what was not measured" 2 "is not computed; add --metrics rank.stable" -- measure "${small[@]}" --fail-if 'rank.stable@1>3'

"$rankfall" measure "${small[@]}" --format csv | head -n 1 > /dev/null
expect "a closed pipe is no crash" test "${PIPESTATUS[0]}" -lt 128
"$rankfall" measure "${small[@]}" > /dev/full 2> "$dir/err"
expect "a full disk is said" test $? -eq 3

# Checkpoints.
check "a checkpoint" 0 -- measure "$families/bert" --ids "$families/bert/input.safetensors" --format json
expect "its digest" grep -q "\"weights_sha256\": *\"$(sha256sum "$families/bert/model.safetensors" | cut -d ' ' -f 1)\"" "$dir/out"
expect "its input" grep -q '"input": *".*input.safetensors"' "$dir/out"
check "images" 0 -- measure "$families/vit" --pixels "$families/vit/input.safetensors" --format csv
check "random input" 0 -- measure "$families/t5" --samples 2 --tokens 9 --format csv
check "two kinds of input" 2 "" -- measure "$families/bert" --ids a --hidden b
check "no such input" 3 "no such file" -- measure "$families/bert" --ids "$dir/none.npy"
check "nothing random to repeat" 2 "neither the weights" -- measure "$families/bert" --ids "$families/bert/input.safetensors" --seeds 2
check "no such directory" 3 "no such directory" -- measure "$dir/none/"
check "a directory of nothing" 3 "found nothing" -- measure "$(mktemp -d -p "$dir")"
cp -r "$families/bert" "$dir/spoilt"
chmod -R u+w "$dir/spoilt"
head -c 5000 "$families/bert/model.safetensors" > "$dir/spoilt/model.safetensors"
check "a truncated file" 3 "spoilt/model.safetensors: " -- measure "$dir/spoilt"
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n' > "$dir/spoilt/model.safetensors"
check "a Git LFS pointer" 3 "git lfs pull" -- measure "$dir/spoilt"
mv "$dir/spoilt/model.safetensors" "$dir/spoilt/pytorch_model.bin"
check "a pickle" 3 "can execute any code" -- measure "$dir/spoilt"
printf '{"model_type": "mambo"}' > "$dir/spoilt/config.json"
check "an unknown family" 3 "expected one of albert, bert, bloom, camembert, distilbert, electra, gemma2, gemma3, gemma3_text, gpt2, gpt_neox, llama, mistral, modernbert, olmo2, olmo3, opt, phi3, qwen2, qwen3, roberta, san, t5, vit, xlm-roberta, xlnet" -- measure "$dir/spoilt"
cp -r "$families/bert" "$dir/longer"
chmod -R u+w "$dir/longer"
sed 's/"num_hidden_layers": 3/"num_hidden_layers": 2/' "$families/bert/config.json" > "$dir/longer/config.json"
check "layers left out" 0 "note: .*16 tensors are not used" -- measure "$dir/longer" --samples 1 --tokens 4 --quiet

check "capture" 0 -- capture "$families/gpt2" --ids "$families/gpt2/input.safetensors" --attentions -o "$dir/c.safetensors"
expect "capture says what it wrote" grep -qE 'attentions +F32 +\[3, 2, 4, 11, 11\]' "$dir/out"
check "parity with a capture" 0 -- parity "$families/gpt2" --reference "$dir/c.safetensors" --fail-if 'parity.hidden.max>1e-5'
check "parity is a threshold" 5 "the condition holds" -- parity "$families/gpt2" --fail-if 'parity.hidden.max>1e-30'
check "capture a selection" 0 -- capture bert-tiny@init --samples 2 --tokens 8 --layers 0,-1 --positions 2-4 --variant san --precision f64 -o "$dir/c.safetensors"
expect "of that size" grep -qE 'hidden_states +F64 +\[2, 2, 3, 128\]' "$dir/out"
cp "$dir/c.safetensors" "$dir/before"
check "capture without a file" 2 "" -- capture bert-tiny@init
check "capture to nowhere" 2 "no directory" -- capture bert-tiny@init -o "$dir/none/c.safetensors"
check "capture no such layer" 2 "layer 9; there are 0 to 2" -- capture bert-tiny@init --layers 9 -o "$dir/c.safetensors"
check "capture nonsense layers" 2 "expected numbers or ranges" -- capture bert-tiny@init --layers 3-1 -o "$dir/c.safetensors"
check "capture an overflow" 4 "" -- capture san:layers=3,heads=1,dim=64,norm=none,std=1000 --samples 1 --tokens 4 -o "$dir/c.safetensors"
(
  ulimit -f 100
  "$rankfall" capture bert-tiny@init -o "$dir/c.safetensors" > "$dir/out" 2> "$dir/err"
)
expect "a file beyond the limit is said" test $? -eq 3
{ timeout -s KILL 1 "$rankfall" capture bert-base@init -o "$dir/c.safetensors" > "$dir/out" 2> "$dir/err"; } 2> /dev/null
expect "the old file is still there" cmp -s "$dir/c.safetensors" "$dir/before"
expect "and nothing beside it" bash -c "[[ \$(ls -A '$dir' | grep -c 'c.safetensors') -eq 1 ]]"

# Text and images.
printf 'The program is free software.\nx\n\nYou can redistribute it and change it.\n' > "$dir/text"
san=san:layers=2,heads=2,dim=8,vocab=600
check "tokens" 0 -- tokens "$tokenizers/bert-uncased" --text "$dir/text"
expect "pieces" grep -qF '[CLS]  the  program  is' "$dir/out"
check "tokens as rows" 0 -- tokens "$tokenizers/t5" --text "$dir/text" --format csv
expect "piece and id" grep -qE ',token,126,.*▁program' "$dir/out"
check "tokens say who chose the special ones" 0 -- tokens "$tokenizers/families/mistral" --text "$dir/text"
expect "in a note" grep -qF '<s> in front (post_processor' "$dir/out"
check "tokens without special ones" 0 -- tokens "$tokenizers/families/mistral" --text "$dir/text" --special-tokens none
expect "also in a note" grep -qF 'none (as requested)' "$dir/out"
check "no token that begins a text" 3 "no token that begins a text .--special-tokens." -- tokens "$tokenizers/families/qwen2" --text "$dir/text" --special-tokens bos
check "a text without special tokens" 0 "special tokens of each sample: none" -- measure $san --tokenizer "$tokenizers/bert-uncased" --text "$dir/text" --special-tokens none --tokens 6 --format csv
check "special tokens without a text" 2 "special-tokens" -- measure "${small[@]}" --special-tokens none
check "tokens without a text" 2 "" -- tokens "$tokenizers/t5"
check "tokens of what has none" 3 "expected vocab.txt or tokenizer.json" -- tokens "$families/bert" --text "$dir/text"
check "measure a text" 0 "1 of 3 samples skipped" -- measure $san --tokenizer "$tokenizers/bert-uncased" --text "$dir/text" --tokens 8 --format csv
"$rankfall" measure $san --tokenizer "$tokenizers/bert-uncased" --text - --tokens 8 --format csv < "$dir/text" > "$dir/stdin.csv" 2> /dev/null
expect "standard input is the same" cmp -s "$dir/out" "$dir/stdin.csv"
check "texts at their own length" 0 "3 samples of 3 to 20 tokens" -- measure $san --tokenizer "$tokenizers/bert-uncased" --text "$dir/text" --format json
expect "and the manifest says how long they are" grep -q '"tokens": "3 to 20"' "$dir/out"
check "no text is long enough" 3 "none of 3 samples has 128 tokens" -- measure $san --tokenizer "$tokenizers/bert-uncased" --text "$dir/text" --tokens 128
check "padded" 0 -- measure $san --tokenizer "$tokenizers/bert-uncased" --text "$dir/text" --pad --samples 3 --format csv
check "paragraphs" 0 -- measure $san --tokenizer "$tokenizers/bert-uncased" --text "$dir/text" --paragraphs --tokens 10 --samples 2 --format csv
check "a preset has no tokenizer" 2 "presets have no tokenizer; add --tokenizer DIR" -- measure bert-tiny@init --text "$dir/text"
check "text and ids" 2 "" -- measure bert-tiny@init --text a --ids b
check "padding without a text" 2 "" -- measure bert-tiny@init --pad
: > "$dir/empty"
check "an empty text" 3 "empty" -- measure $san --tokenizer "$tokenizers/bert-uncased" --text "$dir/empty"
check "no such text" 3 "no such file" -- measure $san --tokenizer "$tokenizers/bert-uncased" --text "$dir/none"
printf '{"t": "The program is free software."}\n' > "$dir/lines.jsonl"
check "JSON lines" 0 -- measure $san --tokenizer "$tokenizers/bert-uncased" --text "$dir/lines.jsonl" --field t --tokens 6 --samples 1 --format csv
check "images" 0 -- measure vit-base@init --pixels "$images/rgb.png" --pixels "$images/colour.jpg" --variant full --format json
expect "two of them" grep -q '"samples": *2' "$dir/out"
check "a text is no image" 3 "" -- measure vit-base@init --pixels "$dir/text"

# Gradients.
check "gradients" 0 -- measure "${small[@]}" --variant full --metrics gradient --format csv
expect "of each projection" grep -q '^bert-tiny@init,full,2,gradient.W_V,' "$dir/out"
check "gradients that are not taken" 0 -- measure "${small[@]}" --variant full --attention performer:m=8 --metrics gradient --format csv
expect "with the reason" grep -q 'not_carried,low_rank_attention' "$dir/out"
check "predicted gradients" 0 -- theory san:layers=2,heads=2,dim=32 --tokens 6 --samples 1 --variant full --metrics gradient --compare --format csv
expect "beside the measured ones" grep -q ',full,2,measured.gradient.W_Q,' "$dir/out"

# Other kinds of attention.
check "kinds of attention" 0 -- measure "${small[@]}" --variant san --attention full --attention performer:m=8 --metrics attention --format csv
expect "the variant's name has the kind" grep -q '^bert-tiny@init,san performer:m=8,' "$dir/out"
expect "beside the model's own" grep -q '^bert-tiny@init,san,' "$dir/out"
check "a condition on one of them" 5 "the condition holds" -- measure "${small[@]}" --variant san --attention performer:m=8 --fail-if 'san performer:m=8:relative_residual.composite@last>0'
check "an unknown kind" 2 "expected one of full, gaussian, linformer:k=64" -- measure "${small[@]}" --attention frob
check "the same kind twice" 2 "attention nystrom:m=64 is the same as nystrom" -- measure "${small[@]}" --attention nystrom --attention nystrom:m=64
check "published code had its own" 2 "does not go with another kind" -- measure "${small[@]}" --as-published --attention nystrom
check "a kind that does not fit the model" 2 "attention nystrom: the model is causal" -- measure gpt2@init --samples 1 --tokens 4 --attention nystrom
check "paths of another kind" 0 -- paths "${small[@]}" --attention linformer:k=4 --to -1
check "the residual cannot be followed" 2 "only where P is a softmax of logits.* san gaussian can be followed" -- collapse bert-tiny@init --variant san --attention gaussian --attention performer
check "nor bounded" 2 "variant full nystrom: .*only where P is a softmax" -- bounds "${small[@]}" --variant full --attention nystrom
check "bounds of a kernel" 0 -- bounds "${small[@]}" --variant full --attention gaussian
check "capture of another kind" 0 -- capture "${small[@]}" --attention --attention-kind window:w=2 -o "$dir/window.safetensors"
expect "with its attention" grep -qE 'attentions +F32' "$dir/out"

# The exact residual.
deep=san:layers=5,heads=2,dim=16,std=0.1,mlp=24
check "collapse" 0 -- collapse $deep --samples 2 --tokens 8
expect "pure attention is doubly exponential" grep -qE '^san +doubly exponential decay: ' "$dir/out"
expect "float32 is marked" grep -q '<f32\|<f64' "$dir/out"
expect "no plot unless asked for" bash -c "! grep -q 'float32 ╌' '$dir/out'"
check "collapse with a plot" 0 -- collapse $deep --samples 2 --tokens 8 --plot
expect "there it is" grep -q 'float32 ╌' "$dir/out"
check "collapse of another depth" 0 -- collapse $deep --depth 30 --samples 2 --tokens 8 --variant san --format csv
expect "as deep" grep -q ',30,log10_residual.frobenius,-' "$dir/out"
check "collapse of a checkpoint, repeated" 0 -- collapse "$families/bert" --ids "$families/bert/input.safetensors" --depth 7 --variant san --rows all --format json
expect "depth is in the manifest" grep -q '"depth": *7' "$dir/out"
expect "each sample" grep -qE '"sample": ?1,' "$dir/out"
check "collapse in means over samples" 0 -- collapse $deep --samples 2 --tokens 8 --format csv
expect "no column of samples" bash -c "! head -n 1 '$dir/out' | grep -q sample"
check "several seeds" 0 -- measure "${small[@]}" --seeds 2 --format csv -o "$dir/seeds.csv"
expect "the highest level: means over seeds" bash -c "! head -n 1 '$dir/seeds.csv' | grep -q seed && grep -q ',seeds' '$dir/seeds.csv'"
expect "the manifest stands beside a CSV file" grep -q '"command": "measure"' "$dir/seeds.manifest.json"
check "a manifest is no result" 3 'the manifest of a CSV file' -- report "$dir/seeds.manifest.json" -o "$dir/seeds.html"
check "one seed a row" 0 -- measure "${small[@]}" --seeds 2 --rows samples --format csv
expect "a column of seeds" bash -c "head -n 1 '$dir/out' | grep -q ',seed,' && ! grep -q ',seeds' '$dir/out'"
check "all rows" 0 -- measure "${small[@]}" --seeds 2 --rows all --format csv
expect "both levels" bash -c "grep -q ',seeds' '$dir/out' && grep -q ',samples' '$dir/out'"
check "no seeds to average" 2 'no means over seeds' -- measure "${small[@]}" --rows seeds --format csv
expect "is told before any work" test ! -s "$dir/out"
check "nor in a command without seeds" 2 'no means over seeds' -- collapse "${small[@]}" --rows seeds --format csv
check "seeds to average" 0 -- measure "${small[@]}" --seeds 2 --rows seeds --format csv
check "an unknown level" 2 'rows' -- measure "${small[@]}" --rows heads --format csv
check "collapse, less of it" 0 -- collapse $deep --samples 2 --tokens 8 --no-floats --format csv
expect "no floats" bash -c "! grep -q ',f32,' '$dir/out'"
check "collapse is a threshold" 5 "the condition holds" -- collapse $deep --samples 2 --tokens 8 --fail-if 'san:log10_relative_residual.composite@last<-50'
check "collapse nowhere" 2 "" -- collapse $deep --depth 0
check "collapse of nothing" 3 "no such directory" -- collapse ./none

# What prevents collapse, the other mean, intervals.
check "ablation" 0 -- measure bert-tiny@init --ablate --samples 2 --tokens 8
expect "names the part" grep -q 'The skip connection around attention prevents collapse' "$dir/out"
expect "has all parts together" grep -q '^-attn_skip,-mlp,-norm ' "$dir/out"
check "ablation chooses the variants" 2 "--ablate chooses the variants" -- measure bert-tiny@init --ablate --variant san
check "the mean of logarithms" 0 -- measure "${small[@]}" --mean log
expect "is named" grep -q 'geometric mean of the relative residual' "$dir/out"
check "it is not computed otherwise" 2 "is not computed; add --mean log" -- measure "${small[@]}" --fail-if 'geometric_relative_residual.composite@last<1'
check "the arithmetic mean" 0 -- collapse "${small[@]}" --mean arithmetic
expect "is named" grep -q 'log10 of the mean relative residual' "$dir/out"
check "intervals" 0 -- measure "${small[@]}" --interval
expect "are named" grep -q '95 % interval' "$dir/out"
check "intervals as rows" 0 -- measure "${small[@]}" --interval --format csv
expect "both ends" bash -c "grep -q ',interval_low.cosine.mean,' '$dir/out' && grep -q ',interval_high.cosine.mean,' '$dir/out'"

# Paths.
toy=san:layers=3,heads=2,dim=8,std=0.3,mlp=6
few=(--samples 2 --tokens 6)
check "paths" 0 -- paths $toy "${few[@]}"
expect "shares by length" grep -q 'share of the residual by path length' "$dir/out"
expect "the sum is the forward pass" grep -qE 'relative error of ([0-9]×)?10\^-1[5-9]' "$dir/out"
check "paths as rows" 0 -- paths $toy "${few[@]}" --origins layer --interference --format csv
expect "by block" grep -q ',paths.share.residual,.*,mlp.2,' "$dir/out"
expect "exact counts" grep -qE ',paths.count,8,+3,embedding,.*,8$' "$dir/out"
check "all views" 0 -- paths $toy "${few[@]}" --heads --sample 3 --rerun --top 3 --to -1 --lengths
expect "heads" grep -q 'L2H1' "$dir/out"
expect "heaviest" grep -q 'the heaviest of all' "$dir/out"
"$rankfall" paths $toy "${few[@]}" --heads --sample 3 --rerun --top 3 --to -1 --lengths --threads 1 --format csv > "$dir/one.csv" 2> /dev/null
"$rankfall" paths $toy "${few[@]}" --heads --sample 3 --rerun --top 3 --to -1 --lengths --threads 3 --format csv > "$dir/three.csv" 2> /dev/null
expect "threads do not matter to paths" cmp -s "$dir/one.csv" "$dir/three.csv"
check "every path" 0 -- paths $toy "${few[@]}" --list --format csv
expect "all of them" test "$(grep -c ',path.norm.frobenius,.*,embedding,' "$dir/out")" -eq 27
check "every path to a file" 0 -- paths $toy "${few[@]}" --list -o "$dir/list.json"
expect "it is complete" bash -c "tail -1 '$dir/list.json' | grep -q '^}'"
check "too many paths to list" 2 "at most 10000000" -- paths bert-base@init --list
check "a list goes alone" 2 "goes alone" -- paths $toy --list --heads
check "no such token" 2 "expected -6 to 5" -- paths $toy "${few[@]}" --to 6
check "re-run of nothing" 2 "" -- paths $toy --rerun
check "no path passes" 2 "restarts at an MLP" -- paths $toy "${few[@]}" --without mlp_skip --sample 2
check "that is said" 0 "restarts at the MLP" -- paths $toy "${few[@]}" --without mlp_skip
check "paths of a checkpoint" 0 -- paths "$families/gpt2" --ids "$families/gpt2/input.safetensors" --variant full --variant san
check "paths is a threshold" 5 "the condition holds" -- paths $toy "${few[@]}" --fail-if 'reconstruction_error@last>0'
check "counts" 0 -- counts
expect "GPT-3" grep -q '^GPT-3 .*95 and 96' "$dir/out"
check "counts of numbers" 0 -- counts 12 12 --format csv
expect "exactly" grep -q ',23298085122481$' "$dir/out"
check "counts of a model" 0 -- counts "$families/bert" bert-base@init
check "counts of one number" 2 "two whole numbers" -- counts 12
check "counts of too much" 2 "too many digits" -- counts 100000 12
check "counts of halves" 2 "two whole numbers" -- counts 12.5 3
check "counts without skips" 2 "no skip connection" -- counts san:layers=3,heads=2,dim=8,attn_skip=0
check "no shares of rounding" 0 -- paths bert-mini@init --variant san --samples 2 --tokens 16
expect "said in words" grep -q 'zero or rounding' "$dir/out"
check "counts of nothing" 2 "expected 1 to" -- counts 0 12

check "the true minimum" 0 -- measure $toy "${few[@]}" --variant san --residual minimiser --format csv
expect "with a lower bound" grep -q ',minimal_residual_lower.composite,' "$dir/out"
check "a residual of another kind" 2 "" -- measure $toy --residual median

# Bounds.
check "bounds" 0 -- bounds $toy "${few[@]}"
expect "Dobrushin's holds" grep -qE '^dobrushin +proved +data +[0-9]+ +holds in all' "$dir/out"
expect "depth forms say why not" grep -qE 'T2.3_depth .*does not apply: there is a skip' "$dir/out"
check "bounds as rows" 0 -- bounds $toy "${few[@]}" --variant san --format csv
expect "log10 of bounds" grep -q ',log10_bound.T2.2_proved,' "$dir/out"
check "bounds of a checkpoint" 0 -- bounds "$families/t5" --ids "$families/t5/input.safetensors" --variant full
expect "its logits have positions" grep -q 'the logits depend on positions' "$dir/out"
check "bounds of nothing" 3 "no such directory" -- bounds ./none

# Low rank.
check "lowrank" 0 -- lowrank $toy "${few[@]}" --lengths 8,16,32 --draws 40
expect "sketches" grep -q 'Johnson-Lindenstrauss' "$dir/out"
check "lowrank as rows" 0 -- lowrank $toy "${few[@]}" --only spectra,kinds --attention nystrom:m=3 --eps 0.5 --format csv
expect "spectra" grep -q ',attention.rank.numerical,' "$dir/out"
expect "kinds" grep -q ',nystrom:m=3,2,,state.distance,' "$dir/out"
expect "no sketches" bash -c '! grep -q ",jl\." "$1"' - "$dir/out"
check "lowrank of a checkpoint" 0 -- lowrank "$families/t5" --ids "$families/t5/input.safetensors" --lengths 4,8
check "lowrank of another part" 2 "rank" -- lowrank $toy --only rank
check "lowrank lengths" 2 "ascend" -- lowrank $toy --lengths 8,4
check "lowrank block" 2 "blocks 0 to" -- lowrank $toy --block 99
check "lowrank of nothing" 3 "no such directory" -- lowrank ./none
check "costs of layers" 0 -- bench --layers --dim 8 --heads 2 --lengths 16,32,64 --attention window:w=4 -q
expect "LSTM beside them" grep -q '^lstm ' "$dir/out"
check "a layer's width alone" 2 "layers" -- bench --dim 8

# The audit.
mkdir "$dir/witnesses"
check "audit" 0 -- audit --claims 4-8,16 --trials 12000 --witnesses "$dir/witnesses"
expect "the composite norm is no norm" grep -q 'A = \[\[1,0\],\[1,0\]\]' "$dir/out"
expect "witnesses are saved" test -s "$dir/witnesses/04b_composite_triangle.json"
check "a witness is checked" 0 -- audit --check "$dir/witnesses/04b_composite_triangle.json" --check "$dir/witnesses/07_theorem_2_2.json"
expect "it still shows it" grep -q 'left 3, right 2.82.*: violated' "$dir/out"
check "several witnesses at once" 0 -- audit --check "$dir/witnesses/04b_composite_triangle.json" "$dir/witnesses/07_theorem_2_2.json" "$dir/witnesses/06_entrywise_step.json"
expect "all of them are looked at" test "$(grep -c '^  left ' "$dir/out")" = 3
check "an audit cut short by its time limit" 0 -- audit --claims 7 --trials 1000000000 --seconds 0.01
expect "it says so" grep -q 'the time limit ended the search' "$dir/out"
check "the witness of wide heads" 0 -- audit --check "$dir/witnesses/08b_theorem_2_3.json"
expect "it violates Theorem 2.3" grep -q 'left .*: violated' "$dir/out"
sed -i 's/69999/30000/' "$dir/witnesses/08b_theorem_2_3.json"
check "narrower heads do not" 5 "do not show" -- audit --check "$dir/witnesses/08b_theorem_2_3.json"
sed -i 's/30000/-1/' "$dir/witnesses/08b_theorem_2_3.json"
check "a group of a negative size" 3 "size of group 1" -- audit --check "$dir/witnesses/08b_theorem_2_3.json"
sed -i 's/1, 1\]/0, 0]/' "$dir/witnesses/04b_composite_triangle.json"
check "a witness that shows nothing" 5 "do not show" -- audit --check "$dir/witnesses/04b_composite_triangle.json"
check "no witness" 3 "" -- audit --check "$dir/text"
check "claims are listed" 0 -- audit --list
expect "one line each" grep -qE '^4b +fails +the composite norm obeys .*2103\.03404' "$dir/out"
check "some of them" 0 -- audit --list --claims 7-8
expect "only those" test "$(wc -l < "$dir/out")" = 3
check "a list is not a check" 2 "excludes" -- audit --list --check "$dir/witnesses/06_entrywise_step.json"
check "no such claim" 2 "claims 1 to 28" -- audit --claims 29
check "no such directory for witnesses" 2 "no such directory" -- audit --witnesses "$dir/none"

# Training, where libtorch was found.
if [[ -x $(dirname "$rankfall")/rankfall-train ]]; then
  tiny=(--quick --layers 2 --train 100 --eval 20 --epochs 2 --quiet)
  check "train" 0 -- train sort -o "$dir/sorted" "${tiny[@]}" --seeds 2
  expect "it says how well" grep -q 'sort, seed 1: accuracy' "$dir/out"
  check "a training is not overwritten" 2 "--resume continues" -- train sort -o "$dir/sorted" "${tiny[@]}" --seeds 2
  check "nothing is left to do" 0 -- train sort -o "$dir/sorted" "${tiny[@]}" --seeds 2 --resume
  check "effectiveness" 0 -- effectiveness "$dir/sorted" --draws 2 --format csv
  expect "of every kind" grep -qE '^[^,]*,accuracy,.*,cumulative' "$dir/out"
  check "effectiveness as a table" 0 -- effectiveness "$dir/sorted/seed-0" --draws 2
  expect "beside guessing" grep -q 'most frequent label per position' "$dir/out"
  check "a training is a model" 0 -- paths "$dir/sorted/seed-0" --ids "$dir/sorted/seed-0/task.safetensors" --samples 2
  check "train on features" 0 -- train hull -o "$dir/hull" "${tiny[@]}" --monitor
  check "features from a file" 0 -- measure "$dir/hull" --features "$dir/hull/task.safetensors" --samples 2
  check "ids for features" 3 "takes real features" -- measure "$dir/hull" --ids "$dir/sorted/seed-0/task.safetensors"
  check "train on a text" 0 -- train memorize -o "$dir/memory" --quick --layers 1 --epochs 1 -q --text "$dir/text" \
    --vocab "$tokenizers/bert-uncased"
  digest() { sed -n 's/.*"text_digest": "\(.*\)".*/\1/p' "$dir/$1/training.json"; }
  check "train on a text without special tokens" 0 -- train memorize -o "$dir/bare" --quick --layers 1 --epochs 1 -q \
    --text "$dir/text" --vocab "$tokenizers/bert-uncased" --special-tokens none
  expect "other ids" test "$(digest memory)" != "$(digest bare)"
  expect "kept for resuming" grep -q '"special_tokens": "none"' "$dir/bare/training.json"
  check "resumed with other special tokens" 2 'special_tokens "none" there, "as-stored" here' -- train memorize \
    -o "$dir/bare" --quick --layers 1 --epochs 1 -q --text "$dir/text" --vocab "$tokenizers/bert-uncased" --resume
  check "special tokens of generated sequences" 2 "special-tokens" -- train memorize -o "$dir/memory2" --quick -q \
    --special-tokens none
  check "train on no text" 3 "" -- train memorize -o "$dir/memory2" --quick --quiet --text "$dir/none" --vocab "$dir"
  check "circle" 0 -- circle -o "$dir/circle" --quick --epochs 2 --dim 8 --steps 5 -q
  expect "tracks as rows" grep -q ',track.x,' "$dir/circle/circle.csv"
  check "circle on a page" 0 -- report "$dir/circle/circle.json" -o "$dir/circle.html"
  names=$(awk -F, 'NR == 1 { while ($(++c) != "metric"); next } { print $c }' "$dir/circle/circle.csv" | sort -u)
  expect "several metrics" test "$(wc -l <<< "$names")" -gt 5
  for name in $names; do
    check "$name of circle is a known metric" 0 -- metrics "$name"
    expect "$name is written by it" grep -qE '^  written by .*circle' "$dir/out"
  done
  check "no such task" 2 "expected sort, hull, memorize or circle" -- train knit -o "$dir/x"
  check "train's own help" 0 -- train --help
  expect "with its options" grep -q -- --as-published "$dir/out"
  expect "the name of a missing directory is no crash" test ! -e "$dir/x"
  check "where no directory can be" 3 "cannot make" -- train sort -o /proc/none "${tiny[@]}"
else
  check "train without libtorch" 2 "libtorch-dev" -- train sort -o "$dir/sorted"
fi
check "effectiveness of nothing" 3 "no training in it" -- effectiveness "$dir/witnesses"

check "bench" 0 -- bench bert-tiny@init --rounds 1 --samples 2 --tokens 16 --format csv
expect "bench gives shares" grep -q ',share_of_peak,' "$dir/out"

check "a plot in characters" 0 -- measure "${small[@]}" --plot
expect "with a legend" grep -q '● full' "$dir/out"
check "a plot of nothing" 0 -- doctor --plot
expect "says so" grep -q '^Nothing to plot: this result has no curves.' "$dir/out"
check "no plot in csv" 0 "note: --plot draws below tables only" -- measure "${small[@]}" --plot --format csv

"$rankfall" measure "${small[@]}" -q -o "$dir/tiny.json"
if "$rankfall" report "$dir/tiny.json" -o "$dir/probe.html" --no-charts 2>&1 | grep -q 'without its report page'; then
  check "report without node" 2 "nodejs" -- report "$dir/tiny.json" -o "$dir/page.html"
else
  expect "no folder of charts unless one is asked for" test ! -e "$dir/probe-charts"
  check "a report" 0 -- report "$dir/tiny.json" -o "$dir/page.html" --charts "$dir/page-charts"
  expect "the command and the paper stand on it" grep -q '"text":"rankfall report .*2103.03404\|2103.03404.*"text":"rankfall report ' "$dir/page.html"
  expect "says where it is" grep -qx "$dir/page.html" "$dir/out"
  expect "it is a page" grep -q '^<!doctype html>' "$dir/page.html"
  expect "charts for notebooks" test -s "$dir/page-charts/s1-curves.vl.json"
  check "a report of csv" 3 "needs JSON" -- report "$dir/tiny.csv" -o "$dir/page.html"
  check "a report of nothing" 3 "no such file" -- report "$dir/none.json" -o "$dir/page.html"
  # Charts fit below the limit, the page does not: as on a disk that is full by then.
  (
    ulimit -f 200
    "$rankfall" report "$dir/tiny.json" -o "$dir/large.html" --charts "$dir/large-charts" > "$dir/out" 2> "$dir/err"
  )
  expect "a page that does not fit" test $? -eq 3
  expect "no folder with half of the report" test ! -e "$dir/large-charts" -a ! -e "$dir/large.html"
  # Links in a folder that a command keeps lead nowhere.
  mkdir "$dir/foreign" "$dir/elsewhere"
  echo precious > "$dir/victim"
  ln -s "$dir/victim" "$dir/foreign/report.html"
  check "a linked report" 0 -- reproduce --only fig5 -q -o "$dir/foreign"
  expect "what the link led to stays" grep -q precious "$dir/victim"
  expect "the page is written" grep -q '<!doctype html>' "$dir/foreign/report.html"
  expect "and no charts" test ! -e "$dir/foreign/charts"
  ln -s "$dir/elsewhere" "$dir/foreign/charts"
  touch "$dir/elsewhere/s1-mine-1.vl.json"
  check "a linked folder of charts" 3 "charts: is a link" -- reproduce --only fig5 -q -o "$dir/foreign" --charts "$dir/foreign/charts"
  expect "its files stay" test -e "$dir/elsewhere/s1-mine-1.vl.json"
  echo '{"rankfall": 1' > "$dir/broken.json"
  cp "$dir/page.html" "$dir/page.before"
  check "a report of a broken file" 3 "broken.json: line 1, column 15: 'rankfall' is number" -- report "$dir/tiny.json" "$dir/broken.json" -o "$dir/page.html"
  expect "the page before it is intact" cmp -s "$dir/page.html" "$dir/page.before"
  check "where no page can be" 2 "there is no directory" -- report "$dir/tiny.json" -o "$dir/none/page.html"
  check "a report without files" 2 "FILE is missing" -- report
  check "a figure that is none" 2 "--only: 'fig6': expected fig1, fig2.*did you mean 'fig1'" -- reproduce --only fig6 -o "$dir/reproduced"
  expect "nothing was made" test ! -e "$dir/reproduced"
  check "text without a checkpoint" 2 "give --bert" -- reproduce --text "$dir/tiny.json" -o "$dir/reproduced"
  check "a figure that needs no network" 0 "fig5: 0 s" -- reproduce --only fig5 -o "$dir/reproduced"
  expect "with its agreement" grep -q '^    agrees$' "$dir/out"
  expect "and where the report is" grep -q "^report: /.*reproduced/report.html$" "$dir/out"
  for file in report.html results/fig5.json results/fig5.csv results/agreement.json; do
    expect "there is $file" test -s "$dir/reproduced/$file"
  done
  check "again" 0 "fig5: kept from an earlier run" -- reproduce --only fig5 -o "$dir/reproduced"
  head -c 3000 "$dir/reproduced/results/fig5.json" > "$dir/cut" && cp "$dir/cut" "$dir/reproduced/results/fig5.json"
  check "what is broken is made anew" 0 "fig5: 0 s" -- reproduce --only fig5 -o "$dir/reproduced"
  check "the parts are results like others" 0 -- report "$dir/reproduced/results/fig5.json" -o "$dir/fig5.html" --no-charts
fi

finish cli
