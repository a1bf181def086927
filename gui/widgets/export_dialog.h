// SPDX-License-Identifier: Apache-2.0
// Export…: the open run for another tool, as `dprof export` writes it, beside all else.
#pragma once

#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <filesystem>
#include <string>
#include <vector>

#include "gui/view/model/selection.h"
#include "gui/widgets/look.h"
#include "gui/widgets/worker.h"

namespace dprof::widgets {

// The part of a run that a selection is about, as in the fields and `dprof export`; "" = all.
struct ExportPart {
  std::string ranks;  // "0,4"
  std::string steps;  // "20:30"
};
[[nodiscard]] ExportPart part_of(const view::Model& model, const view::Selection& selection);

// Threading  the user interface's thread; the run is read, analysed and written on a worker's.
//            Closing it cancels, and waits until the worker has ended.
class ExportDialog : public QDialog {
  Q_OBJECT

 public:
  // `paths`: of the run. Its files are written beside it, unless another place is chosen.
  ExportDialog(const Look& look, std::vector<std::filesystem::path> paths, const view::Model& model,
               ExportPart selected, QWidget* parent);

  [[nodiscard]] bool is_writing() const { return writing_; }

 private:
  QWidget* make_place();
  void propose_place();
  void choose_place();
  void start_or_cancel();
  Result<analyzer::ExportOptions> wanted() const;
  void take(const Result<analyzer::Exported>& exported);
  void show_writing(bool writing);
  void show_text(const QString& text);
  [[nodiscard]] analyzer::ExportFormat format() const;
  [[nodiscard]] std::filesystem::path place() const;

  std::vector<std::filesystem::path> paths_;
  std::string run_name_;
  Worker worker_;
  bool writing_ = false;
  QString proposed_;  // while the field contains it, it follows the format
  QString replaces_;  // a file that is there: that it is replaced was said
  QComboBox* format_ = nullptr;
  QLineEdit* ranks_ = nullptr;
  QLineEdit* steps_ = nullptr;
  QLineEdit* place_ = nullptr;
  QProgressBar* progress_ = nullptr;
  QLabel* message_ = nullptr;
  QPushButton* start_ = nullptr;
};

}  // namespace dprof::widgets
