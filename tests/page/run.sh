#!/usr/bin/env bash
# tests/page/run.sh RANKFALL DIR: the report page in a real browser. Makes pages into DIR from results of every command on
# small networks, and a reproduction of what needs no large one; then web/test looks at them. The browser is the first of
# chromium, chromium-browser, google-chrome, or $RANKFALL_BROWSER; without one those tests say so and are skipped.
# Screenshots go to $RANKFALL_SHOTS, if set.
set -euo pipefail

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd)
rankfall=$(readlink -f -- "$1")
mkdir -p -- "$2"
dir=$(cd -- "$2" && pwd)
cd -- "$dir"

trap wait EXIT # nothing goes on after this script

# The default report's parts that need no model of real size, twice: the second time everything is kept. At the same
# time as the results below: neither keeps all cores busy.
reproduction() {
  rm -rf -- reproduction
  "$rankfall" reproduce --only fig1,fig3,fig4,fig5 -q -o reproduction > /dev/null
  local before
  before=$(stat -c %y reproduction/results/fig4.json)
  "$rankfall" reproduce --only fig1,fig3,fig4,fig5 -o reproduction 2> kept.txt > /dev/null
  if [[ $(grep -c 'kept from an earlier run' kept.txt) -ne 4 || $(stat -c %y reproduction/results/fig4.json) != "$before" ]]; then
    echo "a finished reproduction was computed again" >&2
    return 1
  fi
}
(set -e; reproduction) > reproduction.log 2>&1 &
reproduction=$!

# result NAME COMMAND...: NAME.json, made once.
result() {
  local name=$1
  shift
  "$rankfall" "$@" -q -o "$name.json"
}

small=(--samples 4 --tokens 16)
result measure measure bert-tiny@init albert-base@init --samples 2 --tokens 16 --metrics rank.stable,attention.entropy
result other measure bert-tiny@init "${small[@]}" --seed 1 --seeds 3
result collapse collapse bert-tiny@init --depth 8 "${small[@]}"
result paths paths bert-tiny@init "${small[@]}" --lengths --heads --top 12 --interference
result box paths bert-tiny@init "${small[@]}" --sample 20 --as-published
result bounds bounds bert-tiny@init "${small[@]}"
# Residuals that stay within one power of ten: the ticks of their axes lie between whole powers.
result shallow collapse san:layers=4,heads=2,dim=16,norm=pre,mlp=32 --variant full --variant san+skip "${small[@]}"
result narrow measure san:layers=4,heads=2,dim=16,norm=pre,mlp=32 --variant full "${small[@]}"
result audit audit --seconds 2
result counts counts
for step in 100 200 1000; do result "step-$step" measure "san:layers=3,heads=2,dim=$step" "${small[@]}"; done
"$rankfall" report measure.json other.json collapse.json paths.json box.json bounds.json audit.json counts.json -o commands.html > /dev/null
"$rankfall" report step-100.json step-200.json step-1000.json -o steps.html --title 'Three steps' --no-charts > /dev/null
"$rankfall" report narrow.json shallow.json -o narrow.html --title 'Less than a power of ten' > /dev/null
pages=$dir/commands.html:$dir/steps.html:$dir/narrow.html:$dir/reproduction/report.html
wait "$reproduction" || { cat -- reproduction.log; exit 1; }

cd -- "$root/web"
node node_modules/typescript/bin/tsc --noEmit
node --test --test-reporter=tap test/unit.mjs test/browser.mjs > "$dir/sample.tap" || { cat -- "$dir/sample.tap"; exit 1; }
RANKFALL_PAGES=$pages node --test --test-reporter=tap test/browser.mjs > "$dir/pages.tap" || { cat -- "$dir/pages.tap"; exit 1; }
cat -- "$dir/sample.tap" "$dir/pages.tap"
