#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Answers the questions of docs/gpu_results.md on this machine: run OUT; run --help says more. An empty environment will do.
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
PATH="${PATH:+$PATH:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
HOME="${HOME:-/tmp}"
export PATH HOME
has_torch() {
  command -v "$1" > /dev/null 2>&1 &&
    "$1" -c 'import sys, importlib.util as u; sys.exit(sys.version_info < (3, 10) or u.find_spec("torch") is None)' 2> /dev/null
}
for python in "$DPROF_GPU_PYTHON" python3 /opt/*/.venv/bin/python3 /opt/*/bin/python3 /usr/bin/python3; do
  if has_torch "$python"; then exec "$python" "$here/tests/gpu/run.py" "$@"; fi
done
for python in python3 /usr/bin/python3; do  # without torch the parts that need it say so
  if command -v "$python" > /dev/null 2>&1; then exec "$python" "$here/tests/gpu/run.py" "$@"; fi
done
echo "run: no python3 on the PATH" >&2
exit 2
