// SPDX-License-Identifier: Apache-2.0
// Scripts: commands for an open run, one per line, without a screen.
//
//     view heatmap              a page or a dock
//     select finding:1          instead of what was selected; `add rank:3` selects it, too
//     key F F                   keys, as the window lists them: W, Shift+N, Ctrl+3
//     note slow from here on    on what is selected
//     sql SELECT 1              one statement, asked of the traces
//     search all_reduce         the next event whose name contains it
//     what-if input=0           changes that much more on the page What if
//     why 42                    why is that step long? Without a number the selected one
//     wait-idle 10s             every line waits until nothing is pending; this one no longer than
//     that assert selection.ranks == [5]     of the dumped state; also != < <= > >= contains
//     screenshot finding1.png
//     dump-state finding1.json
//     dump-draw-list page.txt
//
// `#` at the beginning or after a blank begins a comment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dprof::view {

enum class ScriptVerb : uint8_t {
  kView,
  kSelect,
  kAdd,
  kKey,
  kSearch,
  kSql,
  kNote,
  kWhatIf,
  kWhy,
  kWaitIdle,
  kAssert,
  kScreenshot,
  kDumpState,
  kDumpDrawList,
};

struct ScriptLine {
  int number = 0;  // in the file, from 1
  ScriptVerb verb{};
  std::string argument;
};

// Errors (usage) name the line.
Result<std::vector<ScriptLine>> parse_script(std::string_view text);

// The reason why `expression` ("selection.ranks == [5]", "rows.0.track contains rank") is false for
// a dumped state; "" = it is true.
[[nodiscard]] std::string failed_assertion(const std::string& state, std::string_view expression);

}  // namespace dprof::view
