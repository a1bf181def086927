// SPDX-License-Identifier: Apache-2.0
// Colours of SQL in a text field: keywords, strings, numbers, comments.
#pragma once

#include <QSyntaxHighlighter>

#include "gui/widgets/look.h"

namespace dprof::widgets {

class SqlHighlighter : public QSyntaxHighlighter {
  Q_OBJECT

 public:
  SqlHighlighter(Look& look, QTextDocument* document);

 protected:
  void highlightBlock(const QString& text) override;

 private:
  Look& look_;
};

}  // namespace dprof::widgets
