// SPDX-License-Identifier: Apache-2.0
// The timeline's rows for screen readers (view/accessible.h through QAccessible).
#pragma once

namespace dprof::widgets {

// From now on canvases report their rows. Once per program; more calls do no harm.
void make_canvas_accessible();

}  // namespace dprof::widgets
