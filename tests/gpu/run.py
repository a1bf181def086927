# SPDX-License-Identifier: Apache-2.0
"""Answers on a GPU what nobody could answer without one. Needs an NVIDIA driver and a python3 with torch; no network.

  run OUT                  all parts, in the order of their value, within 20 minutes
  run OUT --minutes 9      within so many
  run OUT --only NAME,…    these parts
  run OUT --rehearse       without a GPU: on a made-up driver, CUPTI and NCCL, where these can stand in, else on the CPU
  run --list               the parts, and how long each may take
  run --page FILE          prints docs/gpu_results.md for a results.json ("-": without results)

Leaves OUT/results.json, OUT/results.md, OUT/logs.txt and at most 5 small traces. Nothing of the machine is changed. Exit code
0: no part failed (one that could not be measured says why), 1: a part failed, 2: usage.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback

import machine
import processes
from page import page, table
from part import FAILED, MEASURED, NOT_MEASURED, REHEARSED, Broken, Missing, Part
from parts import QUESTIONS

HERE = pathlib.Path(__file__).resolve().parent
BUNDLE = HERE.parents[1]
MOST_FILES, MOST_FILE_BYTES = 5, 8 << 20
MOST_LOG_BYTES = 8 << 20
LEAST_S = 15   # a part that has less time left is not begun
GRACE_S = 5    # for writing the results
REHEARSAL_S = 90  # of each part: other work beside it may make the machine many times slower
SKIPPED = 77


def judge(part, options):
    """Answers one part: its answer, status, and why."""
    answer = part.question.answer if not options.rehearse or isinstance(part.question.rehearse, str) else part.question.rehearse
    try:
        text = answer(part)
    except Missing as missing:
        return "", NOT_MEASURED, str(missing)
    except (Broken, sqlite3.Error, subprocess.SubprocessError, OSError) as broken:
        if part.mode == "cpu" and not isinstance(broken, Broken):
            return "", FAILED, f"{type(broken).__name__}: {broken}"
        return "", FAILED, "; ".join([str(broken), *part.broken()])
    except Exception:  # a fault of the check itself is a failed part, too
        return "", FAILED, traceback.format_exc(limit=-3).strip().replace("\n", " ")
    if part.mode == "cpu":  # what it expects of a GPU cannot hold
        return "", NOT_MEASURED, "no GPU; its commands ran on the CPU"
    broken = part.broken()
    return text, FAILED if broken else MEASURED if part.on_gpu else REHEARSED, "; ".join(broken)


def answer_one(question, options):
    """In a process of its own, so that nothing that it does can stop the others."""
    processes.keep_orphans()
    began = time.monotonic()
    part = Part(question, options)
    answer, status, why = judge(part, options)
    part.save(answer=answer, status=status, why=why, seconds=round(time.monotonic() - began, 1))


def ask(question, options, seconds):
    """Runs one part within its time; its result whatever becomes of it."""
    command = [sys.executable, HERE / "run.py", "--one", question.name, "--bundle", options.bundle, "--scratch",
               options.scratch,
               "--python", options.python, "--seconds", seconds, *(["--rehearse"] if options.rehearse else [])]
    began = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], start_new_session=True)
    why = None
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        why = f"took longer than {seconds:.0f} s"
        process.kill()
        process.wait()
    left = processes.end_below(os.getpid())
    file = options.scratch / question.name / "result.json"
    result = json.loads(file.read_text()) if file.exists() else not_measured(question, "")
    if why or "seconds" not in result:
        result.update(status=FAILED, why=why or f"the part itself ended with {process.returncode}")
    if left:
        result["why"] = "; ".join(filter(None, [result["why"], f"{len(left)} of its processes cannot be ended"]))
    result["seconds"] = round(time.monotonic() - began, 1)
    return result


def not_measured(question, why):
    return {"name": question.name, "asks": question.asks, "answer": "", "status": NOT_MEASURED, "why": why, "commands": [],
            "figures": [],
            "checks": [], "seconds": 0}


def kept_files(question, scratch):
    """(where it lies, what it is to be called)"""
    for name, rank in question.keep:
        for folder in (scratch / question.name, scratch / "shared" / name):
            if rank is None:
                yield folder / name, name
            else:
                run = folder / (name if folder.name == question.name else "run")
                which = "" if name in ("run", question.name) or run.name != name else f"{name}-"
                yield run / f"rank-{rank:05}.dprof", f"{question.name}-{which}{rank}.dprof"


def keep_files(question, out, scratch, kept):
    """Copies what may become a fixture; `kept` gets the names."""
    for source, name in kept_files(question, scratch):
        if not source.exists() or name in kept or len(kept) == MOST_FILES:
            continue
        copy = out / name
        copy.unlink(missing_ok=True)
        try:
            if source.suffix == ".dprof":
                with sqlite3.connect(f"file:{source}?mode=ro", uri=True) as database:
                    database.execute("VACUUM INTO ?", (str(copy),))
            else:
                shutil.copyfile(source, copy)
        except (sqlite3.Error, OSError):
            copy.unlink(missing_ok=True)
            continue
        if copy.stat().st_size > MOST_FILE_BYTES:
            copy.unlink()
        else:
            kept.append(name)


def fit_torch(bundle, about):
    """Another build of the very release that the bundle is for has the same interface: libdprof_torch.so serves it, too."""
    built_for, versions, found = (about["dprof"] or {}).get("torch"), about["torch, CUDA, NCCL"], about["torch's build id"]
    if not built_for or not versions or not found:
        return
    if built_for["version"] != versions.split()[0] or built_for["build id"] == found:
        return
    link = bundle / f"lib/libdprof_torch-{found}.so"
    try:
        if not link.exists():
            link.symlink_to("libdprof_torch.so")
        built_for["also used for"] = found
    except OSError:
        pass


class Run:
    """All parts of one call, and what is written of them."""

    def __init__(self, options):
        self.options, self.out, self.results, self.files = options, options.out.resolve(), [], []
        self.out.mkdir(parents=True, exist_ok=True)
        machine.find_tools()
        options.python = machine.find_python()
        gpus, why = machine.gpus_seen()
        self.gpus = gpus
        self.about = machine.facts(options.bundle, options.python, gpus, why)
        fit_torch(options.bundle, self.about)
        (self.out / "logs.txt").write_text("")

    def part(self, question, left):
        options = self.options
        if not options.rehearse and self.gpus == 0:
            return not_measured(question, "no GPU")
        if options.rehearse and question.rehearse is None:
            return not_measured(question, "no GPU")
        if left < LEAST_S:
            return not_measured(question, "out of time")
        limit = REHEARSAL_S if options.rehearse else question.limit_s
        return ask(question, options, min(limit, left))

    def add(self, question, result):
        """After each part, so that what was answered is there even if the whole is ended."""
        self.results.append(result)
        if self.gpus and not self.options.rehearse:
            keep_files(question, self.out, self.options.scratch, self.files)
        log, all_logs = self.options.scratch / question.name / "log.txt", self.out / "logs.txt"
        if log.exists() and all_logs.stat().st_size < MOST_LOG_BYTES:
            with open(all_logs, "a") as file:
                text = log.read_text(errors="replace")[:MOST_LOG_BYTES // 8]
                file.write(f"== {question.name}: {result['status']}\n\n{text}\n")
        whole = {"schema": "dprof.gpu_check/1", "machine": self.about, "rehearsed": self.options.rehearse,
                 "minutes": self.options.minutes,
                 "results": self.results, "files": self.files}
        (self.out / "results.json").write_text(json.dumps(whole, indent=1) + "\n")
        (self.out / "results.md").write_text(page(whole, QUESTIONS))

    def say(self, number, count, result):
        said = ": ".join(filter(None, [result["name"], result["status"], result["why"] or result["answer"]]))
        print(f"run: {number} of {count}: {said} ({result['seconds']:.0f} s)", file=sys.stderr, flush=True)

    def all(self, questions):
        end = time.monotonic() + 60 * self.options.minutes - GRACE_S
        for number, question in enumerate(questions, 1):
            result = self.part(question, end - time.monotonic())
            self.say(number, len(questions), result)
            self.add(question, result)

    def counts(self):
        statuses = [result["status"] for result in self.results]
        return {status: statuses.count(status) for status in (MEASURED, FAILED, REHEARSED, NOT_MEASURED)}


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="run")
    parser.add_argument("out", nargs="?", type=pathlib.Path, metavar="OUT")
    parser.add_argument("--minutes", type=float, default=20, metavar="M")
    parser.add_argument("--only", default="", metavar="NAME,…")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--page", metavar="FILE")
    parser.add_argument("--skip", action="store_true", help="exit code 77 where no part was measured")
    parser.add_argument("--bundle", type=pathlib.Path, default=BUNDLE, metavar="DIR", help="where bin, lib and test_bin are")
    for hidden, kind in (("--one", str), ("--scratch", pathlib.Path), ("--python", str), ("--seconds", float)):
        parser.add_argument(hidden, type=kind, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.bundle = options.bundle.resolve()
    return options


def wanted(only):
    names = [word for word in only.split(",") if word]
    unknown = set(names) - {question.name for question in QUESTIONS}
    return [question for question in QUESTIONS if not names or question.name in names], sorted(unknown)


def stop(*_):
    """Of the whole run: what was answered so far has been written."""
    processes.end_below(os.getpid())
    sys.exit(1)


def main(arguments):
    options = options_of(arguments)
    if options.list:
        print("\n".join(f"{question.name:16}{question.limit_s:4} s  {question.asks}" for question in QUESTIONS))
        return 0
    if options.page:
        print(page(None if options.page == "-" else json.loads(pathlib.Path(options.page).read_text()), QUESTIONS), end="")
        return 0
    if options.one:
        answer_one(next(question for question in QUESTIONS if question.name == options.one), options)
        return 0
    questions, unknown = wanted(options.only)
    if options.out is None or unknown:
        print(f"run: {'no such part: ' + ', '.join(unknown) if unknown else 'where shall the results go?'} (see --help)",
              file=sys.stderr)
        return 2
    if options.skip and machine.gpus_seen()[0] == 0:
        print("skipped: no GPU")
        return SKIPPED
    processes.keep_orphans()
    for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(sign, stop)
    with tempfile.TemporaryDirectory(prefix="dprof-gpu-check-", ignore_cleanup_errors=True) as scratch:
        options.scratch = pathlib.Path(scratch)
        run = Run(options)
        run.all(questions)
    counts = run.counts()
    print(table(run.results))
    rehearsed = f"{counts[REHEARSED]} rehearsed, " if options.rehearse else ""
    print(f"\n{counts[MEASURED]} measured, {counts[FAILED]} failed, {rehearsed}{counts[NOT_MEASURED]} not measured; "
          f"{run.out}/results.md")
    if options.skip and counts[NOT_MEASURED] == len(run.results):
        print(f"skipped: {run.results[0]['why']}")
        return SKIPPED
    return 1 if counts[FAILED] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
