// SPDX-License-Identifier: Apache-2.0
// The language of the window. A translation is a file of Qt Linguist, dprof_XX.ts, made from
// gui/texts/dprof_en.ts; it is read as it is.
#pragma once

#include <QLocale>
#include <QStringList>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "gui/view/drawing/texts.h"

namespace dprof::widgets {

// The translations in such a file.
[[nodiscard]] Result<view::Texts> read_texts(const std::filesystem::path& file);

// The language shown, and the unused part of the file (install_texts()).
struct Language {
  std::filesystem::path file;  // "" = English
  std::vector<std::string> passed_over;
};

// From now on texts are shown in a language ("de", "pt_BR") or as a file says; with "" in the first
// of the user's that there is a file for, unless English comes before it. Before the first window.
Result<Language> set_language(const std::string& wanted,
                              const QStringList& of_user = QLocale::system().uiLanguages());

}  // namespace dprof::widgets
