#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a folder of libraries to link against, so that the result runs on an older glibc than this machine's.

    make_stubs.py OUT --glibc 2.28 --compiler c++

A program takes, of each function, the newest version that glibc has when it is linked. This machine's glibc still holds the old
versions as well: the stubs name, of each function, the newest that the older glibc had, and nothing that came later. What a
program then misses is either in the sources beside this file (as stat, which was an inline function before 2.33), or the link
fails and names it. Use: c++ … -L OUT. The stubs are never loaded; the program names glibc's own libraries.
"""
import argparse
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# Where functions were before 2.34 brought them all into libc: a program names that library too.
FORMER_HOMES = (
    (re.compile(r"_*(pthread|sem)_"), "libpthread.so.0"),
    (re.compile(r"dl(open|close|sym|vsym|error|addr1?|info|mopen)$"), "libdl.so.2"),
    (re.compile(r"(shm|mq|aio|lio|timer)_"), "librt.so.1"),
)
# The one of old hands the constructors' call to the program: start.cpp does it.
NOT_BY_DEFAULT = {"__libc_start_main"}


def version_of(name):
    """(2, 28) of GLIBC_2.28; None of what is no version of glibc's interface."""
    numbers = re.fullmatch(r"GLIBC_(\d+(?:\.\d+)+)", name)
    return tuple(int(number) for number in numbers.group(1).split(".")) if numbers else None


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"make_stubs.py: {' '.join(str(word) for word in words)}\n{done.stderr}")
    return done.stdout


def exports(library, newest):
    """name -> (version, type, size, address, binding): of each function or object the newest version up to `newest`."""
    found = {}
    for line in run("readelf", "--dyn-syms", "-W", library).splitlines():
        words = line.split()
        if len(words) < 8 or words[6] == "UND" or "@" not in words[7]:
            continue
        name, version = re.split("@+", words[7], maxsplit=1)
        number = version_of(version)
        if number is None or number > newest or words[3] not in ("FUNC", "IFUNC", "OBJECT", "NOTYPE", "TLS"):
            continue
        if name not in found or version_of(found[name][0]) < number:
            found[name] = version, words[3], int(words[2], 0), words[1], words[4]
    return found


def versions(library):
    """The versions that a library defines, with or without a symbol in them."""
    return set(re.findall(r"Name: (GLIBC_[\d.]+)", run("readelf", "-V", "-W", library)))


def make_stub(out, compiler, soname, symbols):
    lines, addresses = [], {}
    for index, (name, (version, kind, size, address, binding)) in enumerate(sorted(symbols.items())):
        label = f"stub_{index}"
        default = "@" if name in NOT_BY_DEFAULT else "@@"
        if kind == "OBJECT":  # names of one object stay one: a program that copies it takes the others along
            addresses.setdefault((address, size), []).append(label)
        else:
            lines += [".text", f"{label}:", ".byte 0"]
        lines += [f".{'weak' if binding == 'WEAK' else 'globl'} {label}",
                  f".type {label},%{'object' if kind == 'OBJECT' else 'function'}",
                  f".symver {label},{name}{default}{version},remove"]
    for (_, size), labels in addresses.items():
        lines += [".bss", ".balign 32", *[f"{label}:" for label in labels], f".skip {max(size, 1)}",
                  *[f".size {label},{size}" for label in labels]]
    lines += ['.section .note.GNU-stack,"",%progbits', ""]
    (out / f"{soname}.s").write_text("\n".join(lines))
    nodes = sorted({version for version, *_ in symbols.values()}, key=version_of)
    (out / f"{soname}.map").write_text("".join(f"{node} {{ }};\n" for node in nodes))
    run(compiler, "-shared", "-nostdlib", f"-Wl,-soname,{soname}", f"-Wl,--version-script,{out / soname}.map",
        "-o", out / soname, out / f"{soname}.s")


def make_archive(out, compiler):
    objects = []
    for source in sorted(HERE.glob("*.cpp")):
        objects.append(out / f"{source.stem}.o")
        run(compiler, "-std=c++20", "-O2", "-fPIC", "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden",
            "-fno-threadsafe-statics", "-fno-asynchronous-unwind-tables", "-Wall", "-Wextra", "-c", source, "-o", objects[-1])
    archive = out / "libnewer.a"
    archive.unlink(missing_ok=True)
    run("ar", "rcsD", archive, *objects)
    return archive


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--glibc", default="2.28")
    parser.add_argument("--compiler", default="c++")
    options = parser.parse_args()
    newest, out = version_of(f"GLIBC_{options.glibc}"), options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)

    def here(name):
        return pathlib.Path(run(options.compiler, f"-print-file-name={name}").strip())

    loader = next(name for name in re.findall(r"ld-linux[\w.-]*", run("readelf", "-d", "-W", here("libc.so.6"))))
    homes = {"libc.so.6": {}, "libm.so.6": {}, "libpthread.so.0": {}, "libdl.so.2": {}, "librt.so.1": {}, loader: {}}
    known = {home: versions(here(home)) for _, home in FORMER_HOMES}
    for name, symbol in exports(here("libc.so.6"), newest).items():
        home = next((home for pattern, home in FORMER_HOMES if pattern.match(name) and symbol[0] in known[home]), "libc.so.6")
        homes[home][name] = symbol
    homes["libm.so.6"] = exports(here("libm.so.6"), newest)
    homes[loader] = exports(here(loader), newest)
    for soname, symbols in homes.items():
        make_stub(out, options.compiler, soname, symbols)
    archive = make_archive(out, options.compiler)
    late = " ".join(str(out / soname) for soname in homes if soname not in ("libc.so.6", "libm.so.6"))
    (out / "libc.so").write_text(
        f"GROUP ( {out / 'libc.so.6'} AS_NEEDED ( {late} ) {archive} {here('libc_nonshared.a')} )\n")
    (out / "libm.so").write_text(f"INPUT ( AS_NEEDED ( {out / 'libm.so.6'} ) )\n")
    for name in ("pthread", "dl", "rt"):
        soname = next(soname for soname in homes if soname.startswith(f"lib{name}."))
        (out / f"lib{name}.so").write_text(f"INPUT ( AS_NEEDED ( {out / soname} ) )\n")


if __name__ == "__main__":
    main()
