// SPDX-License-Identifier: Apache-2.0
#include "cli/subcommand.h"

namespace dprof::cli {

std::vector<std::unique_ptr<Subcommand>> all_subcommands() {
  std::vector<std::unique_ptr<Subcommand>> all;
  all.push_back(make_record());
  all.push_back(make_report());
  all.push_back(make_import());
  all.push_back(make_gui());
  all.push_back(make_recover());
  all.push_back(make_doctor());
  all.push_back(make_ctl());
  return all;
}

}  // namespace dprof::cli
