# shellcheck shell=bash
# What ./run and ./test need before they can work, as functions to be sourced:
#
#   rankfall_packages run|python|test   installs the missing Debian packages; a local query when none is missing. Where that
#                                  takes sudo it lists them and asks first, unless RANKFALL_YES=1 (./run --yes)
#   rankfall_build PRESET [-D...] [-- TARGET...]   configures build/PRESET once and builds; one caller at a time
#
# Both write to standard error only: one line that shows how far they are, rewritten on a terminal, repeated every ten
# seconds elsewhere. RANKFALL_NO_INSTALL=1 turns the first into nothing: for systems that get their libraries from
# elsewhere.

rankfall_root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)

# Tools: any program of that name will do, wherever it comes from. "program:package"
rankfall_tools_run=(g++:g++ cmake:cmake ninja:ninja-build ccache:ccache node:nodejs npm:npm)
rankfall_tools_test=(clang++:clang ld.lld:lld clang-format:clang-format clang-tidy:clang-tidy doxygen:doxygen git:git pkg-config:pkg-config python3:python3)

# Libraries: found by package name.
rankfall_libraries_run=(libeigen3-dev libopenblas-pthread-dev libtbb-dev librandom123-dev libsleef-dev nlohmann-json3-dev
  libboost-dev libcli11-dev libfmt-dev libssl-dev libicu-dev libsentencepiece-dev libpng-dev libturbojpeg0-dev libtorch-dev)
rankfall_libraries_python=(pybind11-dev python3-dev python3-numpy)
rankfall_libraries_test=(libgtest-dev libgmock-dev libbenchmark-dev libmpfr-dev mypy python3-hypothesis python3-ipykernel
  python3-nbclient python3-pandas python3-pip python3-pytest python3-torch python3-tqdm python3-venv)

# The Python that Debian's packages are for; another one with RANKFALL_PYTHON_PROGRAM.
rankfall_python=${RANKFALL_PYTHON_PROGRAM:-/usr/bin/python3}
if [[ ! -x $rankfall_python ]]; then rankfall_python=$(command -v python3 || echo python3); fi

rankfall_say() { printf '%s\n' "$*" >&2; }

# rankfall_show TEXT: the line of progress. On a terminal it replaces the one before; elsewhere it is printed at most every
# ten seconds, so that logs stay short and nobody wonders whether anything happens.
rankfall_shown=-10
rankfall_show() {
  if [[ -t 2 ]]; then
    printf '\r\033[K%s' "$1" >&2
  elif ((SECONDS - rankfall_shown >= 10)); then
    rankfall_say "$1"
    rankfall_shown=$SECONDS
  fi
}
rankfall_show_end() { if [[ -t 2 ]]; then printf '\r\033[K' >&2; fi; }

# rankfall_stop JOB: ends a job's process group, and this shell.
rankfall_stop() {
  trap - INT TERM HUP
  kill -TERM -- "-$1" 2> /dev/null || true
  wait "$1" 2> /dev/null || true
  rankfall_show_end
  rankfall_say "stopped; what was built so far is kept"
  exit 130
}

# rankfall_watch LOG TEXT_FUNCTION COMMAND...: runs a command with its output in LOG, and twice a second shows what
# TEXT_FUNCTION LOG SECONDS prints. If the command fails, the end of the log is shown. Ctrl-C ends the command with all that
# it started: it is a process group of its own, since bash makes background commands of a script deaf to Ctrl-C.
rankfall_watch() {
  local log=$1 text=$2 begin=$SECONDS status=0 job
  shift 2
  : > "$log"
  set -m
  "$@" > "$log" 2>&1 < /dev/null &
  job=$!
  set +m
  # shellcheck disable=SC2064  # the job's number of now
  trap "rankfall_stop $job" INT TERM HUP
  while kill -0 "$job" 2> /dev/null; do
    rankfall_show "$("$text" "$log" $((SECONDS - begin)))"
    sleep 0.5
  done
  wait "$job" || status=$?
  trap - INT TERM HUP
  rankfall_show_end
  if [[ $status -ne 0 ]]; then
    tail -n 200 -- "$log" >&2
    rankfall_say "failed: $* (all of its output: $log)"
  fi
  return "$status"
}

