// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cereal/archives/binary.hpp>
#include <cereal/types/array.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/vector.hpp>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <type_traits>

#include "analyzer/digest/digest_fingerprint.h"
#include "base/fields.h"

// How a digest is written to a file and read back (cereal): every field of every struct in it, so
// that none can be forgotten.
namespace dprof {

template <typename Archive>
void save(Archive& archive, const LogHistogram& h) {
  archive(h.first(), std::vector<uint32_t>(h.counts().begin(), h.counts().end()));
}
template <typename Archive>
void load(Archive& archive, LogHistogram& h) {
  size_t first = 0;
  std::vector<uint32_t> counts;
  archive(first, counts);
  h = LogHistogram(first, std::move(counts));
}

template <typename T>
concept Fields = std::is_aggregate_v<T> && !requires {
  std::tuple_size<T>::value;
};  // no array

template <typename Archive, Fields T>
void serialize(Archive& archive, T& value) {
  for_each_field(value, [&](auto& field) { archive(field); });
}

namespace analyzer {
using dprof::serialize;  // found by the arguments' namespace
}

}  // namespace dprof

namespace dprof::analyzer {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[] = "dprof digest " DPROF_DIGEST_FINGERPRINT;

// Of the whole file; nullopt = it cannot be read.
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

fs::path user_cache() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return fs::path(cache) / "dprof" / "digest";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return fs::path(home) / ".cache" / "dprof" / "digest";
}

// Where a digest may stand, the preferred place first.
std::vector<fs::path> places_of(const TraceFile& trace, const std::string& hash) {
  std::vector<fs::path> places = {trace.path.parent_path() / ".digest" /
                                  (trace.path.filename().string() + ".digest")};
  if (const fs::path user = user_cache(); !user.empty())
    places.push_back(user / (hash + ".digest"));
  return places;
}

// The key and a new line; the sum of what follows, of kSumLength characters; the digest. No length
// is read from the file before the sum has said that it is whole: a damaged one could ask for any
// memory, and a damaged digest lead to wrong figures.
constexpr size_t kSumLength = 16;

std::string sum_of(std::string_view content) {
  return fmt::format("{:016x}", XXH3_64bits(content.data(), content.size()));
}

std::optional<RankDigest> load(const fs::path& path, const std::string& key) {
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  const size_t before = key.size() + 1 + kSumLength;
  if (error || size <= before) return std::nullopt;
  try {
    std::ifstream file(path, std::ios::binary);
    std::string head(before, '\0');
    if (!file.read(head.data(), static_cast<std::streamsize>(before))) return std::nullopt;
    if (!head.starts_with(key) || head[key.size()] != '\n') return std::nullopt;
    std::string content(size - before, '\0');
    if (!file.read(content.data(), static_cast<std::streamsize>(content.size())))
      return std::nullopt;
    if (head.substr(key.size() + 1) != sum_of(content)) return std::nullopt;
    std::istringstream stream(std::move(content));
    cereal::BinaryInputArchive archive(stream);
    RankDigest digest;
    archive(digest);
    return digest;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

// Written beside and renamed: readers see a whole file or none.
bool store(const fs::path& path, const std::string& key, const RankDigest& digest) {
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  const fs::path part = fmt::format("{}.{}.part", path.string(), getpid());
  try {
    std::ostringstream stream;
    cereal::BinaryOutputArchive archive(stream);
    archive(digest);
    const std::string content = std::move(stream).str();
    std::ofstream file(part, std::ios::binary | std::ios::trunc);
    if (!file) return false;
    file << key << '\n' << sum_of(content) << content;
    file.close();
    if (file.good()) fs::rename(part, path, ignored);
    if (file.good() && !ignored) return true;
  } catch (const std::exception&) {
  }
  fs::remove(part, ignored);
  return false;
}

}  // namespace

Result<RankDigest> cached_digest(const TraceFile& trace) {
  if (trace.ended.empty()) return digest_rank(trace);
  const std::optional<std::string> hash = hash_of(trace.path);
  if (!hash) return digest_rank(trace);
  const std::string key = fmt::format("{} {} {} {}", kMagic, *hash, trace.rank, trace.shift_ns);
  const std::vector<fs::path> places = places_of(trace, *hash);
  for (const fs::path& place : places) {
    if (std::optional<RankDigest> digest = load(place, key)) return *std::move(digest);
  }
  Result<RankDigest> digest = digest_rank(trace);
  if (!digest.ok()) return digest;
  for (const fs::path& place : places) {
    if (store(place, key, *digest)) break;
  }
  return digest;
}

}  // namespace dprof::analyzer
