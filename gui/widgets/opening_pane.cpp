// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/opening_pane.h"

#include "gui/view/drawing/texts.h"
#include "gui/view/panels.h"

namespace dprof::widgets {

OpeningPane::OpeningPane(Look& look, QWidget* parent)
    : Pane(
          look, [this](int width, int height) { return draw(width, height); }, parent),
      look_(look),
      recent_(new RecentList(look, this)) {}

void OpeningPane::begin() {
  error_.reset();
  opening_ = true;
  about_.clear();
  look_at_run_.reset();
  stage_ = tr("opening");
  share_ = 0;
  refresh();
}

void OpeningPane::show_run(const QString& about) {
  about_ = about;
  refresh();
}

bool OpeningPane::show_progress(const QString& stage, double share) {
  if (stage == stage_ && share == share_) return false;
  stage_ = stage;
  share_ = share;
  refresh();
  return true;
}

void OpeningPane::show_first(const analyzer::FirstLook& look) {
  if (!opening_) return;
  look_at_run_ = look;
  refresh();
}

void OpeningPane::fail(const Error& error) {
  opening_ = false;
  error_ = error;
  refresh();
}

void OpeningPane::end() {
  opening_ = false;
  error_.reset();
}

view::DrawList OpeningPane::draw(int width, int height) const {
  const auto message = [&](const std::string& title, const std::string& text) {
    return view::draw_message(title, text, {}, width, height, look_.measure());
  };
  if (error_) return message(error_->what, error_->hint);
  if (!opening_) {
    return message(view::say("No run is open"),
                   view::say("drop one here, or record one: dprof record -n 2 -- ./train"));
  }
  const std::string title = about_.isEmpty() ? view::say("Opening the run")
                                             : view::say("Opening {}", about_.toStdString());
  return view::draw_opening(title, stage_.toStdString(), share_,
                            look_at_run_ ? &*look_at_run_ : nullptr, width, height,
                            look_.measure());
}

}  // namespace dprof::widgets
