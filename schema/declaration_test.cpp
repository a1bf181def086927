// SPDX-License-Identifier: Apache-2.0
// The declarations themselves: complete, consistent, documented.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "schema/diagnostics.h"
#include "schema/folder_diagnostics.h"
#include "schema/marker_names.h"
#include "schema/tables.h"

namespace dprof::schema {
namespace {

bool is_table(std::string_view name) {
  return std::ranges::any_of(kTables, [&](const Table& t) { return t.name == name; });
}

TEST(DeclarationTest, EveryTableAndColumnHasASentence) {
  for (const Table& table : kTables) {
    EXPECT_TRUE(table.doc.ends_with('.')) << table.name;
    for (const Column& c : table.columns)
      EXPECT_TRUE(c.doc.ends_with('.')) << table.name << "." << c.name;
  }
  for (const Enumeration& e : kEnumerations) {
    for (const EnumValue& v : e.values)
      EXPECT_TRUE(v.doc.ends_with('.')) << e.name << "." << v.word;
  }
}

TEST(DeclarationTest, ReferencesLeadSomewhere) {
  for (const Table& table : kTables) {
    for (const Column& c : table.columns) {
      if (c.type == Type::kEnum) {
        EXPECT_TRUE(std::ranges::any_of(kEnumerations,
                                        [&](const Enumeration& e) { return e.name == c.refers; }))
            << table.name << "." << c.name;
      } else if (!c.refers.empty()) {
        EXPECT_TRUE(is_table(c.refers)) << table.name << "." << c.name;
        EXPECT_TRUE(c.name.ends_with("_id")) << table.name << "." << c.name;
      }
    }
  }
}

TEST(DeclarationTest, NamesAndNumbersAreUnique) {
  std::set<std::string_view> tables;
  for (const Table& table : kTables) {
    EXPECT_TRUE(tables.insert(table.name).second) << table.name;
    std::set<std::string_view> columns;
    for (const Column& c : table.columns)
      EXPECT_TRUE(columns.insert(c.name).second) << table.name << "." << c.name;
  }
  for (const Enumeration& e : kEnumerations) {
    std::set<int64_t> numbers;
    std::set<std::string_view> words;
    for (const EnumValue& v : e.values) {
      EXPECT_TRUE(numbers.insert(v.value).second) << e.name;
      EXPECT_TRUE(words.insert(v.word).second) << e.name;
    }
  }
}

// What scripts can rely on since the first version (docs/reference/schema.md): these columns, in
// this order, first in their table.
TEST(DeclarationTest, ContractColumnsStandFirst) {
  const auto columns_of = [](std::string_view name) {
    const auto* table = std::ranges::find(kTables, name, &Table::name);
    std::string list;
    for (const Column& c : table->columns) list += std::string(c.name) + " ";
    return list;
  };
  EXPECT_EQ(columns_of("meta"), "key value ");
  EXPECT_EQ(columns_of("string"), "id value ");
  EXPECT_EQ(columns_of("thread"), "id os_tid name_id role ");
  EXPECT_EQ(columns_of("host_range"),
            "id thread_id start_ns duration_ns name_id category sequence correlation ");
  EXPECT_TRUE(columns_of("gpu_activity")
                  .starts_with("id device_id stream_id start_ns duration_ns name_id kind bytes "
                               "correlation graph_node "));
  EXPECT_TRUE(columns_of("collective")
                  .starts_with("id communicator_id function sequence group_sequence bytes count "
                               "dtype root peer reduction "
                               "enqueue_ns start_ns end_ns state algorithm protocol channels "
                               "stream_id bucket captured "));
  EXPECT_EQ(columns_of("step"), "step_index start_ns end_ns source ");
  EXPECT_EQ(columns_of("loss"), "source thread_id reason count first_ns last_ns ");
  EXPECT_EQ(columns_of("diagnostic"), "code severity count text_id ");
}

TEST(DiagnosticsTest, EveryRowIsWhole) {
  std::set<std::string_view> codes;
  const auto check = [&](const DiagnosticKind& kind) {
    EXPECT_TRUE(codes.insert(kind.code).second) << kind.code;
    EXPECT_TRUE(kind.sentence.ends_with('.')) << kind.code;
    EXPECT_FALSE(kind.hint.empty()) << kind.code;
    EXPECT_EQ(&diagnostic_kind(kind.code), &kind);
  };
  std::ranges::for_each(kDiagnostics, check);
  std::ranges::for_each(kFolderDiagnostics, check);
}

TEST(MarkerNamesTest, KnowsWhatPyTorchEmits) {
  EXPECT_EQ(marker_of("ProfilerStep#17"), Marker::kStep);
  EXPECT_EQ(marker_of("Optimizer.step#SGD.step"), Marker::kOptimizer);
  EXPECT_EQ(marker_of("Optimizer.zero_grad#SGD.zero_grad"), Marker::kNone);
  EXPECT_EQ(marker_of("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"),
            Marker::kInput);
  EXPECT_EQ(marker_of("DistributedDataParallel.forward"), Marker::kForward);
  EXPECT_EQ(marker_of("backward"), Marker::kBackward);
  EXPECT_EQ(marker_of("step2"), Marker::kNone);
}

}  // namespace
}  // namespace dprof::schema
