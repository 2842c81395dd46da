#!/usr/bin/env bash
# setup_test.sh ROOT: what ./run does on other people's machines: it asks before it uses sudo, and uses a built tree that it
# may only read. apt-get, sudo and the rest are stand-ins that note what they were asked to do.
set -uo pipefail
root=$(readlink -f -- "$1")
dir=$(mktemp -d)
trap 'chmod -R u+w -- "$dir"; rm -rf -- "$dir"' EXIT
failed=0

expect() { # NAME COMMAND...
  local name=$1
  shift
  if ! "$@"; then
    echo "FAILED: $name"
    cat -- "$dir/err" 2> /dev/null
    failed=1
  fi
}

# A tree of its own, so that nothing of the real one is touched.
mkdir -p "$dir/tree/tools" "$dir/tree/build/release/cli" "$dir/bin"
cp "$root/run" "$dir/tree/"
cp "$root/tools/setup.sh" "$dir/tree/tools/"
stand_in() { # NAME TEXT
  printf '#!/bin/bash\n%s\n' "$2" > "$dir/bin/$1"
  chmod +x "$dir/bin/$1"
}
stand_in id 'echo 1000'
stand_in sudo 'echo "sudo $*" >> "'"$dir"'/asked"'
stand_in apt-get 'exit 0'
stand_in dpkg-query 'exit 1' # no library is installed
stand_in ninja 'echo "ninja: no work to do."'
stand_in cmake 'exit 0'
export PATH=$dir/bin:$PATH
unset RANKFALL_NO_INSTALL RANKFALL_YES
printf '#!/bin/bash\necho "rankfall $*"\n' > "$dir/tree/build/release/cli/rankfall"
chmod +x "$dir/tree/build/release/cli/rankfall"
touch "$dir/tree/build/release/build.ninja"
printf '%s' "$dir/tree" > "$dir/tree/build/release/.place"

"$dir/tree/run" version > "$dir/out" 2> "$dir/err" < /dev/null
expect "without a terminal nothing is installed" test $? -ne 0
expect "packages are listed" grep -q libeigen3-dev "$dir/err"
expect "and what to do" grep -q -e '--yes' "$dir/err"
expect "sudo was not used" test ! -e "$dir/asked"
if command -v script > /dev/null; then # it makes a terminal
  script -qec "$dir/tree/run version" /dev/null <<< n > "$dir/out" 2> "$dir/err"
  expect "on a terminal it asks" grep -q 'Install them with sudo apt-get?' "$dir/out"
  expect "no is no" test ! -e "$dir/asked"
fi
"$dir/tree/run" --yes version > "$dir/out" 2> "$dir/err" < /dev/null
expect "with --yes it installs" grep -q 'apt-get .*install' "$dir/asked"
expect "and runs what was asked for" grep -qx 'rankfall version' "$dir/out"

# A second user, who may only read the tree. Root may write anywhere: it takes another user's place where that is possible.
as_other=()
if [[ $(/usr/bin/id -u) -eq 0 ]]; then
  command -v setpriv > /dev/null || { echo "skipped: no setpriv to be another user"; exit "$failed"; }
  as_other=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  chmod 755 "$dir"
fi
touch "$dir/tree/build/release/.lock"
chmod -R a+rX,a-w "$dir/tree"
RANKFALL_NO_INSTALL=1 "${as_other[@]}" "$dir/tree/run" version > "$dir/out" 2> "$dir/err"
expect "a built tree that is read-only works" grep -qx 'rankfall version' "$dir/out"
stand_in ninja 'echo "[1/9] Building"'
RANKFALL_NO_INSTALL=1 "${as_other[@]}" "$dir/tree/run" version > "$dir/out" 2> "$dir/err"
expect "one that is out of date does not" test $? -eq 1
expect "and says why" grep -q 'cannot be written, and is not built from these sources' "$dir/err"
exit "$failed"
