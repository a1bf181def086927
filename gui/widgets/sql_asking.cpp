// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/sql_asking.h"

#include <utility>

namespace dprof::widgets {

SqlAsking::SqlAsking(view::Session& session, const ViewKeeper& views)
    : session_(session), views_(views) {
  connect(&worker_, &Worker::asking, this, [this](const QString& stage, double) {
    stage_ = stage;
    emit progressed();
  });
  connect(&worker_, &Worker::answered, this,
          [this](const std::shared_ptr<analyzer::SqlAnswer>& answer, DurationNs took) {
            stage_.clear();
            // Outputs are the same each time, how long it took is not.
            session_.sql.take(std::move(*answer),
                              views_.keeps() ? std::optional(took) : std::nullopt);
            emit changed();
          });
}

void SqlAsking::ask() {
  session_.sql.begin();
  worker_.ask(session_.sql_results.traces_to_ask(), session_.sql.text());
  emit changed();
}

void SqlAsking::cancel() {
  forget();
  session_.sql.cancel();
  emit changed();
}

void SqlAsking::forget() {
  worker_.cancel_ask();
  stage_.clear();
}

}  // namespace dprof::widgets
