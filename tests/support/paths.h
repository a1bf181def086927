// SPDX-License-Identifier: Apache-2.0
// Folders of this build and its sources. Only paths.cpp knows them, so that ccache finds the
// objects of tests again in another clone.
#pragma once

#include <string>

namespace dprof::test_support {

std::string source_dir();
std::string bin_dir();
std::string lib_dir();
std::string test_bin_dir();  // programs that tests start

}  // namespace dprof::test_support
