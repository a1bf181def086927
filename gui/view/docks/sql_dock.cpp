// SPDX-License-Identifier: Apache-2.0
#include "gui/view/docks/sql_dock.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/render/layout.h"
#include "base/format.h"
#include "gui/view/drawing/choice.h"
#include "gui/view/drawing/columns.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/model/result_track.h"
#include "gui/view/session/dock.h"

namespace dprof::view {
namespace {

constexpr int kSqlTitleHeight = 34;
constexpr int kSqlHeadHeight = 22;
constexpr int kErrorHeight = 3 * kLineHeight;  // message, the text, what is below it
constexpr int kLeastColumn = 56;
constexpr int kMostColumn = 460;
constexpr int kColumnGap = 12;

bool is_number(const analyzer::SqlValue& value) {
  return std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value);
}

// Ranks in words: "rank 3", "ranks 0, 2, 5", "12 ranks".
std::string ranks_in_words(const std::vector<int>& ranks) {
  constexpr size_t kMostNamed = 4;
  if (ranks.size() > kMostNamed) return say("{} ranks", ranks.size());
  const std::string numbers = fmt::format("{}", fmt::join(ranks, ", "));
  return say_count(ranks.size(), "rank {}", "ranks {}", numbers);
}

// Why ranks are missing in the result: each reason once, up to a limit.
std::string left_out_text(const analyzer::SqlResult& result) {
  constexpr size_t kMostReasons = 3;
  std::vector<std::pair<std::string_view, std::vector<int>>> reasons;
  size_t others = 0;
  for (const analyzer::SqlLeftOut& one : result.left_out) {
    const auto known = std::ranges::find(reasons, one.why, [](const auto& r) { return r.first; });
    if (known != reasons.end()) {
      known->second.push_back(one.rank);
    } else if (reasons.size() < kMostReasons) {
      reasons.push_back({one.why, {one.rank}});
    } else {
      ++others;
    }
  }
  std::string text;
  for (const auto& [why, ranks] : reasons)
    text += say(" · without {}: {}", ranks_in_words(ranks), analyzer::printable(why));
  if (others > 0) text += say(" · and without {} more", others);
  return text;
}

std::string counts_text(const SqlConsole& sql) {
  const analyzer::SqlResult& result = *sql.result();
  const auto rows = static_cast<int64_t>(result.rows.size());
  std::string text = result.more ? say("first {} of more rows", format_count(rows))
                                 : say_count(rows, "{} row", "{} rows", format_count(rows));
  text += say_count(result.ranks.size(), " of {} rank", " of {} ranks", result.ranks.size());
  if (sql.took()) text += fmt::format(" · {}", format_duration(*sql.took()));
  if (sql.error()) text += say(" · of the statement before");
  if (sql.is_stale()) text += say(" · from before the run was read again");
  return text;
}

class SqlPainter {
 public:
  SqlPainter(SqlConsole& sql, SqlResults& results, const Selection& selection, int width,
             int height, int top, const TextMeasure& measure)
      : sql_(sql),
        results_(results),
        selection_(selection),
        width_(width),
        height_(height),
        top_(top),
        measure_(measure) {}

  Panel paint() && {
    find_columns();
    const int lines = sql_.result() ? static_cast<int>(sql_.result()->rows.size()) : 0;
    panel_.width = std::max(width_, 2 * kDockMargin + width_of(columns_));
    panel_.height = above_lines() + lines * kLineHeight + kDockMargin;
    panel_.list.rect({0, top_, panel_.width, height_}, Role::kWindow);
    if (sql_.result()) paint_lines();
    panel_.list.rect({0, top_, panel_.width, above_lines()}, Role::kWindow);
    paint_title();
    if (sql_.error()) paint_error(top_ + kSqlTitleHeight);
    if (sql_.result()) paint_heads();
    return std::move(panel_);
  }

 private:
  [[nodiscard]] int above_lines() const {
    return kSqlTitleHeight + (sql_.error() ? kErrorHeight : 0) +
           (sql_.result() ? kSqlHeadHeight : 0);
  }

