// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/application.h"

#include <fmt/format.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QPixmap>
#include <QStyleFactory>
#include <QTimer>
#include <algorithm>
#include <fstream>
#include <iostream>

#include "gui/widgets/main_window.h"
#include "gui/widgets/options.h"

namespace dprof::widgets {
namespace {

void print(const Error& error) {
  std::cerr << "dprof-gui: " << error.what << '\n';
  if (!error.hint.empty()) std::cerr << "hint: " << error.hint << '\n';
}

Failure cannot_write(const std::filesystem::path& path) {
  return fail(Code::kIo, fmt::format("{} cannot be written", path.string()),
              "is the folder there, and writable?");
}

Status write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return cannot_write(path);
  return Done{};
}

Status write_outputs(const Options& options, MainWindow& window) {
  if (options.screenshot) {
    const QString path = QString::fromStdString(options.screenshot->string());
    if (!window.grab().save(path, "PNG")) return cannot_write(*options.screenshot);
  }
  if (options.state) {
    const Status written = write_text(*options.state, window.state());
    if (!written.ok()) return written;
  }
  if (options.draw_list) return write_text(*options.draw_list, view::to_text(window.draw_list()));
  return Done{};
}

// The selectors given are the whole selection; without any it is that of a run just opened.
Status select_all(const Options& options, MainWindow& window) {
  if (options.page) window.show_page(*options.page);
  if (!options.selectors.empty()) window.session().clear_selection();
  bool keep = false;
  for (const std::string& selector : options.selectors) {
    const Status selected = window.select(selector, keep);
    if (!selected.ok()) return selected;
    keep = true;
  }
  return Done{};
}

// Opens, selects, waits until nothing is pending, writes, ends.
class OutputRun : public QObject {
 public:
  OutputRun(const Options& options, MainWindow& window, QElapsedTimer started)
      : options_(options), window_(window), started_(started) {
    connect(&window_, &MainWindow::settled, this, &OutputRun::on_settled);
    connect(&poll_, &QTimer::timeout, this, &OutputRun::on_poll);
    timeout_.setSingleShot(true);
    connect(&timeout_, &QTimer::timeout, this, &OutputRun::on_timeout);
    const std::chrono::milliseconds gone(started_.elapsed());
    timeout_.start(std::max(options_.timeout - gone, std::chrono::milliseconds(0)));
  }

 private:
  void on_timeout() {
    print({Code::kInternal, fmt::format("not finished within {} ms", options_.timeout.count()),
           "give it more time: --timeout 300s"});
    QApplication::exit(static_cast<int>(ExitCode::kInconclusive));
  }

  void on_settled() {
    if (window_.error()) {
      end(*window_.error());
      return;
    }
    const Status selected = select_all(options_, window_);
    if (!selected.ok()) {
      end(selected.error());
      return;
    }
    poll_.start(0);
  }

  void on_poll() {
    if (window_.pending() > 0) return;
    poll_.stop();
    if (started_.hasExpired(options_.timeout.count())) {
      on_timeout();
      return;
    }
    const Status written = write_outputs(options_, window_);
    if (!written.ok()) {
      end(written.error());
      return;
    }
    const bool damaged = window_.session().model().run.damaged;
    QApplication::exit(static_cast<int>(damaged ? ExitCode::kUnreadable : ExitCode::kGood));
  }

  void end(const Error& error) {
    print(error);
    QApplication::exit(static_cast<int>(exit_code_of(error.code)));
  }

  const Options& options_;
  MainWindow& window_;
  QElapsedTimer started_;
  QTimer poll_;
  QTimer timeout_;
};

// Without a window Qt's remarks about the platform concern nobody.
void only_critical(QtMsgType type, const QMessageLogContext&, const QString& text) {
  if (type == QtCriticalMsg || type == QtFatalMsg) std::cerr << text.toStdString() << '\n';
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
  if (options->scale != "1") {
    qputenv("QT_SCALE_FACTOR", QByteArray::fromStdString(options->scale));
    QGuiApplication::setHighDpiScaleFactorRoundingPolicy(
        Qt::HighDpiScaleFactorRoundingPolicy::PassThrough);
  }
  QApplication application(argc, argv);
  QApplication::setApplicationName(QStringLiteral("dprof-gui"));
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  Look look(theme_of(*options));
  MainWindow window(look);
  window.resize(options->width, options->height);
  window.show();
  if (!options->runs.empty()) window.open(options->runs, options->analysis);
  if (options->has_output()) {
    OutputRun run(*options, window, started);
    return QApplication::exec();
  }
  QObject::connect(&window, &MainWindow::settled, &window, [&] {
    if (window.error()) return;
    const Status selected = select_all(*options, window);
    if (!selected.ok()) print(selected.error());
  });
  return QApplication::exec();
}

}  // namespace dprof::widgets
