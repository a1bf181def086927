// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace dprof::analyzer {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBlock = size_t{512} << 10;
constexpr size_t kBlocks = 6;  // the reader has one, the thread fills the others

bool is_gzip(std::string_view head) {
  return head.size() >= 2 && head[0] == '\x1f' && head[1] == '\x8b';
}

// Reads a file block by block, decompressing gzip (also with several members).
class Source {
 public:
  static Result<std::unique_ptr<Source>> open(const fs::path& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      const bool missing = errno == ENOENT;
      return fail(missing ? Code::kNotFound : Code::kIo,
                  fmt::format("{}: {}", path.string(), std::strerror(errno)));
    }
    auto source = std::unique_ptr<Source>(new Source(fd));
    struct stat status {};
    if (::fstat(fd, &status) != 0 || S_ISDIR(status.st_mode)) {
      return fail(Code::kIo, fmt::format("{}: not a readable file", path.string()));
    }
    source->size_ = status.st_size;
    source->packed_.resize(kBlock / 2);
    source->refill();
    source->gzip_ = is_gzip({source->packed_.data(), source->got_});
    if (source->gzip_ && inflateInit2(&source->stream_, 15 + 16) != Z_OK) {
      return fail(Code::kNoMemory, fmt::format("{}: zlib cannot start", path.string()));
    }
    return source;
  }

  ~Source() {
    if (gzip_) inflateEnd(&stream_);
    ::close(fd_);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // Fills `to` as far as possible; 0 = end of file, or failure().
  size_t read(char* to, size_t bytes) { return gzip_ ? unpack(to, bytes) : copy(to, bytes); }

  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] double share() const {
    const int64_t size = size_;
    return size <= 0 ? 0.0
                     : std::min(1.0, static_cast<double>(taken_.load(std::memory_order_relaxed)) /
                                         static_cast<double>(size));
  }

 private:
  explicit Source(int fd) : fd_(fd) {}

  void refill() {
    at_ = 0;
    got_ = 0;
    while (true) {
      const ssize_t got = ::read(fd_, packed_.data(), packed_.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) failure_ = fmt::format("reading: {}", std::strerror(errno));
      if (got > 0) got_ = static_cast<size_t>(got);
      break;
    }
    taken_.fetch_add(static_cast<int64_t>(got_), std::memory_order_relaxed);
  }

  size_t copy(char* to, size_t bytes) {
    size_t done = 0;
    while (done < bytes && failure_.empty()) {
      if (at_ == got_) refill();
      if (got_ == 0) break;
      const size_t part = std::min(bytes - done, got_ - at_);
      std::memcpy(to + done, packed_.data() + at_, part);
      at_ += part;
      done += part;
    }
    return done;
  }

  size_t unpack(char* to, size_t bytes) {
    size_t done = 0;
    while (done < bytes && failure_.empty() && !ended_) {
      if (at_ == got_) refill();
      if (got_ == 0) {
        if (in_member_ && failure_.empty()) failure_ = "the gzip data ends too early";
        break;
      }
      stream_.next_in = reinterpret_cast<Bytef*>(packed_.data() + at_);
      stream_.avail_in = static_cast<uInt>(got_ - at_);
      stream_.next_out = reinterpret_cast<Bytef*>(to + done);
      stream_.avail_out = static_cast<uInt>(bytes - done);
      in_member_ = true;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      done = bytes - stream_.avail_out;
      at_ = got_ - stream_.avail_in;
      if (status == Z_STREAM_END) {
        next_member();
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        failure_ = fmt::format("bad gzip data: {}", stream_.msg == nullptr ? "?" : stream_.msg);
      }
    }
    return done;
  }

  // Another member can follow; other bytes after the last one are padding.
  void next_member() {
    in_member_ = false;
    if (at_ == got_) refill();
    ended_ = got_ - at_ < 1 || packed_[at_] != '\x1f';
    if (!ended_) inflateReset(&stream_);
  }

  int fd_;
  int64_t size_ = 0;
  bool gzip_ = false;
  bool in_member_ = true;
  bool ended_ = false;
  std::vector<char> packed_;
  size_t at_ = 0;
  size_t got_ = 0;
  z_stream stream_{};
  std::string failure_;
  std::atomic<int64_t> taken_ = 0;
};