  // As wide as their content, within limits; numeric columns are recognised by the first line.
  void find_columns() {
    if (!sql_.result()) return;
    const analyzer::SqlResult& result = *sql_.result();
    titles_.reserve(result.columns.size());
    for (size_t c = 0; c < result.columns.size(); ++c) {
      const auto known = std::ranges::find_if(result.rows, [&](const auto& row) {
        return !std::holds_alternative<std::monostate>(row[c]);
      });
      const bool number = known != result.rows.end() && is_number((*known)[c]);
      const int cell = measure_.width(sql_.longest_cells()[c], number ? Font::kMono : Font::kBody);
      const std::string title = analyzer::printable(result.columns[c].name);
      const int wanted = std::max(cell, measure_.width(title, Font::kSmall)) + 2;
      const int width = std::clamp(wanted, kLeastColumn, kMostColumn);
      titles_.push_back(elided(title, width, Font::kSmall, measure_));
      columns_.push_back({titles_.back(), width + kColumnGap, number});
    }
  }

  void paint_lines() {
    const analyzer::SqlResult& result = *sql_.result();
    const LineRange shown = lines_in_view(result.rows.size(), top_, height_);
    for (size_t line = shown.first; line < shown.end; ++line) {
      const Box box{0, above_lines() + static_cast<int>(line) * kLineHeight, panel_.width,
                    kLineHeight};
      if (sql_.line() == line) panel_.list.rect(box, Role::kAccentSoft);
      paint_line(result, line, box);
      panel_.links.push_back({below(box, top_ + above_lines()),
                              [&on = results_, line] { on.choose_line(line); },
                              /*shows=*/true});
    }
  }

  // A cell that names a row of the timeline is shown as a link, and is one.
  void paint_line(const analyzer::SqlResult& result, size_t line, Box box) {
    int x = kDockMargin;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const analyzer::SqlValue& value = result.rows[line][c];
      const int room = columns_[c].width - kColumnGap;
      const bool names_row = named_row(result, line, c).has_value();
      const bool is_null = std::holds_alternative<std::monostate>(value);
      const Font font = is_number(value) ? Font::kMono : Font::kBody;
      const Role role = names_row ? Role::kAccent : is_null ? Role::kTextFaint : Role::kText;
      const Box cell{x, box.y, room, kLineHeight};
      panel_.list.text(
          cell, elided(cell_text(value), room, font, measure_),
          {.role = role, .font = font, .align = columns_[c].number ? Align::kRight : Align::kLeft});
      if (names_row) {
        panel_.links.push_back({below(cell, top_ + above_lines()),
                                [&on = results_, line, c] { on.choose_line(line, c); },
                                /*shows=*/true});
      }
      x += columns_[c].width;
    }
  }

  int choice(int x, std::string_view title, bool chosen, std::function<void()> follow) {
    const Box box = draw_choice({x, top_ + 4}, title, chosen, measure_, panel_.list);
    panel_.links.push_back({box, std::move(follow)});
    return x + box.w + kChoiceGap;
  }

  void paint_title() {
    const std::vector<int>& chosen = selection_.ranks;
    const bool all = sql_.ranks() == SqlRanks::kAll || chosen.empty();
    int x = choice(kDockMargin, say("all ranks"), all, [&on = sql_] { on.ask_of(SqlRanks::kAll); });
    if (!chosen.empty()) {
      x = choice(x, say("only {}", ranks_in_words(chosen)), !all,
                 [&on = sql_] { on.ask_of(SqlRanks::kChosen); });
    }
    int right = width_ - kDockMargin;
    if (results_.has_track()) {
      right = track_link(right, say("remove the track"), [&on = results_] { on.remove_track(); });
    } else if (sql_.result() && time_columns(*sql_.result())) {
      right = track_link(right, say("make a track"), [&on = results_] { (void)on.make_track(); });
    }
    const int room = right - x - 20;
    panel_.list.text({x + 10, top_, room, kSqlTitleHeight},
                     elided(title(), room, Font::kBody, measure_), {.role = Role::kTextDim});
  }

