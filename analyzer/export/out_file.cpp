// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/out_file.h"

#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace dprof::analyzer {

namespace {
constexpr size_t kHeldBytes = size_t{512} << 10;
constexpr int kGzipWindow = 15 + 16;  // zlib's way to ask for a gzip header
constexpr int kMemoryLevel = 8;       // zlib's default
}  // namespace

struct OutFile::Impl {
  // With the process: several may write the same file at once.
  explicit Impl(std::filesystem::path name) : path(std::move(name)), part(path) {
    part += "." + std::to_string(getpid()) + ".part";
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (packs) deflateEnd(&packer);
    if (file == nullptr || to_stdout) return;
    std::fclose(file);
    std::error_code ignored;
    std::filesystem::remove(part, ignored);
  }

  void fail_with(std::string_view what) {
    if (failure) return;
    failure = Error{Code::kIo, path.string() + ": " + std::string(what),
                    "is the folder there, and is there room on the disk?"};
  }

  void put(const void* bytes, size_t count) {
    if (!failure && std::fwrite(bytes, 1, count, file) != count) fail_with("cannot be written");
  }

  // Writes the buffer to the file, compressed if requested.
  void flush(bool last) {
    if (!packs) {
      put(held.data(), held.size());
      held.clear();
      return;
    }
    packer.next_in = reinterpret_cast<Bytef*>(held.data());
    packer.avail_in = static_cast<uInt>(held.size());
    do {
      packer.next_out = packed.data();
      packer.avail_out = static_cast<uInt>(packed.size());
      deflate(&packer, last ? Z_FINISH : Z_NO_FLUSH);
      put(packed.data(), packed.size() - packer.avail_out);
    } while (packer.avail_out == 0);
    held.clear();
  }

  std::filesystem::path path;
  std::filesystem::path part;
  std::FILE* file = nullptr;
  bool to_stdout = false;
  std::optional<Error> failure;
  std::string held;
  bool packs = false;
  z_stream packer = {};
  std::vector<Bytef> packed;
};

Result<OutFile> OutFile::create(const std::filesystem::path& path) {
  auto impl = std::make_unique<Impl>(path);
  impl->to_stdout = path == "-";
  impl->file = impl->to_stdout ? stdout : std::fopen(impl->part.c_str(), "wb");
  if (impl->file == nullptr) {
    return fail(Code::kIo, path.string() + ": cannot be written",
                "is the folder there, and may you write to it?");
  }
  impl->held.reserve(2 * kHeldBytes);
  if (path.extension() == ".gz") {
    impl->packs = deflateInit2(&impl->packer, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                               Z_DEFAULT_STRATEGY) == Z_OK;
    if (!impl->packs) return fail(Code::kNoMemory, path.string() + ": no memory to pack it");
    impl->packed.resize(kHeldBytes);
  }
  return OutFile(std::move(impl));
}

OutFile::OutFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OutFile::OutFile(OutFile&&) noexcept = default;
OutFile& OutFile::operator=(OutFile&&) noexcept = default;
OutFile::~OutFile() = default;

void OutFile::write(std::string_view bytes) {
  if (impl_->failure) return;
  impl_->held += bytes;
  if (impl_->held.size() >= kHeldBytes) impl_->flush(false);
}

Status OutFile::status() const {
  if (impl_->failure) return fail(*impl_->failure);
  return Done{};
}

Status OutFile::finish() {
  if (!impl_->failure) impl_->flush(true);
  std::FILE* file = std::exchange(impl_->file, nullptr);
  if (impl_->to_stdout) {
    if (std::fflush(file) != 0) impl_->fail_with("cannot be written");
    return status();
  }
  if (file != nullptr && std::fclose(file) != 0) impl_->fail_with("cannot be written");
  std::error_code error;
  if (!impl_->failure) {
    std::filesystem::rename(impl_->part, impl_->path, error);
    if (error) impl_->fail_with("cannot be written: " + error.message());
  }
  if (impl_->failure) std::filesystem::remove(impl_->part, error);
  return status();
}

}  // namespace dprof::analyzer
