// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <random>
#include <string_view>
#include <thread>
#include <utility>

#include "analyzer/digest/bytes.h"
#include "analyzer/digest/shift.h"
#include "schema/trace_reader.h"

namespace dprof::analyzer {
namespace {

namespace fs = std::filesystem;

// --- the trace ---

int64_t ns_of(const timespec& time) { return time.tv_sec * kNsPerSecond + time.tv_nsec; }

// Identifies an unchanged file without reading it.
struct Stamp {
  std::string text;
  int64_t changed_ns = 0;  // its last change, by its file system
  dev_t disk = 0;

  // Resolution of that time: two changes within it are indistinguishable. Some file systems count
  // whole seconds, others ticks of the kernel's clock.
  [[nodiscard]] int64_t granule_ns() const {
    return changed_ns % kNsPerSecond == 0 ? 2 * kNsPerSecond : kNsPerSecond / 10;
  }
};

// nullopt = unreadable, or SQLite's log beside it has further changes.
std::optional<Stamp> stamp_of(const fs::path& path) {
  struct stat log {};
  if (stat((path.string() + "-wal").c_str(), &log) == 0 && log.st_size > 0) return std::nullopt;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  constexpr off_t kChangeCounterAt = 24;  // incremented by SQLite at each change
  uint8_t counter[4] = {};
  struct stat status {};
  const bool good = fstat(file, &status) == 0 &&
                    pread(file, counter, sizeof counter, kChangeCounterAt) == sizeof counter;
  close(file);
  if (!good) return std::nullopt;
  const int64_t modified = ns_of(status.st_mtim);
  const int64_t changed = ns_of(status.st_ctim);  // cannot be set by programs
  return Stamp{fmt::format("{}:{}:{}:{:02x}{:02x}{:02x}{:02x}", status.st_size, modified, changed,
                           counter[0], counter[1], counter[2], counter[3]),
               std::max(modified, changed), status.st_dev};
}

// Hash of the whole file; nullopt = unreadable.
std::optional<std::string> hash_of(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  struct stat status {};
  std::optional<std::string> hash;
  if (fstat(file, &status) == 0 && status.st_size > 0) {
    const auto size = static_cast<size_t>(status.st_size);
    void* content = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (content != MAP_FAILED) {
      madvise(content, size, MADV_SEQUENTIAL);
      const XXH128_hash_t sum = XXH3_128bits(content, size);
      munmap(content, size);
      hash = fmt::format("{:016x}{:016x}", sum.high64, sum.low64);
    }
  }
  close(file);
  return hash;
}

// --- the digest's file ---

fs::path user_cache() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return fs::path(cache) / "dprof" / "digest";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return fs::path(home) / ".cache" / "dprof" / "digest";
}

// Possible places of a digest, the preferred one first.
std::vector<fs::path> places_of(const fs::path& trace) {
  const fs::path beside = trace.parent_path() / ".digest" / (trace.filename().string() + ".digest");
  std::vector<fs::path> places = {beside};
  if (const fs::path user = user_cache(); !user.empty()) {
    std::error_code error;
    const std::string whole = fs::absolute(trace, error).lexically_normal().string();
    places.push_back(user / fmt::format("{:016x}.digest", XXH3_64bits(whole.data(), whole.size())));
  }
  return places;
}

// A line with the code's fingerprint, the trace's hash and its stamp; a checksum of that line and
// of the digest, of kSumLength characters; the digest. Nothing is trusted before the checksum is
// verified: a damaged file could request any amount of memory, or give wrong figures.
struct Kept {
  std::string hash;
  std::string stamp;  // kNoStamp: not conclusive
  std::string bytes;
};
constexpr char kNoStamp[] = "-";
constexpr size_t kSumLength = 16;

std::string first_words() { return fmt::format("dprof digest {} ", kDigestFingerprint); }

std::string sum_of(std::string_view line, std::string_view bytes) {
  return fmt::format("{:016x}", XXH3_64bits_withSeed(bytes.data(), bytes.size(),
                                                     XXH3_64bits(line.data(), line.size())));
}

std::optional<Kept> load(const fs::path& path) {
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  std::string text = first_words();
  if (error || size < text.size() + kSumLength) return std::nullopt;
  const std::string ours = text;
  std::ifstream file(path, std::ios::binary);
  if (!file.read(text.data(), static_cast<std::streamsize>(text.size())) || text != ours)
    return std::nullopt;
  text.resize(size);
  const size_t rest = size - ours.size();
  if (!file.read(text.data() + ours.size(), static_cast<std::streamsize>(rest)))
    return std::nullopt;
  const size_t line = text.find('\n');
  const size_t between = text.find(' ', ours.size());
  if (line == std::string::npos || between > line || size - line - 1 < kSumLength)
    return std::nullopt;
  const std::string_view whole = text;
  const size_t begin = line + 1 + kSumLength;
  if (whole.substr(line + 1, kSumLength) != sum_of(whole.substr(0, line), whole.substr(begin)))
    return std::nullopt;
  Kept kept{text.substr(ours.size(), between - ours.size()),
            text.substr(between + 1, line - between - 1), std::move(text)};
  kept.bytes.erase(0, begin);
  return kept;
}

// Written beside and renamed: readers see a whole file or none. It is created before the trace is
// read, so its time shows the file system's clock at that moment.
class Draft {
 public:
  explicit Draft(const std::vector<fs::path>& places) {
    for (const fs::path& place : places) {
      std::error_code ignored;
      fs::create_directories(place.parent_path(), ignored);
      place_ = place;
      part_ = fmt::format("{}.{:08x}.part", place.string(), std::random_device{}());
      file_ = std::fopen(part_.c_str(), "wxe");
      if (file_ != nullptr) break;
    }
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() {
    if (file_ == nullptr) return;
    std::fclose(file_);
    std::remove(part_.c_str());
  }

  // How much longer another change of the trace would not show in its stamp: the resolution minus
  // the time since its last change. Only a draft begun after that can rely on the stamp.
  [[nodiscard]] int64_t too_early_by_ns(const Stamp& trace) const {
    constexpr int64_t kOtherClockNs = 3600 * kNsPerSecond;  // of another disk
    struct stat own {};
    if (file_ == nullptr || fstat(fileno(file_), &own) != 0) return kOtherClockNs;
    const int64_t margin = own.st_dev == trace.disk ? trace.granule_ns() : kOtherClockNs;
    return std::max<int64_t>(0, margin - (ns_of(own.st_mtim) - trace.changed_ns));
  }
  [[nodiscard]] bool is_open() const { return file_ != nullptr; }

  bool keep(const Kept& kept) {
    if (file_ == nullptr) return false;
    const std::string line = fmt::format("{}{} {}", first_words(), kept.hash, kept.stamp);
    const std::string head = fmt::format("{}\n{}", line, sum_of(line, kept.bytes));
    bool good = std::fwrite(head.data(), 1, head.size(), file_) == head.size() &&
                std::fwrite(kept.bytes.data(), 1, kept.bytes.size(), file_) == kept.bytes.size();
    good = std::fclose(std::exchange(file_, nullptr)) == 0 && good;
    if (good && std::rename(part_.c_str(), place_.c_str()) == 0) return true;
    std::remove(part_.c_str());
    return false;
  }

 private:
  fs::path place_;
  fs::path part_;
  std::FILE* file_ = nullptr;
};

// --- the two together ---

// The trace has not changed since the draft was begun, and its stamp proves it.
bool is_sure_of(const Draft& draft, const Stamp& stamp, const fs::path& trace) {
  if (draft.too_early_by_ns(stamp) > 0) return false;
  const std::optional<Stamp> now = stamp_of(trace);
  return now && now->text == stamp.text;
}

// The stored digest of a trace, if it matches the trace's present content.
std::optional<std::string> find_digest(const fs::path& trace) {
  const std::optional<Stamp> stamp = stamp_of(trace);
  if (!stamp) return std::nullopt;
  for (const fs::path& place : places_of(trace)) {
    std::optional<Kept> kept = load(place);
    if (!kept) continue;
    if (kept->stamp == stamp->text) return std::move(kept->bytes);
    Draft draft({place});
    if (hash_of(trace) != kept->hash) continue;
    if (is_sure_of(draft, *stamp, trace)) {
      kept->stamp = stamp->text;
      draft.keep(*kept);
    }
    return std::move(kept->bytes);
  }
  return std::nullopt;
}

// As stored: in no run.
Result<RankDigest> digest_alone(const fs::path& trace) {
  TraceFile file;
  file.path = trace;
  return digest_rank(file);
}

struct Made {
  RankDigest digest;
  std::string bytes;
  bool kept = false;
};

// Of a finished trace.
Result<Made> make_digest(const fs::path& trace, Draft& draft) {
  const std::optional<Stamp> stamp = draft.is_open() ? stamp_of(trace) : std::nullopt;
  const std::optional<std::string> hash = stamp ? hash_of(trace) : std::nullopt;
  Result<RankDigest> digest = digest_alone(trace);
  if (!digest.ok()) return fail(digest.error());
  Made made{*std::move(digest), {}, false};
  made.bytes = bytes_of(made.digest);
  // If the trace was changed meanwhile, it is unknown what was read. If its stamp would not show
  // that, the content must prove that it did not change, now and at each later use.
  const bool sure = hash && is_sure_of(draft, *stamp, trace);
  if (!hash || (!sure && hash_of(trace) != hash)) return made;
  made.kept = draft.keep({*hash, sure ? stamp->text : kNoStamp, made.bytes});
  return made;
}

void put_in_run(RankDigest& digest, const TraceFile& trace) {
  digest.rank = trace.rank;
  shift_times(digest, trace.shift_ns);
}

}  // namespace

std::optional<RankDigest> digest_in_run(std::string_view bytes, const TraceFile& trace) {
  std::optional<RankDigest> digest = digest_of(bytes);
  if (digest) put_in_run(*digest, trace);
  return digest;
}

Result<RankDigest> cached_digest(const TraceFile& trace) {
  if (trace.ended.empty()) return digest_rank(trace);
  if (std::optional<std::string> bytes = find_digest(trace.path)) {
    if (std::optional<RankDigest> digest = digest_in_run(*bytes, trace)) return *std::move(digest);
  }
  Draft draft(places_of(trace.path));
  Result<Made> made = make_digest(trace.path, draft);
  if (!made.ok()) return fail(made.error());
  put_in_run(made->digest, trace);
  return std::move(made->digest);
}

Result<std::string> digest_bytes(const TraceFile& trace, bool cache) {
  if (!cache || trace.ended.empty()) {
    const Result<RankDigest> digest = digest_alone(trace.path);
    if (!digest.ok()) return fail(digest.error());
    return bytes_of(*digest);
  }
  if (std::optional<std::string> bytes = find_digest(trace.path)) return *std::move(bytes);
  Draft draft(places_of(trace.path));
  Result<Made> made = make_digest(trace.path, draft);
  if (!made.ok()) return fail(made.error());
  return std::move(made->bytes);
}

Result<Keeping> keep_digest(const fs::path& trace) {
  if (find_digest(trace)) return Keeping::kThere;
  {
    const Result<schema::TraceReader> reader = schema::TraceReader::open(trace);
    if (!reader.ok()) return fail(reader.error());
    if (reader->meta("ended").value_or("").empty()) return Keeping::kUnfinished;
  }
  const std::vector<fs::path> places = places_of(trace);
  std::optional<Draft> draft(std::in_place, places);
  if (const std::optional<Stamp> stamp = stamp_of(trace)) {
    // File times lag: by a tick of the kernel's clock, or by as long as a virtual machine was
    // suspended. So a trace can seem slightly newer than now, and one attempt may not be enough.
    constexpr int64_t kTickNs = 20 * kNsPerMs;
    for (int attempt = 0; attempt < 5; ++attempt) {
      const int64_t early = draft->too_early_by_ns(*stamp);
      if (early <= 0 || early > stamp->granule_ns() + kTickNs) break;
      std::this_thread::sleep_for(std::chrono::nanoseconds(early + kTickNs));
      draft.emplace(places);
    }
  }
  const Result<Made> made = make_digest(trace, *draft);
  if (!made.ok()) return fail(made.error());
  return made->kept ? Keeping::kMade : Keeping::kNoPlace;
}

}  // namespace dprof::analyzer