struct Block {
  std::vector<char> bytes;  // kBlock, allocated when needed: most files of a large run are small
  size_t used = 0;
};

}  // namespace

// A ring of blocks between the decompressing thread and the reader.
struct Input::Impl {
  explicit Impl(std::unique_ptr<Source> from) : source(std::move(from)) {
    worker = std::thread([this] { fill(); });
  }
  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stopped = true;
    }
    changed.notify_all();
    worker.join();
  }

  void fill() {
    while (true) {
      {
        std::unique_lock lock(mutex);
        await(lock, [&] { return stopped || filled - taken < kBlocks - 1; });
        if (stopped) return;
      }
      Block& block = blocks[filled % kBlocks];
      block.bytes.resize(kBlock);
      block.used = source->read(block.bytes.data(), block.bytes.size());
      const bool last = block.used == 0;
      {
        const std::lock_guard lock(mutex);
        if (last) {
          ended = true;
          failure = source->failure();
        } else {
          ++filled;
        }
      }
      changed.notify_all();
      if (last) return;
    }
  }

  std::string_view next() {
    std::unique_lock lock(mutex);
    if (holding) {
      ++taken;
      holding = false;
      changed.notify_all();
    }
    await(lock, [&] { return ended || filled > taken; });
    if (filled == taken) {
      failure_met = failure;
      return {};
    }
    holding = true;
    const Block& block = blocks[taken % kBlocks];
    return {block.bytes.data(), block.used};
  }

  // libstdc++ 12's wait() has a version that systems of manylinux_2_34 lack; wait_for() is in its
  // header.
  template <typename Predicate>
  void await(std::unique_lock<std::mutex>& lock, const Predicate& holds) {
    while (!changed.wait_for(lock, std::chrono::seconds(1), holds)) continue;
  }

  std::unique_ptr<Source> source;
  std::mutex mutex;
  std::condition_variable changed;
  std::array<Block, kBlocks> blocks;
  size_t filled = 0;  // total number of filled blocks
  size_t taken = 0;
  bool holding = false;  // the reader is using block `taken`
  bool ended = false;
  bool stopped = false;
  std::string failure;
  std::string failure_met;  // for the reader: empty until it reaches the end
  std::thread worker;
};

Input::Input(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Input::Input(Input&&) noexcept = default;
Input& Input::operator=(Input&&) noexcept = default;
Input::~Input() = default;

Result<Input> Input::open(const fs::path& path) {
  Result<std::unique_ptr<Source>> source = Source::open(path);
  if (!source.ok()) return fail(source.error());
  return Input(std::make_unique<Impl>(*std::move(source)));
}

std::string_view Input::next() { return impl_->next(); }

const std::string& Input::failure() const { return impl_->failure_met; }

double Input::share() const { return impl_->source->share(); }

Result<std::string> read_whole(const fs::path& path, size_t limit) {
  Result<Input> input = Input::open(path);
  if (!input.ok()) return fail(input.error());
  std::string content;
  for (std::string_view part = input->next(); !part.empty(); part = input->next()) {
    if (content.size() + part.size() > limit) {
      return fail(Code::kUnsupported,
                  fmt::format("{}: larger than any file of its format ({} MiB at most)",
                              path.string(), limit >> 20U));
    }
    content += part;
  }
  if (!input->failure().empty())
    return fail(Code::kDamaged, fmt::format("{}: {}", path.string(), input->failure()));
  return content;
}

Result<std::string> read_head(const fs::path& path, size_t limit) {
  const Result<std::unique_ptr<Source>> source = Source::open(path);
  if (!source.ok()) return fail(source.error());
  std::string head(limit, '\0');
  head.resize((*source)->read(head.data(), limit));
  return head;
}

}  // namespace dprof::analyzer
