// SPDX-License-Identifier: Apache-2.0
// untranslated file: what is said of a translation is for the command line
#include "gui/widgets/language.h"

#include <QCoreApplication>
#include <QFile>
#include <QStandardPaths>
#include <QTranslator>
#include <QXmlStreamReader>
#include <algorithm>

namespace dprof::widgets {
namespace {

// tr() of the widgets shows what say() of the views does.
class InstalledTexts final : public QTranslator {
 public:
  [[nodiscard]] bool isEmpty() const override { return false; }
  [[nodiscard]] QString translate(const char*, const char* text, const char*, int) const override {
    const std::string_view shown = view::translated(text);
    if (shown.data() == text) return {};  // Qt asks on
    return QString::fromUtf8(shown.data(), static_cast<qsizetype>(shown.size()));
  }
};

// The user's own folders before those of the system, and before the one that came with the program.
std::vector<std::filesystem::path> folders() {
  std::vector<std::filesystem::path> folders;
  const QStringList data = QStandardPaths::standardLocations(QStandardPaths::GenericDataLocation);
  for (const QString& one : data)
    folders.push_back(std::filesystem::path(one.toStdString()) / "dprof" / "texts");
  const std::filesystem::path program = QCoreApplication::applicationDirPath().toStdString();
  folders.push_back(program.parent_path() / "share" / "dprof" / "texts");
  return folders;
}

// Of "pt_BR", else of "pt"; "" = none.
std::filesystem::path file_of(std::string language) {
  std::ranges::replace(language, '-', '_');
  for (const std::string& name : {language, language.substr(0, language.find('_'))}) {
    for (const std::filesystem::path& folder : folders()) {
      std::filesystem::path file = folder / ("dprof_" + name + ".ts");
      std::error_code ignored;
      if (std::filesystem::exists(file, ignored)) return file;
    }
  }
  return {};
}

bool is_english(const std::string& language) {
  return language == "C" || language == "en" || language.starts_with("en_") ||
         language.starts_with("en-");
}

std::filesystem::path first_file_of(const QStringList& languages) {
  for (const QString& one : languages) {
    if (is_english(one.toStdString())) return {};
    if (std::filesystem::path file = file_of(one.toStdString()); !file.empty()) return file;
  }
  return {};
}

Result<std::filesystem::path> file_for(const std::string& wanted, const QStringList& of_user) {
  if (wanted.empty()) return first_file_of(of_user);
  if (wanted.ends_with(".ts")) return std::filesystem::path(wanted);
  if (is_english(wanted)) return std::filesystem::path();
  std::filesystem::path file = file_of(wanted);
  if (!file.empty()) return file;
  return fail(
      Code::kNotFound, "there are no texts in the language '" + wanted + "'",
      "they are looked for as " + (folders().front() / ("dprof_" + wanted + ".ts")).string());
}

}  // namespace

Result<view::Texts> read_texts(const std::filesystem::path& file) {
  QFile device(QString::fromStdString(file.string()));
  if (!device.open(QIODevice::ReadOnly))
    return fail(Code::kNotFound, file.string() + ": " + device.errorString().toStdString());
  QXmlStreamReader xml(&device);
  view::Texts texts;
  std::string source;
  if (!xml.readNextStartElement() || xml.name() != QLatin1String("TS"))
    return fail(Code::kDamaged, file.string() + ": it is no file of Qt Linguist");
  while (!xml.atEnd()) {
    if (xml.readNext() != QXmlStreamReader::StartElement) continue;
    if (xml.name() == QLatin1String("source")) {
      source = xml.readElementText().toStdString();
    } else if (xml.name() == QLatin1String("translation")) {
      std::string text = xml.readElementText(QXmlStreamReader::SkipChildElements).toStdString();
      if (!text.empty()) texts.insert_or_assign(source, std::move(text));
    }
  }
  if (!xml.hasError()) return texts;
  return fail(Code::kDamaged, file.string() + ": line " + std::to_string(xml.lineNumber()) + ": " +
                                  xml.errorString().toStdString());
}

Result<Language> set_language(const std::string& wanted, const QStringList& of_user) {
  const Result<std::filesystem::path> file = file_for(wanted, of_user);
  if (!file.ok()) return fail(file.error());
  Language language{.file = *file, .passed_over = {}};
  view::Texts texts;
  if (!language.file.empty()) {
    Result<view::Texts> read = read_texts(language.file);
    if (!read.ok()) return fail(read.error());
    texts = *std::move(read);
  }
  language.passed_over = view::install_texts(std::move(texts));
  static InstalledTexts translator;
  QCoreApplication::removeTranslator(&translator);
  QCoreApplication::installTranslator(&translator);
  return language;
}

}  // namespace dprof::widgets
