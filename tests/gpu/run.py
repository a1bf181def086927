# SPDX-License-Identifier: Apache-2.0
"""Answers on a GPU what nobody could answer without one. Needs an NVIDIA driver and a python3 with torch; no network.

  run OUT                  all parts, in the order of their value, within 20 minutes
  run OUT --minutes 9      within so many
  run OUT --only NAME,…    these parts; --list names them
  run OUT --rehearse       without a GPU: on a made-up CUPTI and a made-up NCCL, where these can stand in, else on the CPU
  run --page FILE          the page docs/gpu_results.md from a results.json ("-": with no results)

Leaves OUT/results.json, OUT/results.md, OUT/log.txt, and at most 5 small traces. Exit code 0: no part failed (one that could not be
measured says why), 1: a part failed, 2: usage.
"""
import argparse
import ctypes
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import traceback

from page import page, table
from part import FAILED, MEASURED, NOT_MEASURED, REHEARSED, Broken, Missing, Part
from parts import QUESTIONS

HERE = pathlib.Path(__file__).resolve().parent
BUNDLE = HERE.parent
MOST_TRACES, MOST_TRACE_BYTES = 5, 8 << 20
LEAST_S = 20  # a part that has less time left is not begun
GRACE_S = 10  # for writing the results
REHEARSAL_S = 60  # of a part, at most


