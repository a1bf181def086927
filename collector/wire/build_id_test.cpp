// SPDX-License-Identifier: Apache-2.0
#include "collector/wire/build_id.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstring>
#include <string>
#include <vector>

namespace dprof::wire {
namespace {

std::vector<unsigned char> note(const std::string& name, uint32_t type,
                                const std::vector<unsigned char>& value) {
  const ElfW(Nhdr)
      header{static_cast<uint32_t>(name.size() + 1), static_cast<uint32_t>(value.size()), type};
  std::vector<unsigned char> bytes(sizeof header);
  memcpy(bytes.data(), &header, sizeof header);
  for (const char c : name) bytes.push_back(static_cast<unsigned char>(c));
  bytes.push_back(0);
  while (bytes.size() % 4 != 0) bytes.push_back(0);
  for (const unsigned char c : value) bytes.push_back(c);
  while (bytes.size() % 4 != 0) bytes.push_back(0);
  return bytes;
}

std::string build_id(const std::vector<unsigned char>& notes, uint32_t room = 129) {
  std::string hex(room, '?');
  read_build_id(notes.data(), notes.size(), hex.data(), room);
  return hex.c_str();
}

TEST(BuildId, IsReadFromItsNote) {
  EXPECT_EQ(build_id(note("GNU", NT_GNU_BUILD_ID, {0x27, 0x4a, 0xde, 0x0e})), "274ade0e");
  EXPECT_EQ(build_id({}), "");
}

TEST(BuildId, OtherNotesAreSkipped) {
  std::vector<unsigned char> notes = note("GNU", NT_GNU_ABI_TAG, {1, 2, 3, 4, 5});
  const auto other = note("stapsdt", NT_GNU_BUILD_ID, {9});
  const auto wanted = note("GNU", NT_GNU_BUILD_ID, {0xab});
  notes.insert(notes.end(), other.begin(), other.end());
  notes.insert(notes.end(), wanted.begin(), wanted.end());
  EXPECT_EQ(build_id(notes), "ab");
}

TEST(BuildId, DamagedNotesGiveNone) {
  const auto whole = note("GNU", NT_GNU_BUILD_ID, {1, 2, 3, 4, 5, 6, 7, 8});
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const std::vector<unsigned char> cut(whole.begin(),
                                         whole.begin() + static_cast<std::ptrdiff_t>(bytes));
    EXPECT_EQ(build_id(cut), "") << bytes << " bytes of it";
  }
  for (const uint32_t wrong : {0xffffffffu, 0xfffffffcu, 0x80000000u}) {
    auto sizes = whole;
    memcpy(sizes.data(), &wrong, sizeof wrong);
    EXPECT_EQ(build_id(sizes), "");
    sizes = whole;
    memcpy(sizes.data() + 4, &wrong, sizeof wrong);
    EXPECT_EQ(build_id(sizes), "");
  }
  EXPECT_EQ(build_id(whole, 16), "") << "no room for 16 digits and the end";
}

}  // namespace
}  // namespace dprof::wire
