// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/run/recorder_file.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "collector/recorder/common/atomic_file.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kSchema[] = "dprof.recorder/2";

}  // namespace

Result<fs::path> write_recorder_file(const fs::path& run, const RecorderFile& file) {
  const fs::path folder = run / "recorders";
  std::error_code error;
  fs::create_directories(folder, error);
  const std::string name =
      file.name.empty() ? fmt::format("{}-{}", file.host, file.pid) : file.name;
  const fs::path path = folder / (name + ".json");
  const std::string text = json{{"schema", kSchema},
                                {"name", name},
                                {"id", file.id},
                                {"run_id", file.run_id},
                                {"host", file.host},
                                {"pid", file.pid},
                                {"clock_id", file.clock_id},
                                {"address", file.address},
                                {"probe_port", file.probe_port},
                                {"control_socket", file.control_socket},
                                {"token", file.token},
                                {"first", file.first},
                                {"first_on_host", file.first_on_host}}
                               .dump(2, ' ', false, json::error_handler_t::replace) +
                           "\n";
  const Status written =
      replace_file(path, text, FileAccess::kOwnerOnly, "is the run folder writable?");
  if (!written.ok()) return fail(written.error());
  return path;
}

std::vector<RecorderFile> read_recorder_files(const fs::path& run) {
  std::vector<RecorderFile> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(run / "recorders", error)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream stream(entry.path());
    const json read = json::parse(stream, nullptr, false);
    if (!read.is_object()) continue;
    try {
      if (read.value("schema", "") != kSchema) continue;
      files.push_back({read.at("name"), read.at("id"), read.at("run_id"), read.at("host"),
                       read.at("pid"), read.at("clock_id"), read.at("address"),
                       read.at("probe_port"), read.at("control_socket"), read.at("token"),
                       read.at("first"), read.at("first_on_host")});
    } catch (const json::exception&) {
      continue;
    }
  }
  return files;
}

}  // namespace dprof::recorder