def gpu_count():
    """How many GPUs a driver that answers has, by CUDA itself."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if cuda.cuInit(0) != 0 or cuda.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def output_of(*words, timeout=60):
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=timeout)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def machine(python):
    """What the figures were taken on; None = could not be found out."""
    gpus = output_of("nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader")
    torch = output_of(python, "-c", "import torch; print(torch.__version__, torch.version.cuda, '.'.join(map(str, torch.cuda.nccl.version())))")
    about = BUNDLE / "about.json"
    return {"gpus": gpus.splitlines() if gpus else None, "torch, CUDA, NCCL": torch, "python": output_of(python, "--version"),
            "kernel": platform.release(), "glibc": platform.libc_ver()[1], "cores": os.cpu_count(),
            "profilers": {name: shutil.which(name) is not None for name in ("nsys", "ncu")},
            "dprof": json.loads(about.read_text()) if about.exists() else None,
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")}


def find_python():
    """The first python3 that has torch; this one if none has."""
    for candidate in (os.environ.get("DPROF_GPU_PYTHON"), sys.executable, shutil.which("python3"), "/opt/torch/.venv/bin/python3"):
        if candidate and output_of(candidate, "-c", "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)") is not None:
            return candidate
    return sys.executable


def answer_one(question, options):
    """In a process of its own, so that nothing that it does can stop the others."""
    part = Part(options.bundle, pathlib.Path(options.scratch) / question.name, options.python, options.seconds,
                on_gpu=not options.rehearse)
    result = {"name": question.name, "asks": question.asks, "answer": "", "why": ""}
    try:
        if options.rehearse and question.rehearse is None:  # its commands and questions work, whatever they find
            question.answer(part)
            result.update(status=NOT_MEASURED, why="no GPU; its commands ran on the CPU")
        else:
            result["answer"] = question.rehearse(part) if options.rehearse else question.answer(part)
            broken = part.broken()
            result["status"] = FAILED if broken else REHEARSED if options.rehearse else MEASURED
            result["why"] = "; ".join(broken)
    except Missing as missing:
        result.update(status=NOT_MEASURED, why=str(missing))
    except (Broken, sqlite3.Error, subprocess.TimeoutExpired, OSError) as broken:
        result.update(status=FAILED, why="; ".join([str(broken), *part.broken()]))
    except Exception:  # a fault of the check itself is a failed part, too
        result.update(status=FAILED, why=traceback.format_exc(limit=3))
    result.update(commands=part.commands, figures=[dataclasses.asdict(figure) for figure in part.figures], checks=part.checks)
    (part.folder / "log.txt").write_text("\n\n".join(part.log))
    (part.folder / "result.json").write_text(json.dumps(result))


def end_session(session):
    """Ends all processes of that session, which the part began."""
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                os.kill(int(entry.name), signal.SIGKILL)
        except (OSError, ValueError):
            continue


def ask(question, options, scratch, seconds):
    """Runs one part within its time; its result whatever becomes of it."""
    command = [sys.executable, __file__, "--one", question.name, "--bundle", options.bundle, "--scratch", scratch, "--python",
               options.python, "--seconds", str(seconds), *(["--rehearse"] if options.rehearse else [])]
    began = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], start_new_session=True)
    why = ""
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        why = f"took longer than {seconds:.0f} s"
    end_session(process.pid)
    process.wait()
    file = scratch / question.name / "result.json"
    if not why and file.exists():
        result = json.loads(file.read_text())
    else:
        result = {"name": question.name, "asks": question.asks, "answer": "", "status": FAILED, "commands": [], "figures": [], "checks": [],
                  "why": why or f"the part itself ended with {process.returncode}"}
    result["seconds"] = round(time.monotonic() - began, 1)
    return result


def not_measured(question, why):
    return {"name": question.name, "asks": question.asks, "answer": "", "status": NOT_MEASURED, "why": why, "commands": [], "figures": [],
            "checks": [], "seconds": 0}


def keep_traces(out, scratch, questions, results):
    """Copies small traces of measured parts; gives their names."""
    kept = []
    by_name = {result["name"]: result for result in results}
    for question in questions:
        for run, rank in question.keep:
            source = scratch / question.name / run / f"rank-{rank:05}.dprof"
            if by_name[question.name]["status"] not in (MEASURED, FAILED) or not source.exists() or len(kept) == MOST_TRACES:
                continue
            copy = out / f"{question.name}-{rank}.dprof"
            copy.unlink(missing_ok=True)
            try:
                with sqlite3.connect(f"file:{source}?mode=ro", uri=True) as database:
                    database.execute("VACUUM INTO ?", (str(copy),))
            except sqlite3.Error:
                continue
            if copy.stat().st_size > MOST_TRACE_BYTES:
                copy.unlink()
                continue
            kept.append(copy.name)
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, add_help=True)
    parser.add_argument("out", nargs="?", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--page", metavar="FILE")
    parser.add_argument("--bundle", type=pathlib.Path, default=BUNDLE)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--scratch", help=argparse.SUPPRESS)
    parser.add_argument("--python", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()

    if options.list:
        print("\n".join(f"{question.name:16}{question.limit_s:4} s  {question.asks}" for question in QUESTIONS))
        return 0
    if options.page:
        print(page(None if options.page == "-" else json.loads(pathlib.Path(options.page).read_text()), QUESTIONS), end="")
        return 0
    if options.one:
        answer_one(next(question for question in QUESTIONS if question.name == options.one), options)
        return 0
    wanted = [word for word in options.only.split(",") if word]
    unknown = set(wanted) - {question.name for question in QUESTIONS}
    if options.out is None or unknown:
        print(f"run: {'no such part: ' + ', '.join(sorted(unknown)) if unknown else 'where shall the results go?'} (see --help)", file=sys.stderr)
        return 2
    questions = [question for question in QUESTIONS if not wanted or question.name in wanted]

    out = options.out.resolve()
    scratch = out / "work"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    options.python = find_python()
    gpus, about = gpu_count(), machine(options.python)
    end = time.monotonic() + 60 * options.minutes - GRACE_S
    results = []
    for number, question in enumerate(questions, 1):
        left = end - time.monotonic()
        if not options.rehearse and gpus == 0:
            result = not_measured(question, "no GPU")
        elif left < LEAST_S:
            result = not_measured(question, "out of time")
        else:
            print(f"run: {number} of {len(questions)}: {question.name} …", file=sys.stderr, flush=True)
            result = ask(question, options, scratch, min(question.limit_s, left, REHEARSAL_S if options.rehearse else left))
        print(f"run: {number} of {len(questions)}: {question.name}: {result['status']}"
              f"{': ' + (result['why'] or result['answer']) if result['why'] or result['answer'] else ''}", file=sys.stderr, flush=True)
        results.append(result)
        write(out, scratch, questions, results, about, options)
    shutil.rmtree(scratch, ignore_errors=True)
    print(table(results))
    failed = sum(result["status"] == FAILED for result in results)
    measured = sum(result["status"] == MEASURED for result in results)
    print(f"\n{measured} measured, {failed} failed, {len(results) - measured - failed} not measured; {out}/results.md")
    return 1 if failed else 0


def write(out, scratch, questions, results, about, options):
    """After each part, so that what was answered is there even if the whole is ended."""
    traces = keep_traces(out, scratch, questions[:len(results)], results)
    whole = {"machine": about, "rehearsed": options.rehearse, "results": results, "traces": traces}
    (out / "results.json").write_text(json.dumps(whole, indent=1))
    (out / "results.md").write_text(page(whole, QUESTIONS))
    logs = [f"== {result['name']}\n{log.read_text()}" for result in results if (log := scratch / result["name"] / "log.txt").exists()]
    (out / "log.txt").write_text("\n\n".join(logs))


if __name__ == "__main__":
    sys.exit(main())
