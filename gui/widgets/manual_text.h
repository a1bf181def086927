// SPDX-License-Identifier: Apache-2.0
// docs/gui.md, as it was when the program was built.
#pragma once

#include <string_view>

namespace dprof::widgets {

[[nodiscard]] std::string_view manual_text();

}  // namespace dprof::widgets
