// SPDX-License-Identifier: Apache-2.0
// Command lines as they may be shown: a run folder is shared, mailed and attached to issues.
#pragma once

#include <string>
#include <string_view>

namespace dprof::recorder {

// Puts `***` for what is, by its name or its look, a key, a token or a password: the values of
// `--api-key V`, `--hf_token=V`, `PASSWORD=V`, words that begin as well-known tokens do, what
// follows `Bearer`, and the password of a URL.
[[nodiscard]] std::string mask_secrets(std::string_view command);

}  // namespace dprof::recorder
