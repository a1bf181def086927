// SPDX-License-Identifier: Apache-2.0
// A trace with random damage: the reader can refuse it or read part of it, but must not crash, hang
// or read out of bounds (the sanitizer presets detect that).
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "schema/trace_reader.h"
#include "schema/trace_writer.h"

namespace dprof::schema {
namespace {

namespace fs = std::filesystem;

std::string sound_trace(const fs::path& file) {
  auto writer = *TraceWriter::create(file);
  for (int64_t i = 0; i < 2000; ++i) {
    const int64_t name = writer->intern("range " + std::to_string(i % 50));
    EXPECT_TRUE(
        writer
            ->append(HostRangeRow{
                .id = i, .thread_id = 1, .start_ns = i * 10, .duration_ns = 5, .name_id = name})
            .ok());
  }
  writer->set_meta("rank", "0");
  EXPECT_TRUE(writer->finish().ok());
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Reads everything readable; returns the number of rows.
int64_t read_all(const fs::path& file) {
  const Result<TraceReader> reader = TraceReader::open(file);
  if (!reader.ok()) {
    EXPECT_FALSE(reader.error().what.empty());
    return 0;
  }
  int64_t rows = 0;
  for_each_row_type([&]<typename Row>() {
    const Status read = reader->for_each<Row>([&](const Row&) { ++rows; });
    EXPECT_TRUE(read.ok() || !read.error().what.empty());
  });
  return rows;
}

TEST(TraceDamageTest, RandomBytesNeverHurtTheReader) {
  const fs::path file =
      fs::temp_directory_path() / ("dprof-damage-" + std::to_string(getpid()) + ".dprof");
  fs::remove(file);
  const std::string sound = sound_trace(file);
  ASSERT_GT(read_all(file), 2000);
  std::mt19937 random(5);
  int unreadable = 0;
  for (int round = 0; round < 200; ++round) {
    std::string damaged = sound;
    for (size_t hits = 1 + random() % 40; hits > 0; --hits)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    if (round % 4 == 0) damaged.resize(random() % damaged.size());
    std::ofstream(file, std::ios::binary | std::ios::trunc) << damaged;
    unreadable += read_all(file) == 0;
  }
  fs::remove(file);
  EXPECT_GT(unreadable, 20) << "the damage must be of some consequence, or this tests nothing";
}

}  // namespace
}  // namespace dprof::schema
