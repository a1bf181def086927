# SPDX-License-Identifier: Apache-2.0
"""What people read: widths of lines, and that what a page or a comment refers to is there."""
import fnmatch
import io
import os
import re
import subprocess
import tokenize

from checks import markdown
from checks.tree import is_cpp, is_generated, is_script

# .editorconfig says the same.
PROSE_WIDTH = 128   # of Markdown, without tables, code, headings and what cannot be broken
SCRIPT_WIDTH = 128  # of Python and shell
CPP_WIDTH = 100     # of comments; clang-format sees to the code
# Endings by which a word with a slash is taken for a file of ours.
ENDINGS = (".h", ".cpp", ".py", ".md", ".json", ".cmake", ".sql")
PATH = re.compile(r"(?:[\w.@+*<>…-]+/)+(?:[\w.@+*<>…{},-]*[\w*>…}])?")
# What is not ours, by what its path begins with.
FOREIGN = re.compile(r"torch/|ATen/|c10/|c10d/|linux/|nvtx3/|src/include/plugin/"  # other projects
                     r"|build/|recorders/|[A-Z]+/")                                # what programs write: RUN/…
COMMAND = re.compile(r"\bscripts/[\w.-]+(?<![.-])")
# How documents are cited that are not in this repository.
OUTSIDE = re.compile(r"\b(architecture|analysis|collector|gui|interchange|shipping|training|style)(\.md`?)?,? (sections? )?\d"
                     r"|(?<![/\w(])(interchange|peers|shipping|training|style)\.md\b|\brule" r" book\b", re.I)


def is_page(name):
    return name.endswith(".md") and not name.startswith("tests/golden/")


def check_unlinked(tree):
    """Each page of docs/ is linked from another page."""
    pages = [name for name in tree.names if is_page(name)]
    linked = {os.path.normpath(os.path.join(os.path.dirname(name), target.split("#")[0]))
              for name in pages for target in markdown.LINK.findall(tree.text(name)) if target.split("#")[0]}
    for name in pages:
        if name.startswith("docs/") and name != "docs/index.md" and name not in linked:
            tree.problem(name, "no page links to it: docs/index.md lists the pages")


def check_widths(tree):
    for name in tree.names:
        if is_generated(name):
            continue
        if is_page(name):
            for block in markdown.blocks(tree.text(name)):
                if block.kind == "prose":
                    check_lines(tree, name, block.first, block.lines, PROSE_WIDTH)
        elif is_script(name):
            check_lines(tree, name, 1, tree.text(name).splitlines(), SCRIPT_WIDTH)
        elif is_cpp(name):
            for number, line in enumerate(tree.text(name).splitlines(), 1):
                if line.lstrip().startswith("//"):
                    check_lines(tree, name, number, [line], CPP_WIDTH)


def check_lines(tree, name, first, lines, width):
    for number, line in enumerate(lines, first):
        words = line.lstrip("/#*- ")
        if len(line) > width and " " in words[:width]:
            tree.problem(f"{name}:{number}", f"{len(line)} characters, and {width} may be in a line")


def check_references(tree):
    known = KnownPaths(tree.names)
    commands = Commands(tree)
    for name in tree.names:
        if is_page(name):
            check_links(tree, name)
            for number, span in code_of_page(tree.text(name)):
                check_paths(tree, known, name, number, span)
                commands.check(name, number, span)
        elif is_cpp(name) or is_script(name) or name.endswith((".cmake", "CMakeLists.txt")):
            for number, comment in comments(name, tree.text(name)):
                check_paths(tree, known, name, number, comment)


def check_outside(tree):
    for name in tree.names:
        if is_page(name) or is_cpp(name) or is_script(name):
            for number, line in enumerate(tree.text(name).splitlines(), 1):
                if found := OUTSIDE.search(line):
                    tree.problem(f"{name}:{number}", f"'{found.group(0)}' is no page of ours: say it, or name the path")


def check_links(tree, name):
    text = tree.text(name)
    for block in markdown.blocks(text):
        if block.kind == "code":
            continue
        for link in markdown.LINK.finditer(markdown.SPAN.sub(blank, block.text)):
            target, _, anchor = link.group(1).partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            where = f"{name}:{block.first + block.text[:link.start()].count(chr(10))}"
            path = os.path.normpath(os.path.join(os.path.dirname(name), target)) if target else name
            if not (tree.root / path).exists():
                tree.problem(where, f"links to {target}, which is not there")
            elif anchor and path.endswith(".md") and anchor not in markdown.anchors((tree.root / path).read_text()):
                tree.problem(where, f"links to #{anchor}, which is no heading of {path}")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def code_of_page(text):
    """(line, code) of spans and of lines of code blocks."""
    for block in markdown.blocks(text):
        if block.kind == "code":
            yield from ((block.first + i, line) for i, line in enumerate(block.lines))
        else:
            for span in markdown.SPAN.finditer(block.text):
                yield block.first + block.text[:span.start()].count("\n"), " ".join(span.group(2).split())


