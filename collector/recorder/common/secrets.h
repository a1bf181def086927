// SPDX-License-Identifier: Apache-2.0
// Masks secrets in command lines: a run folder is shared, mailed and attached to issues.
#pragma once

#include <string>
#include <string_view>

namespace dprof::recorder {

// Replaces with `***` whatever looks, by name or form, like a key, a token or a password: the
// values of `--api-key V`, `--hf_token=V`, `PASSWORD=V`, words that begin like well-known tokens,
// the word after `Bearer`, and the password of a URL.
[[nodiscard]] std::string mask_secrets(std::string_view command);

}  // namespace dprof::recorder
