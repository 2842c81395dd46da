#!/usr/bin/env bash
# completion_test.sh RANKFALL: what a shell completes, and the man page.
set -euo pipefail

rankfall=$(readlink -f -- "$1")
dir=$(mktemp -d)
trap 'rm -rf -- "$dir"' EXIT
failed=0

expect() { # NAME EXPECTED FOUND
  if [[ $2 != "$3" ]]; then
    printf 'FAILED: %s: expected "%s", found "%s"\n' "$1" "$2" "$3"
    failed=1
  fi
}

# complete LINE: the words that bash would offer for it, joined by spaces.
mkdir "$dir/bin" "$dir/files" "$dir/files/models"
ln -s "$rankfall" "$dir/bin/rankfall"
PATH=$dir/bin:$PATH
"$rankfall" completion bash > "$dir/rankfall.bash"
# shellcheck source=/dev/null
source "$dir/rankfall.bash"
touch "$dir/files/text one.txt" "$dir/files/some.json"
cd "$dir/files"
offer() {
  COMP_LINE=$1
  COMP_POINT=${#1}
  # As readline breaks words: not at a blank that is escaped.
  local last=${1//\\ /$'\1'}
  last=${last##*[ :=@]}
  last=${last//$'\1'/\\ }
  COMP_WORDS=(rankfall "$last")
  COMP_CWORD=1
  _rankfall
  printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd ' '
}
expect "commands" "measure" "$(offer 'rankfall mea')"
expect "commands and options" "--version" "$(offer 'rankfall --v')"
expect "options" "--samples" "$(offer 'rankfall measure --samp')"
expect "choices of an option" "csv json table" "$(offer 'rankfall measure --format ')"
expect "choices with numbers" "f64" "$(offer 'rankfall measure --precision f6')"
expect "a number has no choices" "" "$(offer 'rankfall measure --seed ')"
expect "files" "some.json" "$(offer 'rankfall measure --text some')"
expect "presets" "bert-base@init" "$(offer 'rankfall measure bert-ba')"
expect "words that readline breaks" "init" "$(offer 'rankfall measure bert-base@')"
expect "folders, which readline marks" "models" "$(offer 'rankfall measure model')"
expect "names with blanks" "text one.txt" "$(offer 'rankfall measure --text text\ o')"
expect "a text that is no file" "" "$(offer 'rankfall report some.json --title ')"
expect "metrics" "cosine.mean cosine.mean_abs" "$(offer 'rankfall metrics cosine.')"
expect "shells" "bash fish zsh" "$(offer 'rankfall completion ')"
expect "nothing" "" "$(offer 'rankfall nonsense --x')"
if "$rankfall" train --help > /dev/null 2>&1; then
  expect "the other program's options" "--epochs" "$(offer 'rankfall train sort --epo')"
  expect "all of them" "--epochs" "$(offer 'rankfall train sort --' | tr ' ' '\n' | grep -x -e --epochs)"
  expect "its tasks" "sort" "$(offer 'rankfall train so')"
  expect "its folders" "models" "$(offer 'rankfall train sort -o mod')"
  "$rankfall" manual | grep -q 'SS "rankfall train"' || expect "the manual has train" yes no
fi
for shell in zsh fish; do
  if command -v "$shell" > /dev/null; then "$rankfall" completion "$shell" | "$shell" -n || expect "$shell's syntax" good bad; fi
done
"$rankfall" manual > "$dir/rankfall.1"
for command in $("$rankfall" --complete '' | grep -v ^-); do
  if [[ $command =~ ^(train|circle)$ ]]; then continue; fi
  grep -q "^.SS \"rankfall $command\"" "$dir/rankfall.1" || expect "the manual has $command" yes no
done
if command -v groff > /dev/null; then
  expect "the manual's syntax" "" "$(groff -man -Tutf8 -ww "$dir/rankfall.1" 2>&1 > /dev/null)"
fi
exit "$failed"
