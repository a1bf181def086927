// SPDX-License-Identifier: Apache-2.0
// The build id of an ELF file, which matches a LibTorch to its libdprof_torch.so. The process reads
// it from its mapping, the doctor from the file.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dprof::wire {

inline constexpr uint32_t kBuildIdHex = 129;  // digits of 64 bytes, and a NUL

// The NT_GNU_BUILD_ID in a note segment, as hex digits; "" without one. Accepts untrusted sizes.
inline void read_build_id(const unsigned char* notes, uint64_t bytes, char* hex,
                          uint32_t hex_bytes) noexcept {
  const auto padded = [](uint64_t size) { return (size + 3) & ~uint64_t{3}; };
  hex[0] = '\0';
  uint64_t at = 0;
  while (at + sizeof(Elf64_Nhdr) <= bytes) {
    Elf64_Nhdr note;
    memcpy(&note, notes + at, sizeof note);
    const uint64_t name = at + sizeof note;
    const uint64_t value = name + padded(note.n_namesz);
    if (value > bytes || value + note.n_descsz > bytes) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        memcmp(notes + name, "GNU", 4) == 0 && 2 * uint64_t{note.n_descsz} + 1 <= hex_bytes) {
      static constexpr char kDigits[] = "0123456789abcdef";
      const size_t bytes_of_id = note.n_descsz;
      for (size_t i = 0; i < bytes_of_id; ++i) {
        hex[2 * i] = kDigits[notes[value + i] >> 4];
        hex[2 * i + 1] = kDigits[notes[value + i] & 15];
      }
      hex[2 * bytes_of_id] = '\0';
      return;
    }
    at = value + padded(note.n_descsz);
  }
}

}  // namespace dprof::wire
