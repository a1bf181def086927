#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A pipeline in two steps: records the training beside this file, and checks the run against dprof-check.toml.
#
#   pipeline.sh                   passes (0)
#   pipeline.sh --augment 200     a change that turns each picture 200 times while the ranks wait: fails (1), and says so
#
# DPROF and TORCHRUN name the programs, RUN the folder of the run.
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
dprof="${DPROF:-dprof}" run="${RUN:-run}"
"$dprof" record --overwrite -o "$run" -- ${TORCHRUN:-torchrun} --nproc-per-node=2 "$here/train.py" "$@"
"$dprof" check "$run" --rules "$here/dprof-check.toml" --ci auto