  int track_link(int right, std::string_view title, std::function<void()> follow) {
    const Box box{right - measure_.width(title, Font::kBold) - 16, top_ + 4,
                  measure_.width(title, Font::kBold) + 16, kSqlTitleHeight - 8};
    panel_.list.text(box, std::string(title),
                     {.role = Role::kAccent, .font = Font::kBold, .align = Align::kCentre});
    panel_.links.push_back({box, std::move(follow)});
    return box.x;
  }

  [[nodiscard]] std::string title() const {
    if (sql_.is_asking()) return say("asking… Esc ends it");
    if (sql_.result()) return counts_text(sql_) + left_out_text(*sql_.result());
    if (sql_.error()) return {};
    return say("One statement, run on each rank's trace: {}",
               "SELECT id, start_ns, duration_ns FROM host_range "  // untranslated: SQL
               "ORDER BY duration_ns DESC LIMIT 20");               // untranslated: SQL
  }

  // The message, and below it the affected part of the text with a mark under the position.
  void paint_error(int y) {
    const analyzer::SqlError& error = *sql_.error();
    const int room = width_ - 2 * kDockMargin;
    std::string message = analyzer::printable(error.error.what);
    if (!error.error.hint.empty()) message += ": " + error.error.hint;
    panel_.list.rect({0, y, panel_.width, kErrorHeight - 4}, Role::kProblemSoft);
    panel_.list.text({kDockMargin, y, room, kLineHeight},
                     elided(message, room, Font::kBold, measure_),
                     {.role = Role::kProblem, .font = Font::kBold});
    if (!error.offset) return;
    const std::string& text = sql_.error_text();
    const size_t at = std::min(*error.offset, text.size());
    const size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;  // npos + 1 = 0
    const std::string before = analyzer::printable(text.substr(begin, at - begin));
    const std::string after = analyzer::printable(text.substr(at, text.find('\n', at) - at));
    const std::string shown = tail(before, room / 2);
    const int x = kDockMargin + measure_.width(shown, Font::kMono);
    panel_.list.text({kDockMargin, y + kLineHeight, room, kLineHeight - 4},
                     elided(shown + after, room, Font::kMono, measure_), {.font = Font::kMono});
    const int foot = y + 2 * kLineHeight - 4;
    const Point caret[] = {{x, foot + 7}, {x + 4, foot + 1}, {x + 8, foot + 7}};
    panel_.list.polyline(caret, Role::kProblem, false, 2);
  }

  // As much of a text's end as fits.
  [[nodiscard]] std::string tail(std::string text, int room) const {
    bool is_cut = false;
    while (!text.empty() && measure_.width(text, Font::kMono) > room) {
      size_t letter = 1;
      while (letter < text.size() && (static_cast<unsigned char>(text[letter]) & 0xc0) == 0x80)
        ++letter;
      text.erase(0, letter);
      is_cut = true;
    }
    return is_cut ? "…" + text : text;
  }

  void paint_heads() {
    const int y = top_ + above_lines() - kSqlHeadHeight;
    draw_heads(columns_, {kDockMargin, y}, kSqlHeadHeight, panel_.list);
    panel_.list.line({kDockMargin, y + kSqlHeadHeight - 1},
                     {panel_.width - kDockMargin, y + kSqlHeadHeight - 1}, Role::kBorder);
  }

  SqlConsole& sql_;
  SqlResults& results_;
  const Selection& selection_;
  int width_;
  int height_;
  int top_;
  const TextMeasure& measure_;
  std::vector<std::string> titles_;
  std::vector<Column> columns_;
  Panel panel_;
};

}  // namespace

Panel draw_sql_dock(SqlConsole& sql, SqlResults& results, const Selection& selection, int width,
                    int height, int top, const TextMeasure& measure) {
  return SqlPainter(sql, results, selection, width, height, top, measure).paint();
}

Box box_of_result_line(const SqlConsole& sql, size_t line) {
  const int above = kSqlTitleHeight + kSqlHeadHeight + (sql.error() ? kErrorHeight : 0);
  return {0, above + static_cast<int>(line) * kLineHeight, 1, kLineHeight};
}

}  // namespace dprof::view
