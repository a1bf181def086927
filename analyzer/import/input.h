// SPDX-License-Identifier: Apache-2.0
// A foreign file as a stream of bytes, decompressed if it is gzip (detected by its magic number,
// not its name).
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dprof::analyzer {

// Decompresses in its own thread, a few blocks ahead of the reader.
//
// Threading  one reader.
// Cost       memory: 4 MiB regardless of the file's size.
class Input {
 public:
  // kNotFound, kIo.
  static Result<Input> open(const std::filesystem::path& path);
  Input(Input&&) noexcept;
  Input& operator=(Input&&) noexcept;
  ~Input();

  // The next bytes of the file, "" at its end; valid until the next call.
  std::string_view next();

  // Set after next() returned "" if the file could not be read to its end (bad gzip data,
  // input/output error, truncated gzip).
  [[nodiscard]] const std::string& failure() const;

  [[nodiscard]] double share() const;  // 0…1: consumed share of the file's bytes

 private:
  struct Impl;
  explicit Input(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The whole file, decompressed. kUnsupported: larger than `limit`; kDamaged: truncated.
Result<std::string> read_whole(const std::filesystem::path& path, size_t limit);

// The first bytes of a file, decompressed; at most `limit`.
Result<std::string> read_head(const std::filesystem::path& path, size_t limit);

}  // namespace dprof::analyzer
