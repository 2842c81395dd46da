#!/usr/bin/env bash
# tests/cli/violated_bounds_test.sh PROGRAM: a bound that does not hold must be seen everywhere: in the status of its row,
# by exit code 5, by the terminal's mark and by the page's.
set -euo pipefail

program=$1
dir=$(mktemp -d)
trap 'rm -rf -- "$dir"' EXIT
cd -- "$dir"

fail() {
  echo "$1" >&2
  exit 1
}

status=0
"$program" bounds 'san:layers=2,heads=2,dim=8,vocab=30,std=0.3' --variant san --samples 2 --tokens 6 -o b.json \
  > table.txt 2> error.txt || status=$?
[[ $status -eq 5 ]] || fail "exit code $status, expected 5"
grep -q '"metric": "log10_tightness.dobrushin".*"kind": "proved".*"status": "violated"' b.json || fail "no status violated"
grep -Eq ' !!( |$)' table.txt || fail "the table has no mark: $(cat table.txt)"
grep -q 'dobrushin' error.txt || fail "the error does not name the bound: $(cat error.txt)"
if "$program" report b.json -o b.html --no-charts > report.txt 2>&1; then
  grep -q '"tone":"bad","text":"violated' b.html || fail "the page has no mark"
  grep -q 'proved bounds are violated' b.html || fail "the page's summary does not say it"
else
  grep -q 'without the page' report.txt || fail "report: $(cat report.txt)"
fi
echo "violated_bounds: seen in rows, exit code, table and page"
