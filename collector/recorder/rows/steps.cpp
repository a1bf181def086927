// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/steps.h"

#include <algorithm>

namespace dprof::recorder {

using schema::Marker;
using schema::StepSource;

void StepFinder::begin(Marker marker, int64_t range_id, int64_t start_ns) {
  if (marker == Marker::kStep && !marker_) {
    marker_ = {range_id, start_ns};
    if (source_ != StepSource::kOptimizer) notify(next_index_, start_ns, std::nullopt);
  }
  if (marker == Marker::kOptimizer && !optimizer_) optimizer_ = {range_id, start_ns};
}

void StepFinder::end(Marker marker, int64_t range_id, int64_t end_ns, TraceOutput& output) {
  if (marker == Marker::kStep && marker_ && marker_->range_id == range_id) {
    write(marker_->start_ns, end_ns, StepSource::kMarker, output);
    marker_.reset();
  }
  if (marker == Marker::kOptimizer && optimizer_ && optimizer_->range_id == range_id) {
    optimizer_.reset();
    if (marker_ && source_ != StepSource::kOptimizer) return;
    if (last_optimizer_end_ns_) {
      write(*last_optimizer_end_ns_, end_ns, StepSource::kOptimizer, output);
    }
    last_optimizer_end_ns_ = end_ns;
    if (source_ != StepSource::kMarker) notify(next_index_, end_ns, std::nullopt);
  }
}

void StepFinder::forget_open() {
  marker_.reset();
  optimizer_.reset();
  last_optimizer_end_ns_.reset();
}

void StepFinder::finish(bool killed, TraceOutput& output) {
  if (marker_) {
    write(marker_->start_ns, std::nullopt, StepSource::kMarker, output);
  } else if (killed && last_optimizer_end_ns_) {
    write(*last_optimizer_end_ns_, std::nullopt, StepSource::kOptimizer, output);
  }
  marker_.reset();
  last_optimizer_end_ns_.reset();
}

void StepFinder::fill_in(HowFar& far) const {
  far.steps = next_index_;
  far.last_progress_ns = std::max(far.last_progress_ns, last_end_ns_);
  const size_t known = std::min(kLengths, static_cast<size_t>(next_index_));
  if (known == 0) return;
  auto lengths = lengths_;
  std::ranges::sort(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(known));
  far.median_step_ns = lengths[known / 2];
}

void StepFinder::write(int64_t start_ns, std::optional<int64_t> end_ns, StepSource source,
                       TraceOutput& output) {
  if (!source_) source_ = source;
  if (source_ != source) return;
  output.append(schema::StepRow{next_index_, start_ns, end_ns, source});
  if (end_ns) {
    last_end_ns_ = *end_ns;
    lengths_[static_cast<size_t>(next_index_) % kLengths] = *end_ns - start_ns;
  }
  notify(next_index_++, start_ns, end_ns);
}

}  // namespace dprof::recorder