def comments(name, text):
    """(line, text) of comments, and of docstrings in Python."""
    if is_cpp(name):
        for number, line in enumerate(text.splitlines(), 1):
            if found := re.search(r"(?:^|[\s;{}(,])//(?!/)(.*)", line):
                yield number, found.group(1)
    elif name.endswith(".py") or text.startswith("#!/usr/bin/env python"):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and token.string.startswith('"""')):
                yield from ((token.start[0] + i, line) for i, line in enumerate(token.string.splitlines()))
    else:
        for number, line in enumerate(text.splitlines(), 1):
            if found := re.search(r"(?:^|\s)#(?!!)(.*)", line):
                yield number, found.group(1)


class KnownPaths:
    """Files and folders; a path may also be given from a folder of its own: `report/report.h`."""

    def __init__(self, names):
        self.tops = {name.split("/")[0] for name in names if "/" in name}
        self.tails = set()
        for name in names:
            parts, suffix = name.split("/"), os.path.splitext(name)[1]
            for end in range(1, len(parts) + 1):
                self.tails.update("/".join(parts[begin:end]) for begin in range(end))
                if end == len(parts):  # a header and its source in one: `view/event_loading`
                    self.tails.update("/".join(parts[begin:])[:-len(suffix)] for begin in range(end) if suffix)

    def is_ours(self, path):
        if FOREIGN.match(path) or "//" in path:
            return False
        return path.split("/")[0] in self.tops or path.endswith(ENDINGS)

    def has(self, path):
        """A name in capitals, `<…>`, `…` and `*` stand for any: `tests/golden/<area>/`, `gui/texts/dprof_XX.ts`."""
        path = path.rstrip("/")
        if path in self.tails:
            return True
        pattern = re.sub(r"<[^>]*>|…|\b[A-Z]{2,}\b|(?<=_)[A-Z]+\b|\b[A-Z]\b", "*", path)
        if "*" not in pattern:
            return False
        return bool(fnmatch.filter(self.tails, pattern))


def check_paths(tree, known, name, number, text):
    for found in PATH.finditer(text):
        path = found.group(0).rstrip(".,")
        before = text[found.start() - 1:found.start()]
        if before in ("/", "$", "~", "}", "-", ":", "=", "%", '"') or path.startswith((".", "-")) or not known.is_ours(path):
            continue
        for one in alternatives(path):
            if not known.has(one) and not (tree.root / one).exists():
                tree.problem(f"{name}:{number}", f"names {one}, which is not there")


def alternatives(path):
    """`a/{b,c}` is two."""
    braces = re.search(r"\{([^{}]*)\}", path)
    return [path[:braces.start()] + one + path[braces.end():] for one in braces.group(1).split(",")] if braces else [path]


class Commands:
    """What scripts say of their options."""

    def __init__(self, tree):
        self.tree = tree
        self.helps = {}

    def help_of(self, script, part):
        if (script, part) not in self.helps:
            command = [str(self.tree.root / script), "--help"]
            of_part = self.tree.root / "bench" / f"{part}.py"
            if script == "scripts/bench" and of_part.exists():
                command = ["python3", str(of_part), "--help"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
            self.helps[script, part] = done.stdout
        return self.helps[script, part]

    def check(self, name, number, line):
        for found in COMMAND.finditer(line):
            script = found.group(0)
            if not (self.tree.root / script).exists() or not os.access(self.tree.root / script, os.X_OK):
                continue  # check_paths says it; a module has no options
            words = re.split(r" -- |&&|[|;]|\s{2,}", line[found.end():] + " ")[0].split()
            part = words[0] if words and words[0].isalpha() else ""
            for option in (word.strip("[],").split("=")[0] for word in words):
                if not option.startswith("--") or option == "--help":
                    continue
                helps = self.help_of(script, "") + (self.help_of(script, part) if part else "")
                if not re.search(re.escape(option) + r"(?![\w-])", helps):
                    self.tree.problem(f"{name}:{number}", f"{script} --help has no {option}")
