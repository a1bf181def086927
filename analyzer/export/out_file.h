// SPDX-License-Identifier: Apache-2.0
// An output file, written under a temporary name and renamed at the end, so that no partial file
// remains; compressed with gzip if its name ends in ".gz". "-" is the standard output.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include "base/result.h"

namespace dprof::analyzer {

// Errors     the first failure is kept: after it write() does nothing and finish() returns it.
// Cost       memory: 1 MiB. zlib's fastest compression level: two thirds of the effect of its
//            default in a fifth of the time.
class OutFile {
 public:
  static Result<OutFile> create(const std::filesystem::path& path);
  OutFile(OutFile&&) noexcept;
  OutFile& operator=(OutFile&&) noexcept;
  ~OutFile();  // without finish(): removes the file

  void write(std::string_view bytes);
  // The result of all writes so far.
  [[nodiscard]] Status status() const;
  Status finish();

 private:
  struct Impl;
  explicit OutFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dprof::analyzer
