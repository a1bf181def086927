// SPDX-License-Identifier: Apache-2.0
// Dumps of PyTorch's flight recorder: what a process had called and not finished when it stood
// still.
#pragma once

#include "analyzer/import/format.h"

namespace dprof::analyzer::flight_recorder {

// Pickles (protocol 2 to 5, plain containers only) and JSON. One file is one rank; it stands in the
// file where PyTorch writes it there, else at the end of the file's name. Nothing of a file is
// executed. Times are CLOCK_REALTIME of an unknown host: each file has a clock of its own.
extern const Format kFormat;

}  // namespace dprof::analyzer::flight_recorder
