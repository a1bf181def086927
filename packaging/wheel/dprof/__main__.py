# SPDX-License-Identifier: Apache-2.0
"""The commands `dprof` and `python -m dprof`: this process becomes the program."""
import os
import pathlib
import sys

PROGRAM = pathlib.Path(__file__).parent / "_native" / "bin" / "dprof"


def main() -> None:
    if sys.argv[1:2] in (["demo"], ["export"]):
        os.environ.setdefault("DPROF_PYTHON", sys.executable)
    try:
        os.execv(PROGRAM, ["dprof", *sys.argv[1:]])
    except OSError as error:
        print(f"dprof: {PROGRAM}: {error.strerror}\nhint: install dprof again, for this machine",
              file=sys.stderr)
        sys.exit(125)


if __name__ == "__main__":
    main()
