// SPDX-License-Identifier: Apache-2.0
// Operation tables of Megatron-type jobs: Chrome JSON in which each row is one forward, backward,
// send, receive or reduction of one rank, as straggler studies publish them.
#pragma once

#include "analyzer/import/format.h"

namespace dprof::analyzer::operation_table {

// The process id is the data-parallel rank; a thread's name gives stage, tensor-parallel rank and
// lane. One file holds all ranks, each of which becomes a trace. The file is read twice: the names
// stand at its end.
extern const Format kFormat;

}  // namespace dprof::analyzer::operation_table