# rankfall_may_install PACKAGE...: root may; others are asked, since sudo changes the whole system. False without a
# terminal to ask on.
rankfall_may_install() {
  if [[ $(id -u) -eq 0 || ${RANKFALL_YES:-} == 1 ]]; then return; fi
  rankfall_say "rankfall needs packages that are not installed:"
  rankfall_say "  $*"
  local answer=
  if [[ -t 0 && -t 2 ]]; then
    printf 'Install them with sudo apt-get? [y/N] ' >&2
    read -r answer || true
    if [[ $answer == [yY]* ]]; then return; fi
  fi
  rankfall_say "nothing was installed; --yes installs without asking, or: sudo apt-get install $*"
  return 1
}

rankfall_sudo() { if [[ $(id -u) -ne 0 ]]; then sudo "$@"; else "$@"; fi; }

# What apt-get is doing, from its own status lines: "dlstatus:...", "pmstatus:libfmt-dev:41.2:Installing libfmt-dev".
rankfall_apt_text() {
  local line
  line=$(grep -aE '^(dl|pm)status:' "$1" | tail -n 1 || true)
  case $line in
    dlstatus:*) line=$(cut -d : -f 3 <<< "$line") && printf 'installing packages: downloading, %.0f %%' "$line" ;;
    pmstatus:*) printf 'installing packages: %s, %.0f %%' "$(cut -d : -f 4 <<< "$line")" "$(cut -d : -f 3 <<< "$line")" ;;
    *) printf 'installing packages: reading the lists, %d s' "$2" ;;
  esac
}

rankfall_apt() {
  local log
  log=$(mktemp)
  if [[ $(id -u) -ne 0 ]]; then sudo -v; fi # asks for the password before the line of progress begins
  LC_ALL=C rankfall_watch "$log" rankfall_apt_text rankfall_sudo env DEBIAN_FRONTEND=noninteractive \
    apt-get -o DPkg::Lock::Timeout=300 -o APT::Status-Fd=1 "$@" || return
  rm -f -- "$log"
}

rankfall_has_apt() { command -v apt-get > /dev/null && command -v dpkg-query > /dev/null; }

