// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/recent_runs.h"

#include <QSettings>
#include <QStringList>
#include <algorithm>

#include "gui/widgets/panes.h"

namespace dprof::widgets {
namespace {

constexpr auto kRunsKey = "recent_runs";
constexpr auto kPathsKey = "paths";

std::vector<RunPaths> read_runs() {
  std::vector<RunPaths> runs;
  QSettings settings;
  const int count = settings.beginReadArray(kRunsKey);
  for (int i = 0; i < count; ++i) {
    settings.setArrayIndex(i);
    RunPaths paths;
    const QStringList texts = settings.value(kPathsKey).toStringList();
    for (const QString& text : texts) paths.emplace_back(text.toStdString());
    if (!paths.empty()) runs.push_back(std::move(paths));
  }
  settings.endArray();
  return runs;
}

}  // namespace

std::vector<RunPaths> recent_runs() {
  std::vector<RunPaths> runs = read_runs();
  std::erase_if(runs, [](const RunPaths& paths) {
    return !std::ranges::all_of(paths, [](const std::filesystem::path& path) {
      std::error_code ignored;
      return std::filesystem::exists(path, ignored);
    });
  });
  return runs;
}

void remember_run(const RunPaths& paths) {
  RunPaths whole;
  for (const std::filesystem::path& path : paths) {
    std::error_code failed;
    const std::filesystem::path absolute = std::filesystem::absolute(path, failed);
    whole.push_back((failed ? path : absolute).lexically_normal());
    if (!whole.back().has_filename()) whole.back() = whole.back().parent_path();  // "RUN/"
  }
  std::vector<RunPaths> runs = read_runs();
  std::erase(runs, whole);
  runs.insert(runs.begin(), std::move(whole));
  if (runs.size() > kMostRecentRuns) runs.resize(kMostRecentRuns);
  QSettings settings;
  settings.beginWriteArray(kRunsKey, static_cast<int>(runs.size()));
  for (size_t i = 0; i < runs.size(); ++i) {
    settings.setArrayIndex(static_cast<int>(i));
    QStringList texts;
    for (const std::filesystem::path& path : runs[i]) texts << to_qstring(path.string());
    settings.setValue(kPathsKey, texts);
  }
  settings.endArray();
}

}  // namespace dprof::widgets
