# SPDX-License-Identifier: Apache-2.0
"""dprof from Python: reports as dictionaries, traces as SQLite connections, and marked ranges of a program's own.

Recording is the command's: dprof record -- torchrun --nproc-per-node=8 train.py
"""
from __future__ import annotations

import json
import os
import pathlib
import sqlite3
import subprocess
import types
import typing
import urllib.parse

from dprof import _nvtx

__all__ = ["mark", "open", "report"]

PROGRAM = pathlib.Path(__file__).parent / "_native" / "bin" / "dprof"
_APPLICATION_ID = 0x44505246  # of a trace


def report(path: str | os.PathLike[str]) -> dict[str, typing.Any]:
    """The report on a run, as `dprof report PATH --format json` gives it (docs/report.md), or RuntimeError with the reason."""
    done = subprocess.run([str(PROGRAM), "report", os.fspath(path), "--format", "json"], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"dprof report ended with {done.returncode}")
    return typing.cast("dict[str, typing.Any]", json.loads(done.stdout))


def open(rank_file: str | os.PathLike[str]) -> sqlite3.Connection:  # as dprof.open
    """A rank's trace, to be read only; its tables are in docs/reference/schema.md."""
    path = pathlib.Path(rank_file)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    connection = sqlite3.connect(f"file:{urllib.parse.quote(str(path.resolve()))}?mode=ro", uri=True)
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
    except sqlite3.DatabaseError:
        application = None
    if application != _APPLICATION_ID:
        connection.close()
        raise ValueError(f"{path}: not a trace of dprof's")
    return connection


class mark:
    """A range of the program that recordings show: `with dprof.mark("load batch"): …`.

    It is an NVTX range of the thread, for dprof and any other tool that set NVTX_INJECTION64_PATH; nothing where none did.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name.encode(errors="replace").replace(b"\0", b" ")

    def __enter__(self) -> mark:
        _nvtx.push(self._name)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: types.TracebackType | None) -> None:
        _nvtx.pop()
