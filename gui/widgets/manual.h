// SPDX-License-Identifier: Apache-2.0
// The manual, in a window of its own.
#pragma once

#include "gui/widgets/look.h"

namespace dprof::widgets {

// Open at the section of that title (docs/gui.md), if there is one.
void show_manual(QWidget& parent, const Look& look, const QString& section);

}  // namespace dprof::widgets
