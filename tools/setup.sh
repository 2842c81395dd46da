# shellcheck shell=bash
# What ./run and ./test need before they can work, as functions to be sourced:
#
#   rankfall_packages run|test     installs the missing Debian packages; a local query when none is missing
#   rankfall_build PRESET [-D...] [-- TARGET...]   configures build/PRESET once and builds; one caller at a time
#
# Both write to standard error only. RANKFALL_NO_INSTALL=1 turns the first into nothing: for systems that get their
# libraries from elsewhere.

rankfall_root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)

# Tools: any program of that name will do, wherever it comes from. "program:package"
rankfall_tools_run=(g++:g++ cmake:cmake ninja:ninja-build ccache:ccache node:nodejs npm:npm)
rankfall_tools_test=(clang++:clang clang-format:clang-format clang-tidy:clang-tidy doxygen:doxygen git:git pkg-config:pkg-config python3:python3)

# Libraries: found by package name.
rankfall_libraries_run=(libeigen3-dev libopenblas-pthread-dev libtbb-dev librandom123-dev libsleef-dev nlohmann-json3-dev
  libboost-dev libcli11-dev libfmt-dev libssl-dev libicu-dev libsentencepiece-dev libpng-dev libturbojpeg0-dev libtorch-dev)
rankfall_libraries_test=(libgtest-dev libgmock-dev libbenchmark-dev libmpfr-dev)

rankfall_say() { printf '%s\n' "$*" >&2; }

