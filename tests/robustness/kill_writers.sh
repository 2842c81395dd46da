#!/usr/bin/env bash
# kill_writers.sh RANKFALL [KILLS=12]: every command that writes a file is ended by SIGKILL, SIGINT and SIGTERM, KILLS times at
# random moments, half of them about where it writes. What was there before stays, or the new result is there whole; nothing
# else is left behind. A directory of reproduce holds whole files only, and going on ends where an undisturbed run does.
# Trainings: tests/train/kill_test.sh.
set -euo pipefail

rankfall=$(readlink -f -- "$1")
kills=${2:-12}
dir=$(mktemp -d)
# Only this shell cleans up: a child that a signal meets before it has become the program still has the shell's traps.
trap 'if [[ $BASHPID == "$$" ]]; then rm -rf -- "$dir"; fi' EXIT
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND" >&2' ERR
cd -- "$dir"
RANDOM=$$
echo "RANDOM=$$ repeats the moments as far as the machine does"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

small=(bert-tiny@init --samples 2 --tokens 12 -q)
"$rankfall" measure "${small[@]}" -o input.json
"$rankfall" measure "${small[@]}" --seed 5 -o input2.json
echo '[[1, 2, 3, 4], [5, 6, 7, 8]]' > ids.json
for seed in 0 1; do "$rankfall" capture bert-tiny@init --ids ids.json --seed "$seed" -q -o "reference$seed.safetensors" > /dev/null; done
mkdir model
cat > model/config.json << 'END'
{"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16, "vocab_size": 9,
 "max_position_embeddings": 16, "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12, "initializer_range": 0.02}
END
printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' one two three four > model/vocab.txt
printf 'one two three\nfour two one\n' > one.txt
printf 'three three four\n' > two.txt

writers=(measure csv collapse paths list counts bounds audit lowrank capture parity tokens report)
if "$rankfall" train sort --quick --train 60 --eval 10 --layers 1 --epochs 1 --quiet -o trained > /dev/null 2>&1; then
  writers+=(effectiveness)
fi

# writer NAME FILE 0|1: command=(...) that writes FILE, in one of two ways. An array, not a function that runs it: a shell
# in between would end before the program does, and what was looked at would still change.
writer() {
  local seed=(--seed "$3") one_of
  case $1 in
    measure | csv) command=(measure "${small[@]}" "${seed[@]}" -o "$2") ;;
    collapse) command=(collapse "${small[@]}" "${seed[@]}" -o "$2") ;;
    paths) command=(paths "${small[@]}" "${seed[@]}" --lengths -o "$2") ;;
    list) command=(paths "san:layers=3,heads=2,dim=8" --samples 1 --tokens 6 -q "${seed[@]}" --list -o "$2") ;;
    counts) command=(counts "$((3 + $3))" 4 -q -o "$2") ;;
    bounds) command=(bounds "${small[@]}" "${seed[@]}" -o "$2") ;;
    audit) command=(audit --claims 1 -q "${seed[@]}" -o "$2") ;;
    lowrank) command=(lowrank "${small[@]}" "${seed[@]}" --lengths 16,32 --draws 20 -o "$2") ;;
    effectiveness) command=(effectiveness trained "${seed[@]}" -q -o "$2") ;;
    capture) command=(capture "${small[@]}" "${seed[@]}" -o "$2") ;;
    parity) command=(parity bert-tiny@init --ids ids.json --reference "reference$3.safetensors" -q -o "$2") ;;
    tokens)
      one_of=(one.txt two.txt)
      command=(tokens model --text "${one_of[$3]}" -q -o "$2")
      ;;
    report)
      one_of=(input.json input2.json)
      command=(report "${one_of[$3]}" --charts charts -o "$2")
      ;;
    *) return 99 ;;
  esac
  command=("$rankfall" "${command[@]}")
}

# moment SECONDS: a random moment within a run of that length, every second one about its end.
moment() {
  awk -v d="$1" -v r="$RANDOM" -v late="$2" 'BEGIN { r /= 32768; printf "%.4f", late ? d * (0.7 + 0.35 * r) : d * r }'
}

seconds_of() {
  local from=$EPOCHREALTIME
  "$@" > /dev/null 2>&1
  awk -v a="$from" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.4f", b - a }'
}

