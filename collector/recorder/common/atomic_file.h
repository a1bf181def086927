// SPDX-License-Identifier: Apache-2.0
// Writes a file completely or not at all.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace dprof::recorder {

enum class FileAccess { kAsUmask, kOwnerOnly };

// Writes `.NAME.part` next to `path` and renames it, so that no reader sees half of it. In a folder
// that is writable for others, their files are neither followed nor written into. On failure the
// old file stays, and no other.
Status replace_file(const std::filesystem::path& path, std::string_view text, FileAccess access,
                    const char* hint);

// Renames without replacing. Returns an errno; EEXIST: the name is taken.
[[nodiscard]] int move_to_free(const std::filesystem::path& from, const std::filesystem::path& to);

// Writes all of it. Returns an errno; 0 = success.
[[nodiscard]] int write_whole(int fd, std::string_view text);

}  // namespace dprof::recorder
