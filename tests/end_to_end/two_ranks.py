# SPDX-License-Identifier: Apache-2.0
"""Starts a command as two ranks, without any launcher, and writes their exit codes into a file once both have ended.

    two_ranks.py CODES COMMAND...
"""
import os
import pathlib
import subprocess
import sys

import support


def main():
    codes = pathlib.Path(sys.argv[1])
    shared = dict(os.environ, WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(support.free_port()))
    ranks = [subprocess.Popen(sys.argv[2:], env=dict(shared, RANK=str(rank), LOCAL_RANK=str(rank))) for rank in (0, 1)]
    results = [rank.wait() for rank in ranks]
    part = codes.with_suffix(".part")
    part.write_text(" ".join(map(str, results)))
    part.rename(codes)


if __name__ == "__main__":
    main()
