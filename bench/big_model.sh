#!/usr/bin/env bash
# bench/big_model.sh RANKFALL [DIR]: a checkpoint of 8 GB in BF16 (made by tools/make_checkpoint.py in DIR unless it is there),
# measured from the disk and from memory: seconds, their ratio, and the largest resident anonymous memory. "From memory" is the
# same command on a copy in /dev/shm, if that has room; then the file's pages are there, and nothing is read from the disk.
# The disk's pages are dropped before (needs root; otherwise they may be cached, and it says so).
set -euo pipefail

rankfall=$1
dir=${2:-/tmp/rankfall-big}
here=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd)
[[ -e $dir/config.json ]] || "$here/../tools/make_checkpoint.py" "$dir"
size=$(du -sm -- "$dir" | cut -f 1)

# run DIR: seconds and the largest RssAnon in MB while it runs.
run() {
  local from=$EPOCHREALTIME most=0 now
  "$rankfall" measure "$1" --variant full --samples "${SAMPLES:-8}" --tokens 128 -q -o /tmp/rankfall-big.json &
  while kill -0 $! 2> /dev/null; do
    now=$(awk '/RssAnon/ { print int($2 / 1024) }' "/proc/$!/status" 2> /dev/null || echo 0)
    [[ ${now:-0} -gt $most ]] && most=$now
    sleep 0.1
  done
  wait $!
  awk -v a="$from" -v b="$EPOCHREALTIME" -v m="$most" 'BEGIN { printf "%.1f %d\n", b - a, m }'
}

if echo 3 2> /dev/null > /proc/sys/vm/drop_caches; then cold="not cached"; else cold="perhaps cached"; fi
read -r disk anon < <(run "$dir")
echo "from the disk ($cold): $disk s, at most $anon MB of anonymous memory for $size MB of weights"
if [[ $(df -m --output=avail /dev/shm | tail -n 1) -gt $size ]]; then
  copy=$(mktemp -d /dev/shm/rankfall.XXXXXX)
  trap 'rm -rf -- "$copy"' EXIT
  cp -- "$dir"/* "$copy"
  read -r memory _ < <(run "$copy")
  echo "from memory: $memory s"
  awk -v a="$disk" -v b="$memory" 'BEGIN { printf "ratio: %.2f\n", a / b }'
fi
