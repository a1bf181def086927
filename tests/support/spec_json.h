// SPDX-License-Identifier: Apache-2.0
// RunSpec as JSON, for test cases that are files. Keys are the fields' names; what is not there
// keeps its default.
#pragma once

#include <nlohmann/json.hpp>

#include "tests/support/run_builder.h"

namespace dprof::test_support {

// Fails for an unknown key or word, so that a typing error is no silent default.
Result<RunSpec> spec_from_json(const nlohmann::json& json);

}  // namespace dprof::test_support
