// SPDX-License-Identifier: Apache-2.0
#include "cli/option_variables.h"

#include <gmock/gmock.h>

#include "cli/test_support/process.h"

namespace dprof::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Options {
  Options() {
    app.add_option("-n,--ranks", ranks);
    app.add_option("--on-hang", on_hang);
    app.add_flag("--armed", armed);
    app.add_option("COMMAND", command);
    set_from_variables(app, "DPROF_TEST_");
  }
  CLI::App app;
  int ranks = 0;
  bool armed = false;
  std::string on_hang, command;
};

TEST(OptionVariablesTest, LongNamesInCapitals) {
  const Options options;
  EXPECT_EQ(options.app.get_option("-n")->get_envname(), "DPROF_TEST_RANKS");
  EXPECT_EQ(options.app.get_option("--on-hang")->get_envname(), "DPROF_TEST_ON_HANG");
  EXPECT_EQ(options.app.get_option("COMMAND")->get_envname(), "");
  EXPECT_EQ(options.app.get_option("--help")->get_envname(), "");
}

TEST(OptionVariablesTest, ReportsNamesThatSetNothing) {
  const Options options;
  const char* environment[] = {"DPROF_TEST_RANKS=2", "DPROF_TEST_ON_HANK=x", "DPROF_TEST_FOO=1",
                               "DPROF_OTHER=1", nullptr};
  EXPECT_THAT(strange_variables(options.app, "DPROF_TEST_", environment),
              ElementsAre("DPROF_TEST_ON_HANK sets no option; did you mean DPROF_TEST_ON_HANG?",
                          "DPROF_TEST_FOO sets no option"));
}

Ended record_with(const std::vector<std::string>& variables,
                  const std::vector<std::string>& options) {
  const TemporaryFolder scratch;
  std::vector<std::string> command{"/usr/bin/env"};
  command.insert(command.end(), variables.begin(), variables.end());
  command.push_back(kDprof);
  command.push_back("record");
  command.insert(command.end(), options.begin(), options.end());
  for (const char* word : {"--", "/bin/sh", "-c", "echo rank $RANK"}) command.emplace_back(word);
  Running running(scratch, command);
  const int code = running.wait();
  return {code, running.out(), running.err()};
}

TEST(OptionVariablesTest, OtherVerbsDoNotSeeThem) {
  const TemporaryFolder scratch;
  Running running(scratch, {"/usr/bin/env", "DPROF_RECORD_DETAIL=most", kDprof, "report", "none"});
  EXPECT_EQ(running.wait(), 3) << running.err();
}

TEST(OptionVariablesTest, RecordTakesThem) {
  const Ended two = record_with({"DPROF_RECORD_RANKS=2", "DPROF_RECORD_OUTPUT=r-%p"}, {});
  EXPECT_THAT(two.out, AllOf(HasSubstr("[0] rank 0"), HasSubstr("[1] rank 1")));
  EXPECT_THAT(record_with({"DPROF_RECORD_RANKS=2"}, {"-n", "1", "-o", "r"}).out,
              Not(HasSubstr("[1]")))
      << "the command line wins";
  EXPECT_EQ(record_with({"DPROF_RECORD_DETAIL=most"}, {}).code, 2);
  const Ended both = record_with({"DPROF_RECORD_ARMED=1"}, {"--steps", "1:2", "-o", "r"});
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, HasSubstr("set by the environment: DPROF_RECORD_ARMED"));
  EXPECT_THAT(record_with({"DPROF_RECORD_DETAILS=full"}, {"-o", "r"}).err,
              HasSubstr("did you mean DPROF_RECORD_DETAIL?"));
  EXPECT_THAT(record_with({"DPROF_RECORD_ARMED=0"}, {"-o", "r"}).err, Not(HasSubstr("ARMED")));
}

}  // namespace
}  // namespace dprof::cli
