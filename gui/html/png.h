// SPDX-License-Identifier: Apache-2.0
// Small pictures embedded in a page: grey PNGs, and bytes as text.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace dprof::html {

// One level (0…255) per pixel, row by row: width * height of them.
[[nodiscard]] std::string grey_png(std::span<const uint8_t> levels, int width, int height);

[[nodiscard]] std::string base64_of(std::string_view bytes);

}  // namespace dprof::html
