// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/ranks/kept_output.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace dprof::recorder {

KeptOutput::KeptOutput(int ranks, int lines) : ranks_(lines > 0 ? ranks : 0), lines_(lines) {
  if (ranks_ == 0) return;
  void* memory = mmap(nullptr, static_cast<size_t>(ranks_) * sizeof(Ring), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) rings_ = static_cast<Ring*>(memory);
}

KeptOutput::~KeptOutput() {
  if (rings_ != nullptr) munmap(rings_, static_cast<size_t>(ranks_) * sizeof(Ring));
}

KeptOutput::Ring* KeptOutput::ring(int rank) const {
  return rings_ != nullptr && rank >= 0 && rank < ranks_ ? rings_ + rank : nullptr;
}

void KeptOutput::add(int rank, std::string_view bytes) {
  Ring* into = ring(rank);
  if (into == nullptr) return;
  uint64_t written = into->written.load(std::memory_order_relaxed);
  while (!bytes.empty()) {
    const size_t at = written % kBytes;
    const size_t part = std::min(bytes.size(), kBytes - at);
    std::memcpy(into->bytes + at, bytes.data(), part);
    bytes.remove_prefix(part);
    written += part;
  }
  into->written.store(written, std::memory_order_release);
}

std::string KeptOutput::last_lines(int rank) const {
  const Ring* from = ring(rank);
  if (from == nullptr) return {};
  const uint64_t written = from->written.load(std::memory_order_acquire);
  std::string kept;
  for (uint64_t i = written - std::min<uint64_t>(written, kBytes); i < written; ++i) {
    const char letter = from->bytes[i % kBytes];
    const bool is_overwritten =
        letter == '\r' && i + 1 < written && from->bytes[(i + 1) % kBytes] != '\n';
    if (is_overwritten) {
      kept.resize(kept.rfind('\n') + 1);  // npos + 1: all of it
    } else if (letter != '\r') {
      kept += letter;
    }
  }
  while (kept.ends_with('\n')) kept.pop_back();
  size_t begin = kept.size();
  for (int line = 0; line < lines_ && begin > 0; ++line) {
    const size_t end = kept.rfind('\n', begin - 1);
    begin = end == std::string::npos ? 0 : end;
  }
  if (begin < kept.size() && kept[begin] == '\n') ++begin;
  return kept.substr(begin);
}

}  // namespace dprof::recorder
