#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records a program of two processes with NVIDIA's own nsys, imports the file, and compares the run with it, row by row.

  nsys_capture.py [--build build/release] [--keep FOLDER]

nsys is Debian 12's (nsight-systems, section non-free, 170 MB), unpacked into a folder and not installed; --keep keeps that
folder, with the capture in it. NVTX and OS runtime calls need no GPU, so this runs on any machine with network; CI does not.
"""
import argparse
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

DEBIAN = pathlib.Path("/etc/apt/sources.list.d/debian.sources")  # where this machine gets its packages
PACKAGES = ("nsight-systems", "nsight-systems-target", "libssh-4")
MARKS, RANGES, THREADS = 100, 500, 2
EVENTS = {59: "nvtx", 34: "nvtx_mark"}  # Nsight's NVTX event types: push/pop ranges and marks


def unpack(folder: pathlib.Path) -> pathlib.Path:
    """Downloads nsys, once per folder; returns its root."""
    root = folder / "root"
    if root.exists():
        return root
    for part in ("lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    with_non_free = re.sub(r"^(Components:).*$", r"\1 main contrib non-free", DEBIAN.read_text(), flags=re.MULTILINE)
    (folder / "debian.sources").write_text(with_non_free)
    options = [word for option in (f"Dir::Etc::sourcelist={folder}/debian.sources", "Dir::Etc::sourceparts=/none",
                                   f"Dir::State::lists={folder}/lists", f"Dir::Cache={folder}/cache",
                                   "APT::Sandbox::User=root") for word in ("-o", option)]
    subprocess.run(["apt-get", "-q", *options, "update"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["apt-get", "-q", *options, "download", *PACKAGES], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, folder / "unpacked"], check=True)
    # nsys looks for its importer beside itself, behind Debian's link.
    (folder / "unpacked/usr/lib/x86_64-linux-gnu/nsight-systems/host-linux-x64").symlink_to(
        "../../nsight-systems/host-linux-x64")
    (folder / "unpacked").rename(root)
    return root


def capture(root: pathlib.Path, folder: pathlib.Path, probe: pathlib.Path) -> pathlib.Path:
    """The SQLite export of a recording of two processes."""
    once = f"{probe} --marks {MARKS} --ranges {RANGES} --threads {THREADS}"
    libraries = root / "usr/lib/x86_64-linux-gnu"
    subprocess.run([root / "usr/lib/nsight-systems/target-linux-x64/nsys", "profile", "-t", "nvtx,osrt", "-s", "none",
                    "--cpuctxsw=none", "--stats=false", "--export=sqlite", "--force-overwrite=true", "-o", folder / "capture",
                    "sh", "-c", f"{once} & {once}; wait"],
                   check=True, stdout=subprocess.DEVNULL, env={**os.environ, "LD_LIBRARY_PATH": str(libraries)})
    return folder / "capture.sqlite"


def events_of_nsight(file: pathlib.Path) -> list:
    """Per process: its NVTX events as (category, thread, text, duration), sorted."""
    database = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    processes: dict = {}
    for kind, thread, text, begin, end in database.execute(
            "SELECT eventType, globalTid, coalesce(text, value), start, end FROM NVTX_EVENTS "
            "LEFT JOIN StringIds ON StringIds.id = textId"):
        if kind in EVENTS:
            processes.setdefault(thread >> 24, []).append((EVENTS[kind], thread & 0xFFFFFF, text, (end or begin) - begin))
    return sorted(sorted(events) for events in processes.values())


def events_of_run(run: pathlib.Path) -> list:
    processes = []
    for trace in run.glob("*.dprof"):
        rows = sqlite3.connect(f"file:{trace}?mode=ro", uri=True).execute(
            "SELECT r.category, t.os_tid, r.name, coalesce(r.duration_ns, 0) FROM host_range_text r "
            "JOIN thread t ON t.id = r.thread_id WHERE r.category LIKE 'nvtx%'").fetchall()
        if rows:
            processes.append(sorted(rows))
    return sorted(processes)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (arguments.keep or pathlib.Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        try:
            root = unpack(folder)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"not run: Debian's nsys cannot be had here ({error})")
            return 0
        file = capture(root, folder, build / "test_bin/nvtx_probe")
        run = folder / "run"
        subprocess.run([build / "bin/dprof", "import", file, "-o", run, "--overwrite"], check=True)
        theirs, ours = events_of_nsight(file), events_of_run(run)
    expected = 2 * THREADS * (MARKS + RANGES)
    found = sum(map(len, theirs))
    print(f"nsys: {found} NVTX events of {len(theirs)} processes; dprof: {sum(map(len, ours))} of {len(ours)}")
    if found != expected or theirs != ours:
        print(f"differs: {expected} were written")
        return 1
    print("equal: category, thread, text and duration of each")
    return 0


if __name__ == "__main__":
    sys.exit(main())