signals=(KILL INT TERM)
n_hits=0
for name in "${writers[@]}"; do
  case $name in
    csv) file=out/result.csv ;;
    capture) file=out/result.safetensors ;;
    report) file=out/result.html ;;
    *) file=out/result.json ;;
  esac
  rm -rf out
  mkdir out
  status=0
  writer "$name" "$file" 1
  "${command[@]}" > err.txt 2>&1 || status=$?
  [[ $status == 0 || $name == parity && $status == 5 ]] || fail "$name: exit $status: $(cat err.txt)"
  cp -- "$file" new
  writer "$name" "$file" 0
  "${command[@]}" > /dev/null 2>&1 || true
  cp -- "$file" old
  cmp -s old new && fail "$name: the two results are equal, and the test would see nothing"
  writer "$name" "$file" 1
  long=$(seconds_of "${command[@]}" || true)
  hits=0
  whole=0
  between=0
  for ((i = 0; i < kills; ++i)); do
    cp -- old "$file"
    set -m # a group of its own, so that the signal reaches what it starts
    "${command[@]}" > /dev/null 2>&1 &
    child=$!
    set +m
    sleep "$(moment "$long" $((i % 2)))"
    if kill "-${signals[i % 3]}" -- "-$child" 2> /dev/null; then hits=$((hits + 1)); fi
    wait "$child" 2> /dev/null || true
    if cmp -s "$file" new; then
      whole=$((whole + 1))
    else
      [[ -e $file ]] || fail "$name: after SIG${signals[i % 3]} the file is gone"
      cmp -s "$file" old || fail "$name: after SIG${signals[i % 3]} the file is neither the old result nor the new one"
    fi
    # Beside a CSV file stands its manifest, whole as well, also while it is not yet named.
    manifest=${file%.csv}.manifest.json
    for beside in "$manifest" out/.*.manifest.json*.tmp; do
      [[ -e $beside ]] || continue
      [[ $file == *.csv && $(tail -c 2 -- "$beside") == '}' && $(head -c 1 -- "$beside") == '{' ]] ||
        fail "$name: after SIG${signals[i % 3]} the manifest is not whole"
      rm -- "$beside"
    done
    left=$(find out -type f ! -path "$file")
    if [[ -n $left ]]; then
      # Ended between the two system calls that name the file and give it its final name: it is whole, and hidden.
      [[ $(wc -l <<< "$left") == 1 && $left == out/.*.tmp ]] || fail "$name: left behind: $left"
      cmp -s "$left" new || fail "$name: what is left behind is not whole"
      rm -- "$left"
      between=$((between + 1))
    fi
  done
  n_hits=$((n_hits + hits))
  echo "$name: $kills signals, $hits hit, $whole new results, $between whole but not yet named"
done

[[ $n_hits -ge $((2 * kills)) ]] || fail "only $n_hits of $((${#writers[@]} * kills)) signals hit a command that was running"

for file in charts/*; do
  [[ $file == *.vl.json && $(head -c 1 "$file") == '{' && $(tail -c 2 "$file") == '}' ]] || fail "a chart that is not whole: $file"
done

# Directories: what is there under its final name is whole, and the run goes on from it.
long=$(seconds_of "$rankfall" reproduce --only fig1,fig5 -q -o reproduction)
mv reproduction undisturbed # results name the directory, so both runs have the same
hits=0
for ((i = 0; i < (kills + 5) / 6; ++i)); do
  set -m
  "$rankfall" reproduce --only fig1,fig5 -q -o reproduction > /dev/null 2>&1 &
  child=$!
  set +m
  sleep "$(moment "$long" 0)"
  if kill "-${signals[i % 3]}" -- "-$child" 2> /dev/null; then hits=$((hits + 1)); fi
  wait "$child" 2> /dev/null || true
  for file in reproduction/results/*.json; do
    [[ -e $file ]] || continue
    "$rankfall" report "$file" --no-charts -o check.html > /dev/null || fail "reproduce left a spoilt $file"
  done
done
"$rankfall" reproduce --only fig1,fig5 -q -o reproduction > /dev/null
for file in undisturbed/results/*.json; do
  cmp -s "$file" "reproduction/results/$(basename -- "$file")" || fail "reproduce: $file differs after signals"
done
echo "reproduce: $(((kills + 5) / 6)) signals, $hits hit"
echo ok
