# SPDX-License-Identifier: Apache-2.0
"""The window of dprof, on the Qt of PySide6-Essentials. `dprof gui` finds it here; `dprof-gui` becomes it."""
import os
import pathlib
import sys

PROGRAM = pathlib.Path(__file__).parent / "_native" / "bin" / "dprof-gui"


def main() -> None:
    try:
        os.execv(PROGRAM, ["dprof-gui", *sys.argv[1:]])
    except OSError as error:
        print(f"dprof-gui: {PROGRAM}: {error.strerror}\nhint: install dprof[gui] again, for this machine",
              file=sys.stderr)
        sys.exit(125)
