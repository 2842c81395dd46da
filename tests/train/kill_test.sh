#!/usr/bin/env bash
# kill_test.sh RANKFALL: training that is killed at random moments loses at most an epoch, and resumed ends at the same bits;
# SIGINT and SIGTERM stop it cleanly.
set -euo pipefail

rankfall=$1
dir=$(mktemp -d)
# Only this shell cleans up: a child that a signal meets before it has become the program still has the shell's traps.
trap 'if [[ $BASHPID == "$$" ]]; then rm -rf -- "$dir"; fi' EXIT
options=(--quick --train 300 --eval 50 --layers 2 --quiet)
whole=("${options[@]}" --epochs 8)

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# The number of complete epochs.
epochs() { grep -aoE '"epoch":"[0-9]+"' "$1/state.safetensors" 2> /dev/null | grep -oE '[0-9]+' || echo 0; }
# Files that do not belong to a training.
unknown() {
  find "$1" -type f | grep -vE '/(config|training|history)\.json$|/(model|task|state)\.safetensors$' || true
}

# until_there DIR PID: waits until a training has made its directory, most of which is starting, or has ended.
until_there() {
  while [[ ! -d $1 ]] && kill -0 "$2" 2> /dev/null; do sleep 0.01; done
}

"$rankfall" train sort -o "$dir/whole" "${whole[@]}" > /dev/null &
until_there "$dir/whole" $!
begin=$EPOCHREALTIME
wait $!
seconds=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
[[ $(epochs "$dir/whole") == 8 ]] || fail "a whole training has 8 epochs"

hits=0
done_before=0
for share in 0.1 0.4 0.2 0.5 0.3 0.45; do # of what a whole training takes once it has begun
  "$rankfall" train sort -o "$dir/killed" --resume "${whole[@]}" > /dev/null &
  until_there "$dir/killed" $!
  sleep "$(awk -v s="$seconds" -v share="$share" 'BEGIN { print s * share }')"
  if kill -9 $! 2> /dev/null; then hits=$((hits + 1)); fi
  wait $! 2> /dev/null || true
  [[ -d $dir/killed ]] || continue
  now=$(epochs "$dir/killed")
  [[ $now -ge $done_before ]] || fail "epochs were lost: $done_before before, $now now"
  done_before=$now
  left=$(unknown "$dir/killed")
  # Killed between the two system calls that name a file and give it its final name: one file, which the next run removes.
  [[ -z $left || $left =~ ^[^[:space:]]*/\.[a-z]+\.(json|safetensors)\.[0-9a-f]{16}\.tmp$ ]] || fail "left behind: $left"
  if [[ -e $dir/killed/model.safetensors ]]; then
    "$rankfall" measure "$dir/killed" --samples 1 --tokens 8 --quiet > /dev/null || fail "a killed training's model is sound"
  fi
done
before=$(epochs "$dir/killed")
[[ $hits -ge 2 ]] || fail "only $hits kills hit a training"
touch "$dir/killed/.state.safetensors.0123456789abcdef.tmp" "$dir/killed/.mine.tmp" # of a killed run; of the user
"$rankfall" train sort -o "$dir/killed" --resume "${whole[@]}" > /dev/null
[[ $(unknown "$dir/killed") == "$dir/killed/.mine.tmp" ]] || fail "a resumed training removes what a killed one left, and no more"
[[ $(epochs "$dir/killed") == 8 ]] || fail "resumed after $before epochs it ends"
for file in model.safetensors state.safetensors history.json; do
  cmp -s "$dir/whole/$file" "$dir/killed/$file" || fail "$file differs after kill -9 and --resume"
done

for signal in INT TERM; do
  status=0
  "$rankfall" train sort -o "$dir/$signal" "${options[@]}" --epochs 500 > /dev/null 2> "$dir/$signal.err" &
  child=$!
  for _ in $(seq 100); do
    [[ -e $dir/$signal/model.safetensors ]] && break
    sleep 0.1
  done
  kill "-$signal" "$child"
  wait "$child" || status=$?
  [[ $status == 130 ]] || fail "SIG$signal ends with 130, found $status"
  grep -q -- --resume "$dir/$signal.err" || fail "SIG$signal says how to go on"
done

# A stranger's link in the directory leads nowhere, and a state of NaN is refused, not gone on from.
echo precious > "$dir/victim"
mkdir "$dir/linked"
ln -s "$dir/victim" "$dir/linked/history.json"
"$rankfall" train sort -o "$dir/linked" "${options[@]}" --epochs 1 > /dev/null
grep -q precious "$dir/victim" || fail "the training wrote through a link"
python3 - "$dir/linked/state.safetensors" << 'END'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
begin = 8 + struct.unpack("<Q", data[:8])[0]
data[begin : begin + 4] = struct.pack("<f", float("nan"))
open(sys.argv[1], "wb").write(data)
END
status=0
"$rankfall" train sort -o "$dir/linked" --resume "${options[@]}" --epochs 1 > /dev/null 2> "$dir/nan.err" || status=$?
[[ $status == 3 ]] || fail "a state of NaN ends with 3, found $status"
grep -q 'not finite' "$dir/nan.err" || fail "a state of NaN is named"
echo ok
