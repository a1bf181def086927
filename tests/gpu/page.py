# SPDX-License-Identifier: Apache-2.0
"""docs/gpu_results.md, from the list of questions and from what a run answered."""
import textwrap

from part import MEASURED, Figure

WIDTH = 128

HEAD = """# Results on a GPU

"""
NONE = """**Not measured: no GPU was available.** There are no figures of dprof on a GPU, and no page of this documentation
should be read as if there were. This page lists what remains to be measured, most valuable first; it takes 20
minutes on one GPU.
"""
HOW = """
    scripts/gpu-check --bundle DIR    a folder that needs a driver and a python3 with torch 2.11.0 for CUDA 13.0, nothing else
    DIR/run OUT                       on the machine with the GPU; OUT/results.md is this page, filled
    scripts/gpu-check --page OUT/results.json    writes this page

`DIR/run OUT --minutes 9` answers the questions that fit into 9 minutes, `--only NAME` repeats one question, and `--rehearse`
tries what is possible without a GPU. If dprof was built on a machine with a GPU, `ctest -L gpu` answers the same questions. A
question whose expectations do not hold is "failed", with what was expected and what was found; figures without an expectation
are only printed.
"""
COLUMNS = "| name | question | result |\n| --- | --- | --- |\n"


def cell(text):
    """Of a table: on one line, and with nothing that Markdown or HTML would take for its own."""
    text = " ".join(str(text).split())
    for character in "\\|<>":
        text = text.replace(character, f"\\{character}")
    return text


def line(text):
    """Of a list: as it is, but on one line."""
    return " ".join(str(text).split()).replace("<", "\\<")


def item(text):
    """Of a list."""
    return textwrap.fill(f"- {text}", WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) + "\n"


def prose(text):
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def said(result):
    if result["status"] == MEASURED:
        return result["answer"]
    return ": ".join(filter(None, [result["status"], result["why"] or result["answer"]]))


def table(results):
    return COLUMNS + "\n".join(f"| {cell(result['name'])} | {result['asks']} | {cell(said(result))} |" for result in results)


def fact(value):
    if isinstance(value, list):
        return line(", ".join(value) or "none")
    return line("not known" if value is None else value)


def details(result):
    answer = f"{line(said(result))}. It took {result['seconds']:.0f} s."
    text = f"\n## {result['name']}\n\n{prose(line(result['asks']))}\n{prose(answer)}\n"
    text += "".join(f"    {command}\n" for block in result["commands"] for command in block.splitlines())
    text += "\n" if result["commands"] else ""
    text += "".join(item(line(Figure(**figure).text())) for figure in result["figures"])
    for check in result["checks"]:
        holds = "as expected" if check["holds"] else "**not as expected**"
        text += item(f"{holds}: {line(check['expected'])}; found {line(check['found'])}")
    return text


def page(whole, questions):
    """`whole` as results.json has it, or None: nothing was measured yet."""
    if whole is None:
        results = [{"name": question.name, "asks": question.asks, "status": "not measured", "why": "", "answer": ""}
                   for question in questions]
        return HEAD + NONE + HOW + "\n" + table(results) + "\n"
    about, results = whole["machine"], whole["results"]
    measured = sum(result["status"] == MEASURED for result in results)
    text = HEAD
    if measured and not whole["rehearsed"]:
        name = (about["GPU, driver, memory, power limit"] or ["a GPU without a name"])[0]
        text += prose(f"Measured on {line(name)} (name, driver, memory, power limit), {about['date']}: {measured} of "
                      f"{len(results)} questions are answered.")
    else:
        text += NONE
    text += HOW + "\n" + table(results) + "\n"
    if whole.get("notes"):  # what people wrote about it
        text += "\n## What it showed\n\n" + "".join(item(line(note)) for note in whole["notes"])
    text += "\n## Machine\n\n"
    text += "".join(item(f"{name}: {fact(value)}") for name, value in about.items())
    text += item(f"files kept: {', '.join(whole['files']) or 'none'}")
    return text + "".join(details(result) for result in results if result["figures"] or result["commands"] or result["checks"])
