// SPDX-License-Identifier: Apache-2.0
// Merges the ranks' accounts, complete or not, into one truth file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dprof::trainer_harness {

// Writes `truth_file` from the ranks' files beside it (FILE.rank-R). A rank that did not finish is
// included with what it had done so far, and "ended": null. `published` are the accounts that ranks
// have sent (encode()), by rank, for ranks whose file is on another host; the text of a rank that
// has sent none is empty or missing.
//
// Removes the ranks' files once all have ended. Returns false if a rank has neither ended nor
// failed, so that more may follow. Throws std::runtime_error if there is no account at all, or the
// file cannot be written.
bool merge_truth(const std::filesystem::path& truth_file,
                 const std::vector<std::string>& published = {});

}  // namespace dprof::trainer_harness
