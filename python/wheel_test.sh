#!/usr/bin/env bash
# wheel_test.sh PYTHON: `pip install .` in a fresh environment without a network, then the module from another folder.
set -euo pipefail

python=$1
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf -- "$dir"' EXIT
"$python" -m venv --system-site-packages "$dir/venv"
"$dir/venv/bin/pip" install --no-index --disable-pip-version-check "$root"
cd -- "$dir"
unset PYTHONPATH
"$dir/venv/bin/python" -W ignore - << 'END'
import rankfall as rf
assert "site-packages" in rf.__file__, rf.__file__
r = rf.measure("bert-tiny@init", variants="san", samples=1, tokens=8)
print(r.answers[0])
r.report("page.html")
END
"$dir/venv/bin/python" -W ignore -m rankfall counts 2 3 > counts.txt
"$dir/venv/bin/rankfall" version
"$dir/venv/bin/rankfall" train sort --quick --train 60 --eval 10 --layers 1 --epochs 1 --quiet -o trained > /dev/null
test -s counts.txt -a -s page.html -a -s trained/model.safetensors
echo "ok: the wheel works in a fresh environment"
