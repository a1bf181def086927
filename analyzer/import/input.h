// SPDX-License-Identifier: Apache-2.0
// A foreign file as a stream of bytes, unpacked where it is gzip (known by its magic number, not by
// its name).
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dprof::analyzer {

// Unpacking runs in a thread of its own, a few blocks ahead of the reader.
//
// Threading  one reader.
// Cost       memory: 4 MiB whatever the file's size.
class Input {
 public:
  // kNotFound, kIo.
  static Result<Input> open(const std::filesystem::path& path);
  Input(Input&&) noexcept;
  Input& operator=(Input&&) noexcept;
  ~Input();

  // The next bytes of the file, "" at its end; valid until the next call.
  std::string_view next();

  // Set where the file cannot be read to its end (bad gzip data, input/output error, gzip cut off),
  // once next() has returned "".
  [[nodiscard]] const std::string& failure() const;

  [[nodiscard]] double share() const;  // 0…1 of the file's bytes that were taken

 private:
  struct Impl;
  explicit Input(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// All of a file, unpacked. kUnsupported: it is larger than `limit`; kDamaged: it is cut off.
Result<std::string> read_whole(const std::filesystem::path& path, size_t limit);

// The first bytes of a file, unpacked; at most `limit`.
Result<std::string> read_head(const std::filesystem::path& path, size_t limit);

}  // namespace dprof::analyzer
