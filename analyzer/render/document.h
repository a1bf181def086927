// SPDX-License-Identifier: Apache-2.0
// A report's contents as a tree: sections.h builds it from the typed report, writers.h writes it as
// terminal text, Markdown or HTML. Texts are stored unescaped; the writers escape them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "analyzer/vocabulary/category.h"

namespace dprof::analyzer {

enum class Style : uint8_t { kPlain, kStrong, kFaint, kGood, kWarn, kBad, kBar, kAccent };

struct Span {
  std::string text;
  Style style = Style::kPlain;
};

// Begins a section.
struct Heading {
  std::string title;
  std::string remark = {};  // next to the title
  Style style = Style::kStrong;
  Style remark_style = Style::kPlain;
  int level = 4;  // of Markdown
};

// "clock        one host, one clock".
struct Fact {
  enum class Fit : uint8_t { kWhole, kWrapped, kCut };  // handling of overlong text
  std::string label;
  std::vector<Span> said;
  Fit fit = Fit::kWhole;
  Style style = Style::kFaint;  // of the label
};
struct FactList {
  std::vector<Fact> facts;
};

struct Paragraph {
  std::string text;
  Style style = Style::kPlain;
  std::string lead = "  ";  // "  → ": before the first line; the others are indented below its end
  Style lead_style = Style::kPlain;
  std::string tail = {};  // at the right end of the first line
};

// One line, never broken.
struct SingleLine {
  std::vector<Span> spans;
};

struct Item {
  std::string text;
  Style style = Style::kPlain;
  std::string mark = "·";
  Style mark_style = Style::kPlain;
};
struct List {
  std::vector<Item> items;
};

enum class Align : uint8_t { kLeft, kRight };

// Columns that are as wide as their widest cell.
struct Table {
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };
  std::vector<Column> columns;
  std::vector<std::vector<Span>> rows;

  Table() = default;
  // Columns of figures.
  Table(std::initializer_list<std::string_view> titles) { add_columns(Align::kRight, titles); }

  void add_columns(Align align, std::initializer_list<std::string_view> titles) {
    for (const std::string_view title : titles) columns.push_back({std::string(title), align});
  }
  void add_row(std::vector<std::string> cells) {
    std::vector<Span>& row = rows.emplace_back();
    for (std::string& cell : cells) row.push_back({std::move(cell)});
  }
  // A column with a cell for each of `things`, the table's rows.
  template <typename Things, typename Cell>
  void add_column(std::string_view title, Align align, const Things& things, Cell&& cell) {
    columns.push_back({std::string(title), align});
    rows.resize(things.size());
    for (size_t i = 0; i < rows.size(); ++i) rows[i].push_back({cell(things[i])});
  }
};

// The parts of a whole.
struct Bars {
  struct Part {
    std::string title;
    std::string value;
    double share = 0;
    std::vector<std::string> notes = {};
    Style style = Style::kBar;
    std::optional<Category> category = {};  // determines the colour, if it has one
  };
  std::vector<Part> parts;
};

// Shell commands.
struct Commands {
  std::vector<std::string> lines;
};

// Separates the following from the preceding without a heading.
struct BlankLine {};

struct Fold;  // hidden behind its summary where the output can be expanded

using Block = std::variant<Heading, FactList, Paragraph, SingleLine, List, Table, Bars, Commands,
                           BlankLine, Fold>;

struct Document {
  std::vector<Block> blocks;

  [[nodiscard]] bool empty() const;
  void add(Block block);
  void add(Document other);
  void add_item(const Item& item);  // to the list that ends the document, or to a new one
  // "… and 3 more (--top 11)".
  void add_more(const std::string& text);
};

struct Fold {
  std::string summary;
  Document inside = {};
};

inline bool Document::empty() const { return blocks.empty(); }
inline void Document::add(Block block) { blocks.push_back(std::move(block)); }
inline void Document::add(Document other) {
  std::ranges::move(other.blocks, std::back_inserter(blocks));
}

inline void Document::add_item(const Item& item) {
  if (empty() || !std::holds_alternative<List>(blocks.back())) blocks.push_back(List{});
  std::get<List>(blocks.back()).items.push_back(item);
}

inline void Document::add_more(const std::string& text) {
  add(Paragraph{.text = "… and " + text, .style = Style::kFaint, .lead_style = Style::kFaint});
}

// "PHASES   as marked; …", followed by a table.
[[nodiscard]] inline Document titled_table(const std::string& title, const std::string& remark,
                                           const Table& table) {
  return {{Heading{.title = title, .remark = remark}, table}};
}

}  // namespace dprof::analyzer
