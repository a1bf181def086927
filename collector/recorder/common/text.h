// SPDX-License-Identifier: Apache-2.0
// Makes texts of recorded processes fit for SQLite and JSON.
#pragma once

#include <string>
#include <string_view>

namespace dprof::recorder {

// The text in valid UTF-8 and without NUL: every invalid byte becomes U+FFFD.
[[nodiscard]] std::string clean_text(std::string_view text_untrusted);

}  // namespace dprof::recorder
