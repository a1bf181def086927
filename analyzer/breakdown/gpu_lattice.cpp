// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/gpu_lattice.h"

#include <algorithm>

#include "analyzer/breakdown/comm_cursor.h"

namespace dprof::analyzer {
namespace {

// One device's pieces, walked along with the others'.
class DeviceCursor {
 public:
  explicit DeviceCursor(const DeviceDigest& device) : device_(device) {}

  // The piece at `time`, which must not decrease; nullptr = outside of all pieces.
  const DevicePiece* at(TraceNs time) {
    while (next_ < device_.pieces.size() && device_.pieces[next_].begin <= time) ++next_;
    return next_ == 0 || time >= device_.end ? nullptr : &device_.pieces[next_ - 1];
  }
  // When the answer next changes.
  [[nodiscard]] TraceNs until() const {
    return next_ < device_.pieces.size() ? device_.pieces[next_].begin : device_.end;
  }

 private:
  const DeviceDigest& device_;
  size_t next_ = 0;
};

// A smaller rank means more work. Idle causes are in the order of the report.
int rank_of(const DevicePiece& piece) {
  if (piece.category == Category::kOverlapped) return -2;
  if (piece.category <= Category::kOtherCompute) return -1;
  if (piece.category == Category::kExposedTransfer) return static_cast<int>(Category::kExposedWait);
  return static_cast<int>(piece.category);
}

class Merge {
 public:
  Merge(const RankDigest& digest, const std::vector<CommSpan>& comm)
      : span_(digest.span), collective_(comm) {
    size_t most = comm.size() * 2 + 1;
    for (const DeviceDigest& device : digest.gpu.devices) {
      devices_.emplace_back(device);
      most += device.pieces.size();
    }
    pieces_.reserve(most);  // growing a list of millions briefly takes twice its memory
  }

  Lattice run() && {
    for (TraceNs at = span_.begin; at < span_.end;) {
      TraceNs end = span_.end;
      DevicePiece most{.begin = at};
      bool any = false;
      for (DeviceCursor& device : devices_) {
        const DevicePiece* piece = device.at(at);
        if (const TraceNs until = device.until(); until > at) end = std::min(end, until);
        if (piece == nullptr) continue;
        if (!any || rank_of(*piece) < rank_of(most)) most = *piece;
        any = true;
      }
      put(most, {at, end});
      at = end;
    }
    return std::move(pieces_);
  }

 private:
  void put(const DevicePiece& piece, Interval span) {
    if (piece.category != Category::kExposedTransfer)
      return pieces_.push_back({span, piece.category, piece.phase, piece.detail});
    for (TraceNs at = span.begin; at < span.end;) {
      const CommSpan* running = collective_.at(at);
      TraceNs end = std::min(span.end, collective_.next_begin());
      Category category = Category::kExposedTransfer;
      if (running != nullptr) {
        end = std::min(end, running->span.end);
        if (at < running->arrive) {
          category = Category::kExposedWait;
          end = std::min(end, running->arrive);
        }
      }
      pieces_.push_back({{at, end}, category, category, HostDetail::kNone});
      at = end;
    }
  }

  const Interval span_;
  CommCursor collective_;
  std::vector<DeviceCursor> devices_;
  Lattice pieces_;
};

}  // namespace

Lattice gpu_lattice_of(const RankDigest& digest, const std::vector<CommSpan>& comm) {
  return Merge(digest, comm).run();
}

}  // namespace dprof::analyzer
