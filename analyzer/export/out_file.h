// SPDX-License-Identifier: Apache-2.0
// A file for another tool: written beside its name and renamed at the end, so that no half of one
// is left; packed with gzip where its name ends in ".gz". "-" is the standard output.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include "base/result.h"

namespace dprof::analyzer {

// Errors     the first failure is kept: write() does nothing from then on, finish() returns it.
// Cost       memory: 1 MiB. Packing at zlib's quickest level: two thirds of the effect of its
//            default at a fifth of the time.
class OutFile {
 public:
  static Result<OutFile> create(const std::filesystem::path& path);
  OutFile(OutFile&&) noexcept;
  OutFile& operator=(OutFile&&) noexcept;
  ~OutFile();  // without finish(): nothing is left

  void write(std::string_view bytes);
  // Whether all that was written so far could be.
  [[nodiscard]] Status status() const;
  Status finish();

 private:
  struct Impl;
  explicit OutFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dprof::analyzer
