// SPDX-License-Identifier: Apache-2.0
// The window as a file: pixels (PNG), or lines and letters that can be enlarged (SVG, PDF).
#pragma once

#include <QWidget>
#include <filesystem>

#include "base/result.h"

namespace dprof::widgets {

// The file's ending says which: png, svg, pdf.
Status write_picture(const std::filesystem::path& path, QWidget& window);

}  // namespace dprof::widgets
