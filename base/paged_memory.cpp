// SPDX-License-Identifier: Apache-2.0
#include "base/paged_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>

namespace dprof {
namespace {

constexpr size_t kReserved = size_t{1} << 38;  // addresses, of which most are never used
constexpr size_t kGrowth = size_t{64} << 20;
constexpr size_t kBlock = size_t{1} << 20;  // that a thread takes at once
constexpr size_t kAlignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
constexpr uint64_t kLeftFree = 20;  // one part in so many of the disk

// A new file without a name in that folder; -1: no such folder, or it is itself memory.
int nameless_file(const char* folder) {
  struct statfs system {};
  if (folder == nullptr || statfs(folder, &system) != 0) return -1;
  if (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC) return -1;
  const int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  std::string name = std::string(folder) + "/dprof-XXXXXX";  // not all file systems have the former
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

// Whether the file may grow, and other programs would still have room on its disk.
bool has_room_for(int file, size_t size, size_t more) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < size + more) return false;
  struct statfs disk {};
  if (fstatfs(file, &disk) != 0) return false;
  const auto block = static_cast<uint64_t>(disk.f_bsize);
  return disk.f_bavail * block >= more + disk.f_blocks * block / kLeftFree;
}

// Addresses that never move, backed by a file that grows. Made when it is first needed and never
// destroyed: what lies in it may outlive everything else.
class PagedFile {
 public:
  // nullptr: no place.
  void* allocate(size_t size);
  [[nodiscard]] bool holds(const void* at) const {
    const char* begin = begin_.load(std::memory_order_acquire);
    return begin != nullptr && at >= begin && at < begin + kReserved;
  }
  [[nodiscard]] size_t used() const { return used_.load(std::memory_order_relaxed); }
  void let_go() const;
  void read_in_order(int more) {
    in_order_ += more;
    advise(in_order_ > 0);
  }

 private:
  char* take(size_t size);
  void open_file();
  bool back_until(size_t size);
  void advise(bool neighbours) const;

  std::mutex mutex_;  // of opening, growing and taking
  bool opened_ = false;
  int file_ = -1;
  std::atomic<char*> begin_ = nullptr;
  std::atomic<size_t> backed_ = 0;
  std::atomic<size_t> used_ = 0;
  std::atomic<int> in_order_ = 0;
};

// A thread's own part of it.
struct PagedBlock {
  char* next = nullptr;
  char* end = nullptr;
};

constinit PagedFile paged_file;
thread_local constinit PagedBlock paged_block;
thread_local constinit int paged_scopes = 0;

void* PagedFile::allocate(size_t size) {
  if (size > kReserved) return nullptr;
  size = (std::max<size_t>(size, 1) + kAlignment - 1) / kAlignment * kAlignment;
  if (size > kBlock / 4) return take(size);
  PagedBlock& block = paged_block;
  if (static_cast<size_t>(block.end - block.next) < size) {
    char* fresh = take(kBlock);
    if (fresh == nullptr) return nullptr;
    block = {fresh, fresh + kBlock};
  }
  char* mine = block.next;
  block.next += size;
  return mine;
}

char* PagedFile::take(size_t size) {
  const std::lock_guard lock(mutex_);
  if (!opened_) open_file();
  const size_t begin = used_.load(std::memory_order_relaxed);
  if (file_ < 0 || size > kReserved - begin || !back_until(begin + size)) return nullptr;
  used_.store(begin + size, std::memory_order_relaxed);
  return begin_.load(std::memory_order_relaxed) + begin;
}

void PagedFile::open_file() {
  opened_ = true;
  const char* of_user = std::getenv("TMPDIR");
  for (const char* folder : {of_user, "/var/tmp", "/tmp"}) {
    if (file_ < 0) file_ = nameless_file(folder);
  }
  if (file_ < 0) return;
  void* reserved =
      mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved != MAP_FAILED) {
    begin_.store(static_cast<char*>(reserved), std::memory_order_release);
  } else {
    close(file_);
    file_ = -1;
  }
}

// The disk's blocks are taken here: writing to a page without one would kill the process.
bool PagedFile::back_until(size_t size) {
  size_t backed = backed_.load(std::memory_order_relaxed);
  while (backed < size) {
    const size_t more = std::max(kGrowth, (size - backed + kGrowth - 1) / kGrowth * kGrowth);
    if (!has_room_for(file_, backed, more) ||
        posix_fallocate(file_, static_cast<off_t>(backed), static_cast<off_t>(more)) != 0)
      return false;
    void* at = mmap(begin_.load(std::memory_order_relaxed) + backed, more, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_FIXED, file_, static_cast<off_t>(backed));
    if (at == MAP_FAILED) return false;
    backed += more;
    backed_.store(backed, std::memory_order_relaxed);
  }
  return true;
}

void PagedFile::let_go() const {
  char* begin = begin_.load(std::memory_order_acquire);
  if (begin == nullptr) return;
  advise(in_order_.load(std::memory_order_relaxed) > 0);
  madvise(begin, backed_.load(std::memory_order_relaxed), MADV_DONTNEED);
}

// By default a page that is missed brings its neighbours (8 MB, on some systems). They are what is
// needed next while the file is new or read in order, and otherwise push that out.
void PagedFile::advise(bool neighbours) const {
  const size_t filled = used() / kGrowth * kGrowth;
  char* begin = begin_.load(std::memory_order_acquire);
  if (filled > 0) madvise(begin, filled, neighbours ? MADV_NORMAL : MADV_RANDOM);
}

}  // namespace

AllocatePaged::AllocatePaged() { ++paged_scopes; }
AllocatePaged::~AllocatePaged() { --paged_scopes; }

ReadPagedInOrder::ReadPagedInOrder() { paged_file.read_in_order(1); }
ReadPagedInOrder::~ReadPagedInOrder() { paged_file.read_in_order(-1); }

size_t paged_bytes() { return paged_file.used(); }

void let_go_of_paged_memory() { paged_file.let_go(); }

}  // namespace dprof

// The program's own; new[] and delete[] call these.

void* operator new(size_t size, const std::nothrow_t& /*tag*/) noexcept {
  if (dprof::paged_scopes > 0) {
    if (void* paged = dprof::paged_file.allocate(size)) return paged;
  }
  return std::malloc(std::max<size_t>(size, 1));
}

void* operator new(size_t size) {
  while (true) {
    if (void* memory = operator new(size, std::nothrow)) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void operator delete(void* memory) noexcept {
  if (!dprof::paged_file.holds(memory)) std::free(memory);
}
void operator delete(void* memory, size_t /*size*/) noexcept { operator delete(memory); }
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept {
  operator delete(memory);
}
