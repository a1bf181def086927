// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/rows/gpu_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

namespace dprof::recorder {
namespace {

std::optional<std::string> uuid_text(const wire::Device& body) {
  if (std::ranges::all_of(body.uuid, [](unsigned char byte) { return byte == 0; })) {
    return std::nullopt;
  }
  std::string text = "GPU-";
  for (size_t i = 0; i < std::size(body.uuid); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", body.uuid[i]);
  }
  return text;
}

}  // namespace

bool GpuPlaces::describe_device(const wire::Device& body, int64_t name_id) {
  if (body.memory_bytes > uint64_t{1} << 60 || body.compute_capability > 100'000) return false;
  if (!device(body.device)) return false;
  schema::DeviceRow& row = devices_.at(body.device);
  row.uuid = uuid_text(body);
  if (name_id != 0) row.name_id = name_id;
  if (body.memory_bytes != 0) row.memory_bytes = static_cast<int64_t>(body.memory_bytes);
  if (body.compute_capability != 0) row.compute_capability = body.compute_capability;
  output_.set_device(row);
  return true;
}

bool GpuPlaces::name_stream(const wire::StreamName& body, int64_t name_id) {
  if (!stream(body.device, body.stream)) return false;
  schema::StreamRow& row = streams_.at({body.device, body.stream});
  if (name_id == 0) return true;
  row.name_id = name_id;
  output_.set_stream(row);
  return true;
}

bool GpuPlaces::device(uint32_t ordinal) {
  if (ordinal >= kMostDevices) return false;
  const auto [at, is_new] = devices_.try_emplace(ordinal);
  if (!is_new) return true;
  at->second.id = ordinal;
  output_.append(at->second);
  return true;
}

std::optional<int64_t> GpuPlaces::stream(uint32_t device_ordinal, uint32_t cuda_stream) {
  const std::pair key(device_ordinal, cuda_stream);
  const auto known = streams_.find(key);
  if (known != streams_.end()) return known->second.id;
  if (streams_.size() >= kMostStreams || !device(device_ordinal)) return std::nullopt;
  schema::StreamRow& row = streams_[key];
  row.id = static_cast<int64_t>(streams_.size());
  row.device_id = device_ordinal;
  row.cuda_stream = cuda_stream;
  output_.append(row);
  return row.id;
}

}  // namespace dprof::recorder
