// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/sink/row_sorter.h"

#include <fcntl.h>
#include <fmt/format.h>

namespace dprof::analyzer {
namespace {

Failure io_failure(std::string_view doing) {
  return fail(Code::kIo,
              fmt::format("sorting the rows: {} a temporary file: {}", doing, std::strerror(errno)),
              "the run folder's file system needs room for the rows twice");
}

}  // namespace

Result<int64_t> SpillFile::append(const std::filesystem::path& folder, const void* data,
                                  size_t bytes) {
  if (fd_ < 0) {
    std::string name = (folder / ".rows-XXXXXX").string();
    fd_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd_ < 0) return io_failure("making");
    ::unlink(name.c_str());
  }
  const int64_t begin = size_;
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::pwrite(fd_, from, bytes, size_);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return io_failure("writing");
    from += written;
    bytes -= static_cast<size_t>(written);
    size_ += written;
  }
  return begin;
}

Status SpillFile::read(int64_t offset, void* data, size_t bytes) const {
  char* to = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = ::pread(fd_, to, bytes, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return io_failure("reading");
    to += got;
    bytes -= static_cast<size_t>(got);
    offset += got;
  }
  return Done{};
}

}  // namespace dprof::analyzer
