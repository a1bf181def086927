// SPDX-License-Identifier: Apache-2.0
// A file that is there whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace dprof::recorder {

enum class FileAccess { kAsUmask, kOwnerOnly };

// Writes `.NAME.part` beside `path` and renames it, so that no reader sees half of it. In a folder
// that others may write, too, nothing of theirs is followed or written into. What fails leaves the
// old file, and no other.
Status replace_file(const std::filesystem::path& path, std::string_view text, FileAccess access,
                    const char* hint);

// Renames without replacing. Gives an errno; EEXIST: the name is taken.
[[nodiscard]] int move_to_free(const std::filesystem::path& from, const std::filesystem::path& to);

// Writes all of it. Gives an errno; 0 is good.
[[nodiscard]] int write_whole(int fd, std::string_view text);

}  // namespace dprof::recorder
