#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks a recorded run against a folder of baselines that the CI system keeps between jobs.
#
#   dprof-check.sh RUN BASELINES [OPTION of dprof check]…
#
# A good run of the main branch (KEEP=1) becomes a baseline; the newest ten stay. An answer that cannot be decided (4) is
# said and does not fail the job, unless STRICT=1. DPROF names the program.
set -eu
[ $# -ge 2 ] || { echo "usage: dprof-check.sh RUN BASELINES [OPTION]…" >&2; exit 2; }
dprof="${DPROF:-dprof}" run="$1" baselines="$2"
shift 2
mkdir -p "$baselines"
code=0
"$dprof" check "$run" --baseline "$baselines" --ci auto "$@" || code=$?
# Until there are three baselines there is nothing to learn from: those of the main branch fill the folder.
if [ "${KEEP:-0}" = 1 ] && { [ "$code" -eq 0 ] || [ "$code" -eq 4 ]; }; then
  "$dprof" baseline add "$baselines" "$run"
  "$dprof" baseline prune "$baselines" --keep 10
fi
if [ "$code" -eq 4 ] && [ "${STRICT:-0}" != 1 ]; then
  echo "dprof-check: not decided; the job goes on" >&2
  exit 0
fi
exit "$code"
