// SPDX-License-Identifier: Apache-2.0
// Compiled into each target's test: gives it the inputs of its corpus, then changed ones.
//
//   DPROF_FUZZ_SECONDS   how long (default: 3 with AddressSanitizer, else 1)
//   DPROF_FUZZ_SEED      of the changes (default 1)
//   DPROF_FUZZ_INPUT     a file that always holds the latest input: what is left there is to blame
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/in_time.h"
#include "tests/support/paths.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kLongest = 1 << 17;
constexpr auto kSlow = std::chrono::seconds(20);  // one input that takes so long is a fault, too

#ifdef __SANITIZE_ADDRESS__
constexpr int64_t kDefaultSeconds = dprof::fuzz::kBudget.count();
#else
constexpr int64_t kDefaultSeconds = 1;
#endif

int64_t number_of(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

std::vector<std::string> read_corpus() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(dprof::test_support::source_dir() +
                                                               "/tests/fuzz/corpus/" DPROF_FUZZ)) {
    files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<std::string> inputs;
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

// Survives this process: a sanitizer ends it within the target.
class LatestInput {
 public:
  LatestInput() {
    const char* path = std::getenv("DPROF_FUZZ_INPUT");
    if (path == nullptr) return;
    file_ = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  }
  ~LatestInput() {
    if (file_ >= 0) close(file_);
  }
  LatestInput(const LatestInput&) = delete;
  LatestInput& operator=(const LatestInput&) = delete;

  void keep(const std::string& input) const {
    if (file_ < 0) return;
    ASSERT_EQ(ftruncate(file_, 0), 0);
    ASSERT_EQ(pwrite(file_, input.data(), input.size(), 0), static_cast<ssize_t>(input.size()));
  }

 private:
  int file_ = -1;
};

class Changer {
 public:
  Changer(const std::vector<std::string>& corpus, uint64_t seed) : corpus_(corpus), random_(seed) {}

  std::string next() {
    std::string input = any();
    for (uint64_t changes = 1 + (up_to(8) * up_to(8)) / 8; changes > 0; --changes) change(input);
    if (input.size() > kLongest) input.resize(kLongest);
    return input;
  }

 private:
  uint64_t up_to(uint64_t size) { return size == 0 ? 0 : random_() % size; }
  const std::string& any() { return corpus_[up_to(corpus_.size())]; }
  std::string part_of(const std::string& text) {
    const uint64_t begin = up_to(text.size());
    return text.substr(begin, 1 + up_to(std::min<uint64_t>(text.size() - begin, 200)));
  }

  void change(std::string& input) {
    const uint64_t at = up_to(input.size());
    switch (random_() % 8) {
      case 0:  // a bit
        if (!input.empty()) input[at] = static_cast<char>(input[at] ^ (1 << up_to(8)));
        break;
      case 1:  // a byte
        if (!input.empty()) input[at] = static_cast<char>(random_());
        break;
      case 2:  // a number, little-endian, of a size that may matter
        put_number(input, at);
        break;
      case 3:  // less
        input.erase(at, 1 + up_to(up_to(input.size() - at)));
        break;
      case 4:  // a part again
        if (!input.empty()) input.insert(at, part_of(input));
        break;
      case 5:  // a part of another
        input.insert(at, part_of(any()));
        break;
      case 6:  // over what is there
        if (const std::string part = part_of(any()); at + part.size() <= input.size()) {
          input.replace(at, part.size(), part);
        }
        break;
      default:  // digits
        put_digits(input, at);
        break;
    }
  }
  void put_number(std::string& input, uint64_t at) {
    constexpr uint64_t kNumbers[] = {0,          1,          0x7f,       0xff,          0x7fff,
                                     0xffff,     0x10000,    0x7fffffff, 0xffffffff,    1ull << 32,
                                     1ull << 40, 1ull << 62, 1ull << 63, INT64_MAX - 1, UINT64_MAX};
    const uint64_t number = kNumbers[up_to(std::size(kNumbers))];
    const size_t bytes = size_t{1} << up_to(4);
    if (at + bytes <= input.size()) std::memcpy(input.data() + at, &number, bytes);
  }
  void put_digits(std::string& input, uint64_t at) {
    const size_t from = input.find_first_of("0123456789", at);
    if (from == std::string::npos) return;
    constexpr const char* kTexts[] = {"-1",
                                      "0",
                                      "9223372036854775807",
                                      "18446744073709551616",
                                      "1e99",
                                      "0.1",
                                      "4294967296",
                                      "",
                                      "null",
                                      "[]",
                                      "-0"};
    const size_t to = std::min(input.find_first_not_of("0123456789", from), input.size());
    input.replace(from, to - from, kTexts[up_to(std::size(kTexts))]);
  }

  const std::vector<std::string>& corpus_;
  std::mt19937_64 random_;
};

TEST(CorpusFuzzTest, InputsOfTheCorpusAndChangedOnesDoNoHarm) {
  const std::vector<std::string> corpus = read_corpus();
  ASSERT_GE(corpus.size(), 2u);
  const LatestInput latest;
  const auto give = [&](const std::string& input) {
    latest.keep(input);
    const auto begin = Clock::now();
    ASSERT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size()),
              0);
    ASSERT_LT(Clock::now() - begin, kSlow);
  };
  for (const std::string& input : corpus) give(input);
  Changer changer(corpus, static_cast<uint64_t>(number_of("DPROF_FUZZ_SEED", 1)));
  const auto until =
      Clock::now() + std::chrono::seconds(number_of("DPROF_FUZZ_SECONDS", kDefaultSeconds));
  int64_t inputs = 0;
  while (Clock::now() < until && !HasFailure()) {
    give(changer.next());
    ++inputs;
  }
  RecordProperty("inputs", std::to_string(inputs));
  std::printf("%s: %lld inputs\n", DPROF_FUZZ, static_cast<long long>(inputs));
}

}  // namespace
