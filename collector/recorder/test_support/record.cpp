// SPDX-License-Identifier: Apache-2.0
// Records a command as `dprof record -o FOLDER -- COMMAND …` does, without the rest of dprof:
// recorder_record FOLDER COMMAND …
#include "collector/recorder/recording/record.h"

#include <fmt/format.h>

namespace dprof::recorder {
namespace {

int account(const RecordOutcome& recorded) {
  for (const auto* list : {&recorded.diagnostics, &recorded.troubles_of_traces}) {
    for (const RunDiagnostic& one : *list) fmt::print(stderr, "{}: {}\n", one.code, one.text);
  }
  if (recorded.command_code != 0) return recorded.command_code;
  return recorded.lost > 0 ? 5 : 0;
}

}  // namespace
}  // namespace dprof::recorder

int main(int count, char** arguments) {
  using namespace dprof;
  if (count < 3) return 2;
  recorder::RecordOptions options;
  options.folder = arguments[1];
  options.command = {arguments + 2, arguments + count};
  options.say = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  const Result<int> code = recorder::record(options, recorder::account);
  if (code.ok()) return *code;
  fmt::print(stderr, "{}\n", code.error().what);
  return 1;
}
