# shellcheck shell=bash
# What tests of the command share; to be sourced with $rankfall set. $dir is theirs, and goes at the end.
dir=$(mktemp -d)
trap 'rm -rf -- "$dir"' EXIT
passed=0
failed=0

# check NAME EXPECTED_CODE [PATTERN_ON_STDERR] -- ARGUMENTS...: runs the command, keeps $dir/out and $dir/err.
check() {
  local name=$1 code=$2 pattern=${3-}
  shift 2
  [[ $pattern == -- ]] && pattern= || shift
  shift
  "$rankfall" "$@" > "$dir/out" 2> "$dir/err"
  local status=$?
  if [[ $status -ne $code ]]; then
    report "$name: exit $status, expected $code"
  elif [[ -n $pattern ]] && ! grep -qE -- "$pattern" "$dir/err"; then
    report "$name: nothing on standard error matches '$pattern'"
  else
    passed=$((passed + 1))
  fi
}

report() {
  failed=$((failed + 1))
  echo "FAILED $1"
  head -c 600 "$dir/err"
}

# expect NAME COMMAND...: the command must succeed.
expect() {
  local name=$1
  shift
  if "$@"; then passed=$((passed + 1)); else report "$name"; fi
}

# Says how many passed; false if one failed.
finish() {
  echo "$1: $passed passed, $failed failed"
  [[ $failed -eq 0 ]]
}
