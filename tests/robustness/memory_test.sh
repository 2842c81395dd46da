#!/usr/bin/env bash
# memory_test.sh RANKFALL: with any limit on addresses (ulimit -v) a command ends with its result or, soon, with exit code 4 and
# a message: it neither crashes nor waits for memory for ever.
set -euo pipefail

rankfall=$(readlink -f -- "$1")
err=$(mktemp)
trap 'rm -f -- "$err"' EXIT
for command in "measure bert-tiny@init --samples 2 --tokens 16" "collapse bert-tiny@init --samples 1 --tokens 16" \
  "measure bert-base@init --samples 4 --tokens 32" "paths bert-tiny@init --samples 1 --tokens 16" \
  "bounds bert-tiny@init --samples 1 --tokens 16" "lowrank bert-tiny@init --samples 1 --tokens 16 --lengths 16,32 --draws 20" "counts 12 12" "doctor" "--version" "measure --help" "manual" "train --help"; do
  options="-q --threads 2"
  needs_memory=1
  case $command in
    --version | *--help | manual | counts*) options="" needs_memory=0 ;; # hardly any: most limits are enough
  esac
  refused=0
  ended=0
  for megabytes in 130 180 230 280 330 380 430 480 530 580 640 700 800 1000 4000; do
    status=0
    # shellcheck disable=SC2086
    (
      ulimit -v $((megabytes * 1024))
      exec timeout 60 "$rankfall" $command $options > /dev/null 2> "$err"
    ) || status=$?
    case $status in
      0) ended=$((ended + 1)) ;;
      4)
        grep -q 'out of memory' "$err" || { echo "FAILED: $command, $megabytes MB: no message"; exit 1; }
        refused=$((refused + 1))
        ;;
      127) ;; # the loader had no room for the libraries
      *)
        echo "FAILED: $command, $megabytes MB: exit $status"
        cat "$err"
        exit 1
        ;;
    esac
  done
  echo "$command: $refused times out of memory, $ended results"
  [[ ($refused -gt 0 || $needs_memory == 0) && $ended -gt 0 ]] || { echo "FAILED: the limits should lie on both sides"; exit 1; }
done
