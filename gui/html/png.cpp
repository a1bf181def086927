// SPDX-License-Identifier: Apache-2.0
#include "gui/html/png.h"

#include <zlib.h>

#include <string_view>

namespace dprof::html {
namespace {

using namespace std::string_view_literals;

std::string big_endian(uint32_t number) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(number >> shift & 0xFFU);
  return bytes;
}

std::string chunk(std::string_view kind, std::string_view content) {
  std::string sealed = std::string(kind) + std::string(content);
  const uLong checksum =
      crc32(0, reinterpret_cast<const Bytef*>(sealed.data()), static_cast<uInt>(sealed.size()));
  return big_endian(static_cast<uint32_t>(content.size())) + sealed +
         big_endian(static_cast<uint32_t>(checksum));
}

// Empty if there is no memory for it.
std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string packed(size, '\0');
  const int done =
      compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), Z_BEST_COMPRESSION);
  packed.resize(done == Z_OK ? size : 0);
  return packed;
}

}  // namespace

std::string grey_png(std::span<const uint8_t> levels, int width, int height) {
  std::string lines;
  lines.reserve(levels.size() + static_cast<size_t>(height));
  for (int y = 0; y < height; ++y) {
    lines += '\0';  // no filter
    for (const uint8_t level : levels.subspan(static_cast<size_t>(y) * static_cast<size_t>(width),
                                              static_cast<size_t>(width)))
      lines += static_cast<char>(level);
  }
  return "\x89PNG\r\n\x1a\n"sv.data() +
         chunk("IHDR", big_endian(static_cast<uint32_t>(width)) +
                           big_endian(static_cast<uint32_t>(height)) +
                           std::string("\x08\0\0\0\0"sv)) +
         chunk("IDAT", deflated(lines)) + chunk("IEND", "");
}

std::string base64_of(std::string_view bytes) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view three = bytes.substr(at, 3);
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i)
      bits = bits << 8U | (i < three.size() ? static_cast<uint8_t>(three[i]) : 0U);
    for (size_t i = 0; i < 4; ++i)
      text += i <= three.size() ? kLetters[bits >> (18 - 6 * i) & 63U] : '=';
  }
  return text;
}

}  // namespace dprof::html
