# SPDX-License-Identifier: Apache-2.0
"""CSV tables to Parquet: dprof starts it with a folder and, for each table, "NAME:TYPE,TYPE…" of its columns.

A line of output for each table that is done. With no table it only says whether pyarrow is there.
"""
import os
import sys

import pyarrow
import pyarrow.csv
import pyarrow.parquet

# Bytes are hexadecimal in a CSV.
TYPES = {"integer": pyarrow.int64(), "text": pyarrow.string(), "bytes": pyarrow.string()}


def convert(path, words):
    with open(path + ".csv", encoding="utf-8") as file:
        columns = dict(zip(file.readline().rstrip("\n").split(","), words.split(",")))
    # Empty is NULL, unless it is quoted.
    rows = pyarrow.csv.open_csv(
        path + ".csv", read_options=pyarrow.csv.ReadOptions(block_size=1 << 26),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={name: TYPES[word] for name, word in columns.items()}, null_values=[""], strings_can_be_null=True,
            quoted_strings_can_be_null=False))
    types = {name: pyarrow.binary() if word == "bytes" else TYPES[word] for name, word in columns.items()}
    with pyarrow.parquet.ParquetWriter(path + ".parquet", pyarrow.schema(types), compression="zstd") as out:
        for batch in rows:
            arrays = []
            for name, array in zip(columns, batch.columns):
                if columns[name] == "bytes":
                    array = pyarrow.array([text and bytes.fromhex(text) for text in array.to_pylist()], pyarrow.binary())
                arrays.append(array)
            out.write_batch(pyarrow.record_batch(arrays, schema=out.schema))
    os.remove(path + ".csv")


for table in sys.argv[2:]:
    name, words = table.split(":")
    convert(os.path.join(sys.argv[1], name), words)
    print(name, flush=True)
