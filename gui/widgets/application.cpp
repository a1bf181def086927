// SPDX-License-Identifier: Apache-2.0
// untranslated file: what a command line and its log say is English
#include "gui/widgets/application.h"

#include <fmt/format.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QStyleFactory>
#include <algorithm>
#include <array>
#include <iostream>

#include "gui/widgets/language.h"
#include "gui/widgets/main_window.h"
#include "gui/widgets/options.h"
#include "gui/widgets/output_run.h"

namespace dprof::widgets {
namespace {

// Without a window Qt's remarks about the platform concern nobody.
void only_critical(QtMsgType type, const QMessageLogContext&, const QString& text) {
  if (type == QtCriticalMsg || type == QtFatalMsg) std::cerr << text.toStdString() << '\n';
}

// Qt would abort where there is nothing to show a window on.
bool has_display() {
  return std::ranges::any_of(std::array{"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"},
                             [](const char* name) { return !qEnvironmentVariableIsEmpty(name); });
}

void report_no_display(const Options& options) {
  const std::string run = options.runs.empty() ? "RUN" : options.runs.front().string();
  print_error(
      {Code::kUsage, "there is no display here (neither DISPLAY nor WAYLAND_DISPLAY is set)",
       fmt::format(
           "dprof gui {0} --screenshot run.png, or dprof report {0} --format html -o run.html",
           run)});
}

// "System" is the brightness of the desktop's windows.
const view::Theme& theme_of(const Options& options) {
  constexpr int kDarkBelow = 128;
  const bool dark =
      options.theme_given
          ? options.dark
          : !options.has_output() &&
                QApplication::palette().color(QPalette::Window).lightness() < kDarkBelow;
  return dark ? view::dark_theme() : view::light_theme();
}

// Outputs are the same for everybody, unless a language is asked for.
bool speak(const Options& options) {
  if (options.language.empty() && options.has_output()) return true;
  const Result<Language> language = set_language(options.language);
  if (!language.ok()) {
    print_error(language.error());
    return options.language.empty();  // of the user's own choice it is only said
  }
  if (const size_t count = language->passed_over.size(); count > 0) {
    print_error(
        {Code::kDamaged,
         fmt::format("{}: {} {} English, since the placeholders differ", language->file.string(),
                     count, count == 1 ? "text stays" : "texts stay"),
         fmt::format("the first of them is: {}", language->passed_over.front())});
  }
  return true;
}

}  // namespace

int run_application(int argc, char** argv) {
  QElapsedTimer started;
  started.start();
  ExitCode exit_code = ExitCode::kGood;
  const std::optional<Options> options = parse_options(argc, argv, exit_code);
  if (!options) return static_cast<int>(exit_code);
  if (options->has_output()) qInstallMessageHandler(only_critical);
  if (options->has_output() && qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
  }
  if (!options->has_output() && !has_display()) {
    report_no_display(*options);
    return static_cast<int>(ExitCode::kUsage);
  }
  if (options->scale != "1") {
    qputenv("QT_SCALE_FACTOR", QByteArray::fromStdString(options->scale));
    QGuiApplication::setHighDpiScaleFactorRoundingPolicy(
        Qt::HighDpiScaleFactorRoundingPolicy::PassThrough);
  }
  QApplication application(argc, argv);
  QApplication::setApplicationName(QStringLiteral("dprof-gui"));
  QApplication::setOrganizationName(QStringLiteral("dprof"));
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  if (!speak(*options)) return static_cast<int>(ExitCode::kUsage);
  Look look(theme_of(*options));
  MainWindow window(look);
  window.resize(options->width, options->height);
  window.set_event_budget(options->memory);
  if (!options->has_output()) {
    window.recall_layout();
    window.keep_views();
  }
  window.show();
  if (!options->runs.empty()) window.open(options->runs, options->analysis);
  if (options->has_output()) {
    OutputRun run(*options, window, started);
    return QApplication::exec();
  }
  QObject::connect(&window, &MainWindow::settled, &window, [&] {
    if (window.error()) return;
    const Status selected = apply_options(*options, window);
    if (!selected.ok()) print_error(selected.error());
  });
  return QApplication::exec();
}

}  // namespace dprof::widgets
