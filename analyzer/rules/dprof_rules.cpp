// SPDX-License-Identifier: Apache-2.0
// Generates docs/rules.md from the tables of rules.
#include <fmt/format.h>

#include <string_view>

#include "analyzer/rules/rules.h"

int main(int argc, char** argv) {
  if (argc != 2 || std::string_view(argv[1]) != "docs") {
    fmt::print(stderr, "usage: dprof-rules docs > docs/rules.md\n");
    return 2;
  }
  fmt::print("{}", dprof::analyzer::rules_page());
  return 0;
}
