#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that golden texts differ from those of another commit in words only.

  tests/golden/compare_words.py COMMIT      figures, rule ids, causes and JSON keys must be the same, in the same order

Exit code 1 where they are not, with the first difference of each file.
"""
import difflib
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# A number with its sign and unit, or a rule's id. Numbers within words (fp32, 16-bit, rank0_work) are words.
FIGURE = re.compile(r"(?<![\w.-])[+−±<≤]*\d[\d,.]*(?: ?(?:%|ns|µs|ms|s|h|MB|GB|KB|MiB|GiB|KiB|MB/s|GB/s))?(?![\w-])"
                    r"|\b(?:amp|balance|comm|compute|device|host|hygiene|input|io|memory|parallel|run|startup|step)\.[a-z][a-z-]+")
WORDS = {"title", "detail", "advice", "text", "hint", "message", "why", "refused"}  # keys of JSON whose values are sentences


def figures(text):
    return [found.group(0).strip(".,") for found in FIGURE.finditer(" ".join(text.split()))]


def masked(value, key=""):
    """JSON with its sentences reduced to their figures; a sentence has a space."""
    if isinstance(value, dict):
        return {k: masked(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [masked(v, key) for v in value]
    return figures(value) if isinstance(value, str) and (key in WORDS or " " in value) else value


def reduced(name, text):
    return json.dumps(masked(json.loads(text)), indent=1).splitlines() if name.endswith(".json") else figures(text)


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__.strip())
        return 0 if arguments in (["-h"], ["--help"]) else 2

    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    names = [n for n in git("ls-files", "tests/golden").splitlines() if n.endswith((".txt", ".json", ".md"))]
    names = [n for n in names if not n.endswith("spec.json")]
    before = set(git("ls-tree", "-r", "--name-only", arguments[0], "tests/golden").splitlines())
    changed = wrong = 0
    for name in names:
        if name not in before or not (ROOT / name).exists():
            continue
        old, new = git("show", f"{arguments[0]}:{name}"), (ROOT / name).read_text(encoding="utf-8")
        changed += old != new
        difference = [line for line in difflib.unified_diff(reduced(name, old), reduced(name, new), lineterm="", n=2)]
        if difference:
            wrong += 1
            print(f"{name}: not only words changed")
            print("\n".join("  " + line for line in difference[2:14]))
    print(f"{len(names)} golden texts, {changed} changed, {wrong} in more than words")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
