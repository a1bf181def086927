// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/picture.h"

#include <fmt/format.h>

#include <QPainter>
#include <QPdfWriter>
#include <QPixmap>
#include <QSvgGenerator>

#include "gui/view/drawing/texts.h"

namespace dprof::widgets {
namespace {

constexpr int kPointsPerInch = 72;

bool write_svg(const QString& path, QWidget& window) {
  QSvgGenerator svg;
  svg.setFileName(path);
  svg.setSize(window.size());
  svg.setViewBox(window.rect());
  svg.setTitle(window.windowTitle());
  QPainter painter;
  if (!painter.begin(&svg)) return false;
  window.render(&painter);
  return painter.end();
}

// One page, as large as the window at 72 pixels per inch.
bool write_pdf(const QString& path, QWidget& window) {
  QPdfWriter pdf(path);
  pdf.setTitle(window.windowTitle());
  pdf.setResolution(kPointsPerInch);
  pdf.setPageMargins(QMarginsF());
  pdf.setPageSize(QPageSize(QSizeF(window.size()), QPageSize::Point));
  QPainter painter;
  if (!painter.begin(&pdf)) return false;
  window.render(&painter);
  return painter.end();
}

}  // namespace

Status write_picture(const std::filesystem::path& path, QWidget& window) {
  const QString file = QString::fromStdString(path.string());
  const std::string ending = path.extension().string();
  bool written = false;
  if (ending == ".svg") {
    written = write_svg(file, window);
  } else if (ending == ".pdf") {
    written = write_pdf(file, window);
  } else if (ending == ".png") {
    written = window.grab().save(file, "PNG");
  } else {
    return fail(Code::kUsage, view::say("{} has an unknown ending", path.string()),
                view::say("pictures are written as .png, .svg or .pdf"));
  }
  // Qt's writers report a full disk only by a short file.
  std::error_code error;
  if (written && std::filesystem::file_size(path, error) > 0 && !error) return Done{};
  return fail(Code::kIo, view::say("{} cannot be written", path.string()),
              view::say("is the folder there, and writable?"));
}

}  // namespace dprof::widgets
