// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/export_dialog.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QToolButton>
#include <QVBoxLayout>

#include "base/lists.h"
#include "gui/view/drawing/texts.h"
#include "gui/widgets/panes.h"

namespace dprof::widgets {
namespace {

constexpr int kDialogWidth = 560;
constexpr int kWholeProgress = 1000;

// In the order of analyzer::ExportFormat.
constexpr std::array<std::string_view, analyzer::kExportFormats> kFormatTexts{
    view::english("Perfetto: one file for ui.perfetto.dev"),
    view::english("Chrome JSON: a file for each rank, as PyTorch's profiler writes it"),
    view::english("CSV: a file for each table"),
    view::english("Parquet: a file for each table (needs Python's pyarrow)"),
    view::english("speedscope: one file for speedscope.app"),
    view::english("Folded stacks: one file for flame graphs"),
};

QString sentence_of(const Error& error) {
  return to_qstring(error.hint.empty() ? error.what : error.what + ": " + error.hint);
}

}  // namespace

ExportPart part_of(const view::Model& model, const view::Selection& selection) {
  ExportPart part{.ranks = fmt::format("{}", fmt::join(selection.ranks, ",")), .steps = {}};
  if (selection.step) part.steps = fmt::format("{}:{}", *selection.step, *selection.step + 1);
  if (!selection.range) return part;
  std::optional<std::pair<int64_t, int64_t>> touched;
  for (const analyzer::StepWindow& step : model.steps) {
    if (step.window.begin >= selection.range->end || step.window.end <= selection.range->begin)
      continue;
    if (!touched) touched = {step.index, step.index};
    touched = {std::min(touched->first, step.index), std::max(touched->second, step.index)};
  }
  if (touched) part.steps = fmt::format("{}:{}", touched->first, touched->second + 1);
  return part;
}

ExportDialog::ExportDialog(const Look& look, std::vector<std::filesystem::path> paths,
                           const view::Model& model, ExportPart selected, QWidget* parent)
    : QDialog(parent), paths_(std::move(paths)), run_name_(model.run.name) {
  setObjectName(QStringLiteral("export"));
  setAttribute(Qt::WA_DeleteOnClose);
  setWindowTitle(tr("Export the run"));
  setFont(look.font(view::Font::kBody));
  setMinimumWidth(kDialogWidth);
  auto* rows = new QVBoxLayout(this);
  rows->setContentsMargins(20, 18, 20, 16);
  rows->setSpacing(12);
  auto* form = new QFormLayout;
  form->setHorizontalSpacing(14);
  form->setVerticalSpacing(9);
  rows->addLayout(form);
  format_ = new QComboBox(this);
  for (const std::string_view text : kFormatTexts)
    format_->addItem(to_qstring(view::translated(text)));
  connect(format_, &QComboBox::currentIndexChanged, this, &ExportDialog::propose_place);
  form->addRow(tr("Format"), format_);
  const auto add_field = [&](const char* name, const QString& title, const QString& hint) {
    auto* field = new QLineEdit(this);
    field->setObjectName(QLatin1String(name));
    field->setPlaceholderText(hint);
    field->setAccessibleName(title);
    form->addRow(title, field);
    return field;
  };
  ranks_ = add_field("export_ranks", tr("Ranks"), tr("all; or some of them: 0,4-7"));
  steps_ = add_field("export_steps", tr("Steps"), tr("all; or from 20 up to before 30: 20:30"));
  if (!selected.ranks.empty() || !selected.steps.empty()) {
    auto* preset = new QToolButton(this);
    preset->setText(tr("Only what is selected"));
    preset->setObjectName(QStringLiteral("export_selection"));
    connect(preset, &QToolButton::clicked, this, [this, selected = std::move(selected)] {
      ranks_->setText(to_qstring(selected.ranks));
      steps_->setText(to_qstring(selected.steps));
    });
    form->addRow(QString(), preset);
  }
  form->addRow(tr("To"), make_place());
  progress_ = new QProgressBar(this);
  progress_->setRange(0, kWholeProgress);
  progress_->setTextVisible(false);
  rows->addWidget(progress_);
  message_ = new QLabel(this);
  message_->setObjectName(QStringLiteral("export_message"));
  message_->setWordWrap(true);
  message_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  rows->addWidget(message_);
  auto* buttons = new QHBoxLayout;
  buttons->addStretch(1);
  auto* close_it = new QPushButton(tr("Close"), this);
  close_it->setAutoDefault(false);
  connect(close_it, &QPushButton::clicked, this, &QDialog::reject);
  buttons->addWidget(close_it);
  start_ = new QPushButton(this);
  start_->setObjectName(QStringLiteral("export_start"));
  start_->setDefault(true);
  connect(start_, &QPushButton::clicked, this, &ExportDialog::start_or_cancel);
  buttons->addWidget(start_);
  rows->addLayout(buttons);
  connect(&worker_, &Worker::exporting, this, [this](const QString& stage, double share) {
    progress_->setValue(static_cast<int>(share * kWholeProgress));
    if (writing_) message_->setText(stage);
  });
  connect(&worker_, &Worker::exported, this, &ExportDialog::take);
  propose_place();
  show_writing(false);
}

QWidget* ExportDialog::make_place() {
  auto* both = new QWidget(this);
  auto* columns = new QHBoxLayout(both);
  columns->setContentsMargins(0, 0, 0, 0);
  place_ = new QLineEdit(both);
  place_->setObjectName(QStringLiteral("export_place"));
  place_->setAccessibleName(tr("To"));
  columns->addWidget(place_, 1);
  auto* browse = new QToolButton(both);
  browse->setText(QStringLiteral("…"));
  browse->setAccessibleName(tr("Choose another place"));
  connect(browse, &QToolButton::clicked, this, &ExportDialog::choose_place);
  columns->addWidget(browse);
  return both;
}

analyzer::ExportFormat ExportDialog::format() const {
  return static_cast<analyzer::ExportFormat>(format_->currentIndex());
}

std::filesystem::path ExportDialog::place() const { return place_->text().toStdString(); }

// Beside the run; what somebody chose stays.
void ExportDialog::propose_place() {
  if (place_->text() != proposed_) return;
  const std::filesystem::path name = analyzer::default_export_path(format(), run_name_);
  const std::filesystem::path folder =
      paths_.empty() ? std::filesystem::path() : paths_.front().parent_path();
  proposed_ = to_qstring((folder / name).string());
  place_->setText(proposed_);
}

void ExportDialog::choose_place() {
  const QString chosen = QFileDialog::getSaveFileName(this, tr("Export the run"), place_->text());
  if (chosen.isEmpty()) return;
  place_->setText(chosen);
  replaces_ = chosen;  // it was asked there
}

Result<analyzer::ExportOptions> ExportDialog::wanted() const {
  analyzer::ExportOptions options;
  options.format = format();
  if (const std::string text = ranks_->text().trimmed().toStdString(); !text.empty()) {
    Result<std::vector<int>> ranks = parse_rank_list(text);
    if (!ranks.ok()) return fail(ranks.error());
    options.ranks = *std::move(ranks);
  }
  if (const std::string text = steps_->text().trimmed().toStdString(); !text.empty()) {
    const Result<std::pair<int64_t, int64_t>> steps = parse_half_open(text);
    if (!steps.ok()) return fail(steps.error());
    options.steps = *steps;
  }
  return options;
}

void ExportDialog::start_or_cancel() {
  if (writing_) {
    worker_.cancel_export();
    start_->setEnabled(false);  // until it has ended
    return;
  }
  const Result<analyzer::ExportOptions> options = wanted();
  if (!options.ok()) return show_text(sentence_of(options.error()));
  if (place_->text().isEmpty()) return show_text(tr("Where to? No file is named."));
  std::error_code ignored;
  if (!analyzer::makes_folder(options->format) && std::filesystem::exists(place(), ignored) &&
      replaces_ != place_->text()) {
    replaces_ = place_->text();
    return show_text(tr("%1 is there already. Export once more to replace it.").arg(replaces_));
  }
  show_writing(true);
  worker_.export_run(paths_, *options, place());
}

void ExportDialog::take(const Result<analyzer::Exported>& exported) {
  const bool cancelled = worker_.is_export_cancelled();
  show_writing(false);
  if (cancelled && !exported.ok()) return show_text(tr("Cancelled: nothing was written."));
  if (!exported.ok()) return show_text(sentence_of(exported.error()));
  progress_->setValue(kWholeProgress);
  QStringList lines;
  for (const std::string& line : analyzer::describe_export(exported->summary, place()))
    lines << to_qstring(line);
  show_text(lines.join(QLatin1Char('\n')));
}

void ExportDialog::show_writing(bool writing) {
  writing_ = writing;
  start_->setEnabled(true);
  start_->setText(writing ? tr("Cancel") : tr("Export"));
  const std::array<QWidget*, 4> fields = {format_, ranks_, steps_, place_->parentWidget()};
  for (QWidget* field : fields) field->setEnabled(!writing);
  progress_->setValue(0);
  message_->clear();
}

void ExportDialog::show_text(const QString& text) { message_->setText(text); }

}  // namespace dprof::widgets