rankfall_apt() {
  local sudo=()
  if [[ $(id -u) -ne 0 ]]; then sudo=(sudo); fi
  ${sudo[@]+"${sudo[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@" >&2 < /dev/null
}

rankfall_has_apt() { command -v apt-get > /dev/null && command -v dpkg-query > /dev/null; }

# What to install, for systems where this script cannot.
rankfall_list() {
  rankfall_say "This is not a Debian system; rankfall needs, by their Debian names:"
  rankfall_say "  ${rankfall_tools_run[*]#*:} ${rankfall_libraries_run[*]}"
  rankfall_say "and its tests: ${rankfall_tools_test[*]#*:} ${rankfall_libraries_test[*]}"
}

# Clang's sanitizer libraries are a package of their own on some releases (libclang-rt-14-dev on Debian 12) and part of
# clang on others.
rankfall_has_clang_runtime() {
  local dir
  dir=$(clang++ -print-resource-dir 2> /dev/null) && [[ -n $(find "$dir/" -name 'libclang_rt.tsan*' -print -quit) ]]
}

# The package's name: of the clang that is here, else of the one that `clang` stands for (needs apt's lists).
rankfall_clang_runtime_package() {
  local version
  if command -v clang++ > /dev/null; then
    version=$(clang++ -dumpversion)
    version=${version%%.*}
  else
    version=$(apt-cache depends clang 2> /dev/null | sed -n 's/.*Depends: clang-\([0-9]*\).*/\1/p' | head -n 1)
  fi
  if [[ -n $version ]] && apt-cache show "libclang-rt-$version-dev" > /dev/null 2>&1; then
    echo "libclang-rt-$version-dev"
  fi
}

# rankfall_missing run|test: names of the packages that are not there, one a line. Touches no network.
rankfall_missing() {
  local tools=("${rankfall_tools_run[@]}") libraries=("${rankfall_libraries_run[@]}") tool
  if [[ $1 == test ]]; then
    tools+=("${rankfall_tools_test[@]}")
    libraries+=("${rankfall_libraries_test[@]}")
  fi
  for tool in "${tools[@]}"; do
    command -v "${tool%%:*}" > /dev/null || echo "${tool#*:}"
  done
  local installed
  # Fails when a name is unknown; what it says of the others still counts.
  # shellcheck disable=SC2016  # the fields are dpkg-query's
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${libraries[@]}" 2> /dev/null) || true
  for tool in "${libraries[@]}"; do
    [[ $'\n'$installed$'\n' == *$'\n'"$tool installed"$'\n'* ]] || echo "$tool"
  done
}

rankfall_packages() {
  [[ ${RANKFALL_NO_INSTALL:-} == 1 ]] && return
  local purpose=$1 missing runtime
  if ! rankfall_has_apt; then return; fi # rankfall_configure finds out whether what is here is enough
  mapfile -t missing < <(rankfall_missing "$purpose")
  local needs_runtime=0
  if [[ $purpose == test ]] && ! rankfall_has_clang_runtime; then needs_runtime=1; fi
  if [[ ${#missing[@]} -eq 0 && $needs_runtime -eq 0 ]]; then return; fi

  if [[ $(id -u) -ne 0 ]] && ! command -v sudo > /dev/null; then
    rankfall_say "rankfall needs packages, and here is neither root nor sudo to install them. As root:"
    rankfall_say "  apt-get install ${missing[*]}"
    rankfall_say "or set RANKFALL_NO_INSTALL=1 if they are here under other names"
    return 1
  fi
  rankfall_say "installing ${missing[*]}"
  rankfall_apt -qq update || rankfall_say "apt-get update failed; trying with the lists that are here"
  if [[ $needs_runtime -eq 1 ]]; then
    runtime=$(rankfall_clang_runtime_package)
    if [[ -n $runtime ]]; then missing+=("$runtime"); fi
  fi
  if [[ ${#missing[@]} -eq 0 ]]; then return; fi
  if ! rankfall_apt -qq install -y --no-install-recommends "${missing[@]}"; then
    rankfall_say "could not install: ${missing[*]}"
    rankfall_say "install these, or set RANKFALL_NO_INSTALL=1 if they are here under other names"
    return 1
  fi
}

# A browser for the tests of the report page. Where none can be had those tests are left out, with a message.
rankfall_browser() {
  [[ ${RANKFALL_NO_INSTALL:-} == 1 || -n ${RANKFALL_BROWSER:-} ]] && return
  local browser
  for browser in chromium chromium-browser google-chrome; do
    if command -v "$browser" > /dev/null; then return; fi
  done
  if ! rankfall_has_apt || { [[ $(id -u) -ne 0 ]] && ! command -v sudo > /dev/null; }; then
    rankfall_say "no browser: the report page's browser tests are left out"
    return
  fi
  rankfall_say "installing chromium"
  rankfall_apt -qq update || true
  rankfall_apt -qq install -y --no-install-recommends chromium ||
    rankfall_say "could not install chromium: the report page's browser tests are left out"
}

# Runs a command with its output kept back, and shows the output if the command fails.
rankfall_quietly() {
  local log=$1
  shift
  if ! "$@" > "$log" 2>&1 < /dev/null; then
    cat -- "$log" >&2
    rankfall_say "failed: $*"
    return 1
  fi
}

# rankfall_configure PRESET [-D...]: only when there is no configuration yet, or the tree has moved; the options count then.
rankfall_configure() {
  local preset=$1 dir=$rankfall_root/build/$1
  shift
  local place=$dir/.place # where the tree was when this build was configured
  if [[ -e $dir/build.ninja && -e $place && $(< "$place") == "$rankfall_root" ]]; then return; fi
  mkdir -p -- "$dir"
  if [[ -e $dir/CMakeCache.txt ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$rankfall_root" "$dir/CMakeCache.txt"; then
    rm -f -- "$dir/CMakeCache.txt"
  fi
  if ! rankfall_has_apt; then rankfall_list; fi
  (cd -- "$rankfall_root" && rankfall_quietly "$dir/configure.log" cmake --preset "$preset" "$@") || return
  printf '%s' "$rankfall_root" > "$place"
}

rankfall_build_locked() {
  local preset=$1 dir=$rankfall_root/build/$1
  shift
  local options=() first
  while [[ $# -gt 0 && $1 != -- ]]; do
    options+=("$1")
    shift
  done
  if [[ $# -gt 0 ]]; then shift; fi
  first=$([[ -e $dir/build.ninja ]] || echo yes)
  if [[ -n $first ]]; then rankfall_say "building rankfall (once, takes a few minutes) ..."; fi
  rankfall_configure "$preset" ${options[@]+"${options[@]}"} || return
  # A dry run takes milliseconds and says whether there is something to say.
  if [[ $(ninja -C "$dir" -n "$@" 2>&1) == *"no work to do"* ]]; then return; fi
  if [[ -z $first ]]; then rankfall_say "building rankfall (what changed) ..."; fi
  rankfall_quietly "$dir/build.log" ninja -C "$dir" "$@"
}

rankfall_build() {
  local dir=$rankfall_root/build/$1
  mkdir -p -- "$dir"
  (
    if command -v flock > /dev/null && ! flock -n 9; then
      rankfall_say "waiting for another build of $1 ..."
      flock 9
    fi
    rankfall_build_locked "$@" 9>&-
  ) 9> "$dir/.lock"
}
