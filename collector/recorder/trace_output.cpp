// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/trace_output.h"

namespace dprof::recorder {

Result<std::unique_ptr<TraceOutput>> TraceOutput::create(const std::filesystem::path& path) {
  Result<std::unique_ptr<schema::TraceWriter>> writer = schema::TraceWriter::create(path);
  if (!writer.ok()) return fail(writer.error());
  return std::make_unique<TraceOutput>(*std::move(writer));
}

void TraceOutput::commit() {
  note(writer_->commit());
  uncommitted_ = 0;
}

Status TraceOutput::reopen(const std::filesystem::path& path) {
  writer_.reset();  // the old connection goes first: it may hold a lock
  Result<std::unique_ptr<schema::TraceWriter>> writer = schema::TraceWriter::reopen(path);
  if (!writer.ok()) return fail(writer.error());
  writer_ = *std::move(writer);
  return Done{};
}

Result<bool> TraceOutput::finish() {
  commit();
  return writer_->finish();
}

}  // namespace dprof::recorder
