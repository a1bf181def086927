# SPDX-License-Identifier: Apache-2.0
"""What a source may hold: its format, licence line and length, names of types, constructs that have a better one."""
import re
import subprocess

from checks.tree import is_cpp, is_generated, is_script, is_test

# (files, pattern, what to do instead)
BANNED = [
    (r"\.(h|cpp)$", r"\b(TODO|FIXME|XXX)\b", "do it, or open an issue"),
    (r"\.h$", r"^\s*using namespace", "name what you use"),
    # operator new has no other way to say that there is no memory.
    (r"^(base/(?!paged_memory\.cpp)|(schema|collector|analyzer|gui|cli)/)", r"\bthrow\s", "return a Result"),
    (r"^collector/(wire|inject/(?!torch/|test_support/))(?!.*_test\.cpp)",
     r"#include <(iostream|sstream|fstream|fmt/|spdlog/|vector|string>|map|functional)",
     "libdprof.so needs libc only: no allocation, no stream, no fmt"),
    (r"^collector/inject/(?!(environment|session|preload|hello_text|cuda/cuda_source)\.cpp)(?!test_support/)(?!.*_test\.cpp)",
     r"\bgetenv\(", "noted_variable(): on the helper, getenv would race with the program's setenv"),
    (r"^collector/inject/torch/", r"#include <(iostream|sstream|fstream|fmt/|spdlog/)", "no stream, no fmt in process"),
    (r"^(base|schema|collector|analyzer)/(?!.*_test\.cpp).*\.(h|cpp)$", r"std::(cout|cerr)", "render a typed result in cli/"),
    (r"\.(h|cpp)$", r"\bassert\(", "DPROF_CHECK in tools"),
    (r"\.(h|cpp)$", r"\b(strcpy|strcat|sprintf|gets)\(", "use std::string, fmt or snprintf"),
]
# What an unnamed namespace declares: a type, a constant.
LOCAL = re.compile(r"(?:struct|class|enum class) (\w+)[^;]*\{"
                   r"|(?:static |inline )?const(?:expr)? [^=({]*?\b(\w+)(?:\[.*?\])? ?[={]")
MOST_LINES = 800  # of a file: longer ones are reported, as a question
LICENCE = "SPDX-License-Identifier: Apache-2.0"


def check(tree):
    for name in tree.names:
        if not is_generated(name) and (is_cpp(name) or is_script(name) or name.endswith((".cmake", "CMakeLists.txt", ".md"))):
            check_text(tree, name)
    check_types(tree)
    check_local_names(tree)


def check_text(tree, name):
    text = tree.text(name)
    if not name.endswith(".md") and LICENCE not in text[:400]:
        tree.problem(name, "the SPDX line is missing")
    if name.endswith((".h", ".cpp", ".py")) and (lines := text.count("\n")) > MOST_LINES:
        tree.note(f"{name}: {lines} lines: is it one thing?")
    for wanted, pattern, instead in BANNED:
        if not re.search(wanted, name):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if re.search(pattern, line):
                tree.problem(f"{name}:{number}", f"'{line.strip()[:60]}': {instead}")


def check_types(tree):
    """Two types of one name in one namespace are one to the linker, which takes the functions of either."""
    places = {}
    for name in tree.names:
        if not is_cpp(name) or is_test(name) or is_generated(name):
            continue
        stack = []
        for line in tree.text(name).splitlines():
            if opened := re.match(r"namespace ([\w:]*) ?\{$", line):
                stack.append(opened.group(1))
            elif line.startswith("}  // namespace"):
                stack = stack[:-1]
            elif (declared := re.match(r"(?:struct|class|enum class) (\w+)[^;]*\{", line)) and stack and "" not in stack:
                where = re.sub(r"(_internal)?\.(h|cpp)$", "", name)
                places.setdefault("::".join([*stack, declared.group(1)]), set()).add(where)
    for type_name, where in sorted(places.items()):
        if len(where) > 1:
            tree.problem(", ".join(sorted(where)),
                         f"each has a type {type_name}: rename one, or put it into an unnamed namespace")


def check_local_names(tree):
    """The sources of a folder are compiled together, so types and constants of their unnamed namespaces differ."""
    places = {}
    for name in tree.names:
        if not name.endswith(".cpp") or name.startswith(("tests/", "bench/")) or "/test_support/" in name:
            continue
        local = False
        for line in tree.text(name).splitlines():
            local = line == "namespace {" or (local and not line.startswith("}  // namespace"))
            if local and (declared := LOCAL.match(line)):
                key = (name.rpartition("/")[0], is_test(name), declared.group(1) or declared.group(2))
                places.setdefault(key, set()).add(name)
    for (_, _, local_name), where in sorted(places.items()):
        if len(where) > 1:
            tree.problem(", ".join(sorted(where)), f"each has a {local_name} of its own: rename one, or share it")


def check_format(tree, fix):
    sources = [name for name in tree.names if is_cpp(name) and not is_generated(name)]
    command = ["clang-format-14", "-i"] if fix else ["clang-format-14", "--dry-run", "-Werror"]
    running = [subprocess.Popen(command + part, cwd=tree.root, stderr=subprocess.PIPE, text=True)
               for part in (sources[::2], sources[1::2]) if part]
    said = "".join(process.communicate()[1] for process in running)
    for name in sorted({line.split(":")[0] for line in said.splitlines() if "clang-format-violations" in line}):
        tree.problem(name, "is not formatted: scripts/check --fix")
