// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/names.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/test_support/sanitized.h"
#include "collector/recorder/common/text.h"
#include "collector/recorder/test_support/drain_fixture.h"

namespace dprof::recorder {
namespace {

class NamesTest : public DrainTest {
 protected:
  Names names_{process_.mapping(), *output_};
};

// Another process overwrites the text all the time: the result must still be valid text.
TEST_F(NamesTest, ATextThatChangesWhileItIsReadIsStillAText) {
  const std::string whole(2000, 'a');
  const uint32_t id = process_.text(whole);
  char* const text = const_cast<char*>(wire::arena_text(process_.mapping(), id).text);
  const pid_t changer = fork();
  if (changer == 0) {
    for (;;) {
      for (size_t i = 0; i + 1 < whole.size(); i += 2) std::copy_n("\xC3\xA9", 2, text + i);
      for (size_t i = 0; i + 1 < whole.size(); i += 2) std::copy_n("a\xFF", 2, text + i);
    }
  }
  int broken = 0;
  for (int i = 0; i < repetitions(20'000); ++i) {
    const std::string read = names_.text(id);
    broken += clean_text(read) == read ? 0 : 1;
  }
  kill(changer, SIGKILL);
  waitpid(changer, nullptr, 0);
  EXPECT_EQ(broken, 0);
}

TEST_F(NamesTest, MoreNamesThanATraceKeepsShareOne) {
  DPROF_SKIP_IF_SANITIZED();
  int64_t last = 0;
  for (size_t i = 1; i < Names::kMost; ++i) {  // 0 is no text
    last = names_.find(process_.text(fmt::format("n{}", i))).id;
  }
  EXPECT_EQ(names_.refused(), 0);
  const int64_t other = names_.find(process_.text("one more")).id;
  EXPECT_NE(other, last);
  EXPECT_EQ(names_.find(process_.text("and one more")).id, other);
  EXPECT_EQ(names_.refused(), 2);
  EXPECT_EQ(names_.find(process_.text("n1")).id, other) << "another id of a known text";
  const schema::TraceReader trace = read();
  EXPECT_EQ(trace.string(other), Names::kOtherNames);
}

}  // namespace
}  // namespace dprof::recorder
