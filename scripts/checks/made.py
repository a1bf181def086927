# SPDX-License-Identifier: Apache-2.0
"""Files that programs make of the declarations, and the window's texts."""
import subprocess
import tempfile
from pathlib import Path


def newest(folder):
    return max(path.stat().st_mtime for path in folder.glob("*.*"))


def check_schema(tree, fix):
    with tempfile.TemporaryDirectory() as folder:
        maker = tree.root / "build/release/bin/dprof-schema"
        if not maker.exists() or maker.stat().st_mtime < newest(tree.root / "schema"):
            maker = Path(folder) / "dprof-schema"
            source = tree.root / "schema/dprof_schema.cpp"
            subprocess.run(["g++", "-std=c++20", f"-I{tree.root}", source, "-lfmt", "-o", maker], check=True)
        for what, name in (("rows", "schema/generated/rows.h"), ("docs", "docs/reference/schema.md")):
            compare(tree, fix, maker, what, name, "schema/tables.h")


def check_rules(tree, fix):
    """Only with a built dprof-rules that is no older than the tables; CTest's generated.rules looks at it in any case."""
    maker = tree.root / "build/release/bin/dprof-rules"
    if maker.exists() and maker.stat().st_mtime >= newest(tree.root / "analyzer/rules"):
        compare(tree, fix, maker, "docs", "docs/rules.md", "analyzer/rules")


def compare(tree, fix, maker, what, name, source):
    made = subprocess.run([maker, what], capture_output=True, text=True, check=True).stdout
    path = tree.root / name
    if fix:
        path.write_text(made)
    elif not path.exists() or path.read_text() != made:
        tree.problem(name, f"differs from {source}: {maker.name} {what} > {name} (scripts/check --fix does)")


def check_texts(tree, fix):
    """What people read in the window can be translated, and gui/texts/ has all of it."""
    command = [tree.root / "scripts/gui-texts"]
    result = subprocess.run(command if fix else [*command, "--check"], capture_output=True, text=True)
    for line in result.stdout.splitlines():
        tree.problem(*line.split(": ", 1))
    if result.returncode != 0 and not result.stdout:
        tree.problem("scripts/gui-texts", result.stderr.strip())
