// SPDX-License-Identifier: Apache-2.0
// Runs nccl_host against the test's own recorder: with the collector linked in, and, if built, with
// libdprof.so as NCCL's plugin.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collector/inject/test_support/mini_recorder.h"
#include "collector/inject/test_support/soon.h"
#include "collector/wire/enum_values.h"
#include "collector/wire/nccl_records.h"
#include "tests/support/paths.h"

namespace dprof::inject::nccl {

using Environment = std::vector<std::pair<std::string, std::string>>;

enum class How { kLinked, kPlugin };

// One kind of record, with its body decoded.
template <typename Body>
struct Seen {
  Body body;
  std::string text;
  uint64_t ticks;
  uint32_t os_tid;
  std::vector<unsigned char> more;
};

template <typename Body>
std::vector<Seen<Body>> of_kind(const std::vector<SeenRecord>& seen, wire::Kind kind) {
  std::vector<Seen<Body>> some;
  for (const SeenRecord& one : seen) {
    if (one.record.kind != kind) continue;
    some.push_back(
        {wire::body_of<Body>(one.record), one.text, one.record.ticks, one.os_tid, one.more});
  }
  return some;
}

class NcclHostTest : public ::testing::TestWithParam<How> {
 protected:
  static std::string library() { return test_support::lib_dir() + "/libdprof.so"; }

  void SetUp() override {
    if (GetParam() == How::kPlugin && !std::filesystem::exists(library())) {
      GTEST_SKIP() << "no libdprof.so in this build (sanitizers)";
    }
  }
  static std::unique_ptr<Child> run(std::vector<std::string> arguments,
                                    Environment environment = {}) {
    const bool linked = GetParam() == How::kLinked;
    arguments.insert(arguments.begin(), linked ? test_support::test_bin_dir() + "/nccl_host_linked"
                                               : test_support::test_bin_dir() + "/nccl_host");
    if (!linked) environment.emplace_back("NCCL_PROFILER_PLUGIN", library());
    return std::make_unique<Child>(arguments, environment);
  }
  std::unique_ptr<Child> record(std::vector<std::string> arguments,
                                Environment environment = {}) const {
    environment.emplace_back(wire::kSocketVariable, recorder_.path());
    return run(std::move(arguments), std::move(environment));
  }
  // Records a whole script while reading; returns everything it wrote.
  std::vector<SeenRecord> recorded(std::vector<std::string> arguments,
                                   Environment environment = {}) {
    const auto child = record(std::move(arguments), std::move(environment));
    session_ = recorder_.accept();
    if (session_ == nullptr) {
      ADD_FAILURE() << "no session";
      return {};
    }
    std::vector<SeenRecord> all;
    const auto take = [&] {
      for (SeenRecord& one : session_->drain()) all.push_back(std::move(one));
    };
    while (!session_->hung_up()) {
      take();
      usleep(2'000);
    }
    EXPECT_EQ(child->wait(), 0);
    take();
    EXPECT_EQ(session_->dropped(), 0u);
    return all;
  }

  MiniRecorder recorder_;
  std::unique_ptr<SeenSession> session_;
};

}  // namespace dprof::inject::nccl
