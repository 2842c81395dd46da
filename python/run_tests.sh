#!/usr/bin/env bash
# run_tests.sh BUILD PYTHON: everything that is checked of the Python module, with the module of that build.
set -euo pipefail

build=$(cd -- "$1" && pwd)
python=$2
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
mkdir -p build/test
export PYTHONPATH=$build/python PYTHONDONTWRITEBYTECODE=1 RANKFALL_COMMAND_UNDER_TEST=$build/cli/rankfall

# pytest with what follows its options; plugins that happen to be installed are not part of the tests.
"$python" -m pytest -q -p no:cacheprovider --durations=5 python/tests 2>&1 | tee build/test/pytest.log
"$python" -m mypy --strict --cache-dir build/test/mypy python/rankfall python/examples
"$python" python/tests/run_notebooks.py
