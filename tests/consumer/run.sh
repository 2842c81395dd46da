#!/usr/bin/env bash
# tests/consumer/run.sh BUILD_DIR: installs BUILD_DIR into a temporary folder and builds and runs programs against it:
# with g++ and clang, with and without -march=native (the library's own is one of these, so the other differs), under
# AddressSanitizer, and once by pkg-config instead of CMake; then the examples.
set -euo pipefail

here=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd)
build=$1
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
prefix="$work/pre fix"

cmake --install "$build" --prefix "$prefix" > "$work/install.log"
if find "$prefix" -name '*.a' | grep .; then
  echo "the static libraries of the layers must not be installed" >&2
  exit 1
fi
"$here/../robustness/elf_paths.py" "$prefix"

# consumer COMPILER FLAGS: one combination, in a folder of its own. Prints its log whole, so that those that run at the
# same time do not mix.
consumer() {
  local compiler=$1 flags=$2 dir=$work/$1${2%% *} status=0
  {
    echo "--- $compiler $flags"
    cmake -S "$here" -B "$dir" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" \
      -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_BUILD_TYPE=Release && cmake --build "$dir" && "$dir/consumer"
  } > "$dir.log" 2>&1 || status=$?
  if [[ $status -ne 0 ]]; then cat -- "$dir.log"; else head -n 1 -- "$dir.log"; fi
  return "$status"
}
export -f consumer
export here work prefix

for compiler in g++ clang++; do
  if ! command -v "$compiler" > /dev/null; then
    echo "skipped: no $compiler" >&2
    continue
  fi
  for flags in "" "-march=native" "-fsanitize=address,undefined -fno-sanitize-recover=all"; do
    printf '%s\0' "$compiler" "$flags"
  done
done | xargs -0 -n 2 -P "$(nproc)" bash -c 'consumer "$@"' consumer

if command -v pkg-config > /dev/null; then
  echo "--- pkg-config"
  libdir=$(dirname -- "$(find "$prefix" -name librankfall.so)")
  export PKG_CONFIG_PATH=$libdir/pkgconfig
  flags=()
  eval "flags=($(pkg-config --cflags --libs rankfall))" # pkg-config quotes for the shell
  g++ -std=c++20 "$here/main.cc" "${flags[@]}" -o "$work/consumer"
  LD_LIBRARY_PATH=$libdir "$work/consumer"
fi

echo "--- the examples"
examples=$here/../../examples
cmake -S "$examples" -B "$work/examples" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" \
  > "$work/configure.log" || {
  cat -- "$work/configure.log"
  exit 1
}
cmake --build "$work/examples"
for header in "$here"/../../include/rankfall/*.h; do
  name=$(basename -- "$header" .h)
  case $name in export | index) continue ;; esac # what all others include
  if ! grep -q "^// $name\.h: " "$examples/$name.cc"; then
    echo "$header: examples/$name.cc must show it and begin with \"// $name.h: \"" >&2
    exit 1
  fi
done
for source in "$examples"/*.cc; do
  if [[ $(wc -l < "$source") -ge 60 ]]; then
    echo "$source: an example has less than 60 lines" >&2
    exit 1
  fi
  (cd -- "$work" && "$work/examples/$(basename -- "$source" .cc)") > "$work/example.log" || {
    echo "$source failed:" >&2
    cat -- "$work/example.log" >&2
    exit 1
  }
done

if [[ -x $prefix/bin/rankfall ]]; then
  echo "--- the installed command"
  (cd / && "$prefix/bin/rankfall" --version)
fi
echo "consumer: every combination works"
