# SPDX-License-Identifier: Apache-2.0
"""docs/gpu_results.md, from the list of questions and from what a run answered."""
from part import Figure

HEAD = """# Results on a GPU

"""
NONE = """**Not measured: no GPU was available.** No figure of dprof on a GPU exists, and no page of this documentation should be read as if it
did. This page says what is to be measured, in the order of its value; it takes about 20 minutes on one GPU.
"""
HOW = """
    scripts/gpu-check --bundle DIR    a folder that needs nothing but a driver, and a python3 with torch 2.11.0 for CUDA 13.0
    DIR/run OUT                       on the machine with the GPU; OUT/results.md is this page, filled
    scripts/gpu-check --page OUT/results.json > docs/gpu_results.md

`ctest -L gpu` asks the same where dprof was built beside a GPU. `DIR/run OUT --only NAME` asks one question again.
"""


def cell(text):
    return str(text).replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def said(result):
    if result["status"] in ("measured",):
        return result["answer"]
    return ": ".join(filter(None, [result["status"], result["why"] or result["answer"]]))


def table(results):
    rows = ["| name | question | result |", "| --- | --- | --- |"]
    rows += [f"| {cell(result['name'])} | {cell(result['asks'])} | {cell(said(result))} |" for result in results]
    return "\n".join(rows)


def page(whole, questions):
    """`whole` as results.json has it, or None: nothing was measured yet."""
    if whole is None:
        results = [{"name": question.name, "asks": question.asks, "status": "not measured", "why": "", "answer": ""} for question in questions]
        return HEAD + NONE + HOW + "\n" + table(results) + "\n"
    about = whole["machine"]
    text = HEAD
    if any(result["status"] == "measured" for result in whole["results"]):
        text += f"Measured on {', '.join(about['gpus'] or ['an unknown GPU'])} (name, driver, memory), {about['date']}.\n"
    else:
        text += NONE
    text += HOW + "\n" + table(whole["results"]) + "\n\n## Machine\n\n"
    text += "\n".join(f"- {name}: {value if value is not None else 'not known'}" for name, value in about.items()) + "\n"
    for result in whole["results"]:
        if not result["figures"] and not result["commands"]:
            continue
        text += f"\n## {result['name']}\n\n"
        text += "".join(f"    {line}\n" for command in result["commands"] for line in command.splitlines())
        text += "\n" if result["commands"] else ""
        text += "".join(f"- {Figure(**figure).text()}\n" for figure in result["figures"])
        text += "".join(f"- broken: {check['expected']}; found {check['found']}\n" for check in result["checks"] if not check["holds"])
    return text