# What to install, for systems where this script cannot.
rankfall_list() {
  rankfall_say "This is not a Debian system; rankfall needs, by their Debian names:"
  rankfall_say "  ${rankfall_tools_run[*]#*:} ${rankfall_libraries_run[*]}"
  rankfall_say "its Python module: ${rankfall_libraries_python[*]}"
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

# rankfall_missing run|python|test: names of the packages that are not there, one a line. Touches no network.
rankfall_missing() {
  local tools=("${rankfall_tools_run[@]}") libraries=("${rankfall_libraries_run[@]}") tool
  if [[ $1 != run ]]; then libraries+=("${rankfall_libraries_python[@]}"); fi
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
  if ! rankfall_may_install "${missing[@]}"; then return 1; fi
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
  if ! rankfall_may_install chromium; then
    rankfall_say "no browser: the report page's browser tests are left out"
    return
  fi
  rankfall_say "installing chromium"
  rankfall_apt -qq update || true
  rankfall_apt -qq install -y --no-install-recommends chromium ||
    rankfall_say "could not install chromium: the report page's browser tests are left out"
}

rankfall_configure_text() { printf 'looking at this machine, %d s' "$2"; }

# rankfall_build_text LOG SECONDS: "building rankfall 137/210, about 2 min left", from ninja's "[137/210] ..." lines and
# those of its dry run, in LOG.plan. Steps weigh about as many seconds as they take: libtorch's and Eigen's headers take
# most of them.
rankfall_build_text() {
  awk -v seconds="$2" '
    function weight(step) {
      if (step !~ /Building/) return 0.5
      if (step ~ /train|linalg|src\/(network|engine|studies)|test_(engine|network|studies)/) return 30
      return step ~ /Unity/ ? 10 : 4
    }
    !/^\[[0-9]+\/[0-9]+\] / { next }
    FILENAME ~ /\.plan$/ { total += weight($0); next }
    { done += weight($0); split(substr($1, 2), n, "/") }
    END {
      if (!n[2]) { printf "building rankfall, %d s", seconds; exit }
      printf "building rankfall %d/%d", n[1], n[2]
      if (seconds < 15 || done < total / 20) exit
      left = seconds * (total / done - 1)
      if (left > 90) printf ", about %d min left", left / 60 + 0.5
      else if (left > 0) printf ", about %d s left", 5 * int(left / 5 + 1)
    }' "$1.plan" "$1"
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
  (cd -- "$rankfall_root" && rankfall_watch "$dir/configure.log" rankfall_configure_text cmake --preset "$preset" "$@") || return
  printf '%s' "$rankfall_root" > "$place"
}

rankfall_build_locked() {
  local preset=$1 dir=$rankfall_root/build/$1
  shift
  local options=()
  while [[ $# -gt 0 && $1 != -- ]]; do
    options+=("$1")
    shift
  done
  if [[ $# -gt 0 ]]; then shift; fi
  rankfall_configure "$preset" ${options[@]+"${options[@]}"} || return
  # A dry run takes milliseconds: what there is to do, if anything.
  ninja -C "$dir" -n "$@" > "$dir/build.log.plan" 2>&1 || true
  if grep -qF 'no work to do' "$dir/build.log.plan"; then return; fi
  local begin=$SECONDS seconds
  rankfall_watch "$dir/build.log" rankfall_build_text ninja -C "$dir" "$@" || return
  seconds=$((SECONDS - begin))
  if ((seconds >= 10)); then rankfall_say "built rankfall in $((seconds / 60)) min $((seconds % 60)) s"; fi
}

# A tree that somebody else built and this user may only read: usable as it is, or not at all.
rankfall_use_built() {
  local dir=$rankfall_root/build/$1
  shift
  while [[ $# -gt 0 && $1 != -- ]]; do shift; done
  if [[ $# -gt 0 ]]; then shift; fi
  if ninja -C "$dir" -n "$@" 2> /dev/null | grep -qF 'no work to do'; then return; fi
  rankfall_say "$dir cannot be written, and is not built from these sources; build it as its owner, or copy the tree"
  return 1
}

# rankfall_run_python DIRECTORY ARGUMENT...: the interpreter with the module of that build, and with the BLAS kernel that the
# command would choose: it is fixed when OpenBLAS is loaded, often by NumPy.
rankfall_run_python() {
  local directory=$1 kernel
  shift
  export PYTHONPATH=$directory/python${PYTHONPATH:+:$PYTHONPATH}
  if [[ -z ${OPENBLAS_CORETYPE:-} ]]; then
    kernel=$("$rankfall_python" -W ignore -c 'from rankfall import _core; print(_core.blas_kernel()[1])' 2> /dev/null || true)
    if [[ -n $kernel ]]; then export OPENBLAS_CORETYPE=$kernel; fi
  fi
  exec "$rankfall_python" "$@"
}

rankfall_build() {
  local dir=$rankfall_root/build/$1
  if [[ -e $dir/build.ninja && ! (-w $dir && (! -e $dir/.lock || -w $dir/.lock)) ]]; then
    rankfall_use_built "$@"
    return
  fi
  mkdir -p -- "$dir"
  (
    if command -v flock > /dev/null && ! flock -n 9; then
      rankfall_say "waiting for another build of $1 ..."
      flock 9
    fi
    rankfall_build_locked "$@" 9>&-
  ) 9> "$dir/.lock"
}
