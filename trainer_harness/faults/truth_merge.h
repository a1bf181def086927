// SPDX-License-Identifier: Apache-2.0
// Makes one truth of the ranks' own accounts, whole or not.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dprof::trainer_harness {

// Writes `truth_file` from the ranks' files beside it (FILE.rank-R). A rank that did not come to
// its end is there with what it had done until then, and "ended": null. `published` are the
// accounts that ranks have sent (encode()), by rank, for those whose file is on another host; an
// empty text, or none at all, for a rank that has sent none.
//
// Removes the ranks' files once all have ended. False where some rank has neither ended nor failed,
// so that there may be more to come. Throws std::runtime_error where there is no account
// at all, or the file cannot be written.
bool merge_truth(const std::filesystem::path& truth_file,
                 const std::vector<std::string>& published = {});

}  // namespace dprof::trainer_harness
