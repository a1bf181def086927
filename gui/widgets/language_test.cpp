// SPDX-License-Identifier: Apache-2.0
// Translations: how they are found and read; and that everything in the window goes through them.
#include "gui/widgets/language.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QDialog>
#include <QLabel>
#include <QRegularExpression>
#include <QTest>
#include <QXmlStreamReader>
#include <fstream>
#include <sstream>

#include "analyzer/render/sections.h"
#include "gui/view/accessible.h"
#include "gui/view/draw_session.h"
#include "gui/view/model/test_support/test_model.h"
#include "gui/view/pages/compare_page.h"
#include "gui/widgets/main_window.h"
#include "gui/widgets/picture.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_folder.h"

namespace dprof::widgets {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

namespace fs = std::filesystem;

std::string file_with(std::string_view messages) {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<!DOCTYPE TS>\n"
      "<TS version=\"2.1\" language=\"de\">\n<context><name>view</name>{}</context></TS>\n",
      messages);
}

class LanguageTest : public ::testing::Test {
 protected:
  LanguageTest() { qputenv("XDG_DATA_HOME", QByteArray::fromStdString(folder.path().string())); }
  ~LanguageTest() override {
    view::install_texts({});
    qunsetenv("XDG_DATA_HOME");
  }
  // In the user's folder for data.
  fs::path write(const std::string& name, const std::string& text) const {
    fs::path file = folder.path() / "dprof" / "texts" / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file;
  }

  test_support::TemporaryFolder folder;
};

TEST_F(LanguageTest, ReadsWhatATranslatorWrote) {
  const fs::path file =
      write("dprof_de.ts",
            file_with("<message><source>wall</source><translation>gesamt</translation></message>"
                      "<message><source>a &lt; b</source>"
                      "<translation type=\"unfinished\">a &lt; b?</translation></message>"
                      "<message><source>mean</source><translation></translation></message>"));
  const Result<view::Texts> texts = read_texts(file);
  ASSERT_TRUE(texts.ok()) << texts.error().what;
  EXPECT_THAT(*texts, ElementsAre(Pair("a < b", "a < b?"), Pair("wall", "gesamt")));
}

TEST_F(LanguageTest, FilesThatCannotBeReadAreSaid) {
  EXPECT_EQ(read_texts(folder.path() / "none.ts").error().code, Code::kNotFound);
  EXPECT_EQ(read_texts(write("a.ts", "<html/>")).error().code, Code::kDamaged);
  const fs::path cut = write("b.ts", file_with("<message><source>wall</so"));
  const Result<Language> language = set_language(cut.string());
  ASSERT_FALSE(language.ok());
  EXPECT_THAT(language.error().what, HasSubstr("b.ts: line 4"));
  EXPECT_EQ(view::say("wall"), "wall");
}

TEST_F(LanguageTest, TheLanguageIsLookedForInTheUsersFolder) {
  const fs::path file = write(
      "dprof_de.ts",
      file_with("<message><source>wall</source><translation>gesamt</translation></message>"
                "<message><source>{} lost</source><translation>verloren</translation></message>"));
  for (const char* wanted : {"de", "de_AT"}) {
    const Result<Language> language = set_language(wanted);
    ASSERT_TRUE(language.ok()) << wanted;
    EXPECT_EQ(language->file, file);
    EXPECT_THAT(language->passed_over, ElementsAre("{} lost"));
    EXPECT_EQ(view::say("wall"), "gesamt");
  }
  EXPECT_EQ(QCoreApplication::translate("any", "wall"), "gesamt") << "tr() of widgets, too";
  EXPECT_EQ(set_language("fr").error().code, Code::kNotFound);
  EXPECT_EQ(set_language("en")->file, "");
  EXPECT_EQ(view::say("wall"), "wall");
  EXPECT_EQ(set_language("", {"fr-FR", "de-CH", "en-GB"})->file, file);
  EXPECT_EQ(set_language("", {"en-GB", "de-CH"})->file, "") << "English comes before it";
  EXPECT_EQ(set_language("", {"C"})->file, "");
}

// What follows shows a run and a translation in which no word has a Latin letter: those that are
// painted all the same are texts that are not translated.

std::string foreign(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const size_t end = c == '{' ? text.find('}', i) : c == '&' ? text.find(';', i) : i;
    if (end != i && end != std::string_view::npos) {  // a placeholder, an entity of XML
      out += text.substr(i, end + 1 - i);
      i = end;
    } else if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      const bool is_small = std::islower(static_cast<unsigned char>(c)) != 0;
      const QChar other(static_cast<char16_t>(is_small ? u'а' + (c - 'a') : u'А' + (c - 'A')));
      out += QString(other).toStdString();
    } else {
      out += c;
    }
  }
  return out;
}

// gui/texts/dprof_en.ts with a translation of each of its texts.
std::string foreign_texts() {
  std::ifstream in(test_support::source_dir() + "/gui/texts/dprof_en.ts");
  const QRegularExpression source("<source>(.*)</source>");
  const std::string unfinished = "<translation type=\"unfinished\"></translation>";
  std::string out;
  std::string text;
  for (std::string line; std::getline(in, line); out += line + '\n') {
    const QRegularExpressionMatch match = source.match(QString::fromStdString(line));
    if (match.hasMatch()) text = foreign(match.captured(1).toStdString());
    if (const size_t at = line.find(unfinished); at != std::string::npos)
      line.replace(at, unfinished.size(), "<translation>" + text + "</translation>");
  }
  return out;
}

analyzer::Memory memory() {
  constexpr int64_t kGb = 1'000'000'000;
  analyzer::RankMemory one{.rank = 0, .device = 0};
  one.by_category.emplace();
  (*one.by_category)[static_cast<size_t>(analyzer::MemoryUse::kParameter)] = kGb;
  one.peak_allocated = kGb;
  one.peak_reserved = 2 * kGb;
  one.device_total = 4 * kGb;
  one.peak_step = 77;
  one.peak_phase = foreign("backward");
  one.at_peak = {{analyzer::MemoryUse::kParameter, "", foreign("forward"), 40, kGb}};
  analyzer::RankMemory on_host{.rank = 1, .device = -1};
  on_host.peak_allocated = kGb;
  return {.per_rank = {one, on_host},
          .host = {{.rank = 0, .peak_resident = kGb, .first_steady = 1, .last_steady = 2}}};
}

// Of a device, of a host's allocator, and what is resident; each changes.
void add_memory(view::RankModel& rank) {
  constexpr int64_t kMb = 1'000'000;
  analyzer::LevelCurve levels{.cell_ns = view::test::kMs, .points = {}, .end = TraceNs{300 * kMb}};
  levels.points = {{TraceNs{0}, kMb, 2 * kMb, kMb, 3 * kMb},
                   {TraceNs{100 * kMb}, kMb, kMb, kMb, 3 * kMb}};
  rank.memory.emplace_back(
      analyzer::MemoryCurve{0, analyzer::MemorySource::kAllocatorEvents, levels});
  rank.memory.emplace_back(
      analyzer::MemoryCurve{-1, analyzer::MemorySource::kCountedEvents, levels});
  rank.memory.emplace_back(analyzer::MemoryCurve{-1, analyzer::MemorySource::kResident, levels});
}

void make_foreign(analyzer::RankLanes& lanes) {
  for (std::string& name : lanes.names) name = foreign(name);
  for (analyzer::ThreadLanes& thread : lanes.threads) {
    thread.name = foreign(thread.name);
    for (analyzer::Lane& lane : thread.depths) {  // no category's title that is a text, too
      std::ranges::replace(lane.phase, static_cast<uint8_t>(analyzer::Category::kHost),
                           static_cast<uint8_t>(analyzer::Category::kOptimizer));
    }
  }
}

// The small run with all that pages show, and no Latin letter in it.
view::Model foreign_model() {
  view::Model model = view::test::small_model();
  model.run.name = foreign(model.run.name);
  model.run.command = foreign("train");
  for (analyzer::TraceFile& trace : model.run.traces) trace.host = foreign(trace.host);
  for (view::RankModel& rank : model.ranks) {
    rank.host = foreign(rank.host);
    analyzer::RankLanes lanes = rank.events->lanes;
    make_foreign(lanes);
    if (rank.rank == 1) lanes.open_slices = 1;  // its last events are unfinished
    rank.events = std::make_shared<const view::RankEvents>(std::move(lanes));
    add_memory(rank);
  }
  analyzer::Report& report = model.report;
  report.run.command = model.run.command;
  report.run.world_size = 8;
  for (analyzer::Finding& finding : *report.findings) {
    for (std::string* text : {&finding.title, &finding.detail, &finding.advice, &finding.cause})
      *text = foreign(*text);
  }
  for (analyzer::HostClock& host : report.clock->hosts) host.host = foreign(host.host);
  report.clock->hosts.back().method = foreign("probes");
  report.recording.overhead = analyzer::Overhead{.share = 0.01, .how = foreign("measured")};
  report.recording.diagnostics = {{.code = foreign("code"), .count = 3, .text = foreign("text")}};
  report.recording.lost = {{.rank = 0, .count = 2}};
  report.memory = memory();
  report.breakdown.emplace();
  for (int rank = 0; rank < view::test::kRanks; ++rank) {
    analyzer::RankBreakdown one{.rank = rank};
    one.wall_ns = view::test::kSteps * view::test::kStepNs;
    one.category_ns[static_cast<size_t>(analyzer::Category::kForward)] = one.wall_ns;
    report.breakdown->per_rank.push_back(one);
  }
  model.collectives.front().complete = false;
  model.messages = {{.communicator = "1", .from = 0, .to = 1, .bytes = 1000, .transfer_ns = 500},
                    {.communicator = "1", .from = 1, .to = 2}};
  model.matrices = analyzer::rank_matrices(model.collectives, model.messages);
  return model;
}

// One of which next to nothing is known.
view::Model bare_model() {
  view::Model model = foreign_model();
  model.steps.clear();
  model.collectives.clear();
  model.messages.clear();
  model.matrices.clear();
  model.report.findings.reset();
  model.report.breakdown.reset();
  model.report.memory.reset();
  model.report.clock.reset();
  model.report.run.steps.reset();
  model.report.recording = {};
  for (view::RankModel& rank : model.ranks) {
    rank.host.clear();
    rank.steps.clear();
    rank.pieces.clear();
    rank.own_delay.reset();
    rank.own_delays.clear();
    rank.events = std::make_shared<const view::RankEvents>();
  }
  return model;
}

// Looks at everything, and keeps each text that has a Latin word in it.
class Reader {
 public:
  Reader(MainWindow& window, fs::path picture)
      : window_(window), picture_(std::move(picture)), said_(analyzer::memory_remarks(memory())) {
    said_.push_back(analyzer::peak_moment(memory().per_rank.front()));
  }

  void pages_and_docks() {
    for (size_t p = 0; p < view::kPages.size(); ++p) {
      window_.show_page(static_cast<view::Page>(p));
      picture();
    }
    for (size_t d = 0; d < view::kDocks.size(); ++d) {
      window_.session().dock = static_cast<view::Dock>(d);
      picture();
    }
    window_.show_page(view::Page::kTimeline);
  }

  // All that is painted, as an SVG.
  void picture() {
    window_.refresh();
    QTest::qWait(0);
    ASSERT_TRUE(write_picture(picture_, window_).ok());
    QFile file(QString::fromStdString(picture_.string()));
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    QXmlStreamReader svg(&file);
    while (!svg.atEnd()) {
      if (svg.readNext() == QXmlStreamReader::StartElement && svg.name() == QLatin1String("text"))
        read(svg.readElementText());
    }
    const std::vector<view::Row>& rows = window_.session().is_open()
                                             ? window_.session().tracks.layout().rows
                                             : std::vector<view::Row>();
    for (size_t i = 0; i < rows.size(); ++i) {
      read(to_qstring(view::accessible_row(view::rows_area(window_.session()),
                                           window_.session().selecting.selection(), i, 100)
                          .name));
      read(to_qstring(view::accessible_value(view::rows_area(window_.session()), i)));
    }
  }

  // What is not painted before somebody asks for it.
  void names() {
    const QList<QAction*> actions = window_.actions();
    QStringList keys;
    for (const QAction* action : actions) {
      read(action->text());
      for (const QKeySequence& key : action->shortcuts())
        keys << key.toString(QKeySequence::NativeText);
    }
    const QList<QWidget*> widgets = window_.findChildren<QWidget*>();
    for (const QWidget* widget : widgets) {
      const bool is_qts_own = qobject_cast<QTabBar*>(widget->parentWidget()) != nullptr ||
                              (qobject_cast<QDockWidget*>(widget->parentWidget()) != nullptr &&
                               qobject_cast<const QAbstractButton*>(widget) != nullptr);
      if (!is_qts_own) read(widget->accessibleName());
    }
    const QList<QLineEdit*> fields = window_.findChildren<QLineEdit*>();
    for (const QLineEdit* field : fields) read(field->placeholderText());
    ASSERT_TRUE(window_.press(QStringLiteral("?")));
    auto* dialog = window_.findChild<QDialog*>();
    ASSERT_NE(dialog, nullptr);
    read(dialog->windowTitle());
    const QList<QLabel*> labels = dialog->findChildren<QLabel*>();
    for (const QLabel* label : labels) {
      if (!keys.contains(label->text().section(QStringLiteral("  "), 0, 0))) read(label->text());
    }
    dialog->close();
  }

  void read(QString text) {
    // The analyser's words, units, SQL, and the name of the program.
    static const char* const kEnglish[] = {
        "SELECT id, start_ns, duration_ns FROM host_range ORDER BY duration_ns DESC LIMIT 20",
        "all_reduce",
        "exposed wait",
        "exposed transfer",
        "input wait",
        "overlapped",
        "optimizer",
        "forward",
        "backward",
        "parameters",
        "dprof",
        "ns",
        "µs",
        "ms",
        "kB",
        "MB",
        "GB",
        "ppm"};
    for (const char* known : kEnglish) {
      text.remove(
          QRegularExpression("(?<![A-Za-z])" + QRegularExpression::escape(known) + "(?![A-Za-z])"));
    }
    static const QRegularExpression kLatin("[A-Za-z]{2,}");
    if (!text.contains(kLatin)) return;
    const std::string found = text.trimmed().toStdString();
    constexpr size_t kLeast = 7;  // of a part of a sentence
    const bool is_said = std::ranges::any_of(said_, [&](const std::string& sentence) {
      return found.size() >= kLeast && sentence.find(found) != std::string::npos;
    });
    if (!is_said) found_.insert(found);
  }

  [[nodiscard]] const std::set<std::string>& found() const { return found_; }

 private:
  MainWindow& window_;
  fs::path picture_;
  std::vector<std::string> said_;  // by the analyser
  std::set<std::string> found_;
};

// Everything that a session can make the window show.
void walk(MainWindow& window, Reader& reader) {
  view::Session& session = window.session();
  reader.picture();  // no run is open
  window.show_model(std::make_shared<const view::Model>(foreign_model()));
  reader.names();
  session.notes.add({TraceNs{1000}, TraceNs{2000}}, "1");
  session.tracks.pin({"rank:1", "rank:*/thread:*"});
  session.tracks.hide({"rank:0"});
  for (const char* selector : {"step:1", "name:*", "collective:0/all_reduce/0",
                               "collective:0/all_reduce/1", "range:10ms..20ms"}) {
    ASSERT_TRUE(window.select(selector, false).ok()) << selector;
    window.press("Alt+3");  // the details of it
    for (const view::Dock dock : {view::Dock::kTable, view::Dock::kHistogram}) {
      session.dock = dock;
      reader.picture();
    }
  }
  reader.pages_and_docks();
  session.steps.show_metric(view::Metric::kStepTime);
  for (size_t m = 0; m < view::kPairMeasures.size(); ++m) {
    session.pairs.show({static_cast<view::PairMeasure>(m), ""});
    window.show_page(view::Page::kMatrix);
    reader.picture();
  }
  window.show_page(view::Page::kTimeline);
  for (const auto& [slice, piece] :
       {std::pair(std::optional(view::SlicePlace{1, 0, 0, 2}), std::optional<uint32_t>()),
        std::pair(std::optional<view::SlicePlace>(), std::optional<uint32_t>(2))}) {
    session.tracks.set_hover(
        view::Hover{.at = {50, 50}, .slice = slice, .piece = piece, .rank_index = 1, .folded = 3});
    reader.picture();
  }
  session.tracks.toggle(*session.tracks.layout().of_rank(1));
  for (const int memory : {0, 1, 2}) {
    session.tracks.set_hover(view::Hover{.at = {50, 50}, .rank_index = 1, .memory = memory});
    reader.picture();
  }
  session.tracks.set_hover({});
  session.dock = view::Dock::kFlame;
  for (const char* name : {"name:*", ""}) {
    session.selecting.clear();
    if (*name != 0) {
      EXPECT_TRUE(window.select(name, false).ok());
    }
    for (size_t o = 0; o < view::kFlameOrders.size(); ++o) {
      session.events.show_flame_order(static_cast<view::FlameOrder>(o));
      reader.picture();
    }
  }
  window.search("0", 1);
  reader.picture();
  const auto same = session.shared_model();
  const auto compared = view::compare_models(*same, view::events_of(*same), foreign_model());
  view::ComparedRuns without_diff = *compared;  // its words are the analyser's
  without_diff.diff.reset();
  session.compared = std::make_shared<const view::ComparedRuns>(std::move(without_diff));
  window.show_page(view::Page::kCompare);
  reader.picture();
  session.selecting.select_name(session.compared->comparison.names.front().name);
  reader.picture();
  for (const char* wrong : {"q", "rank:9", "step:99", "finding:7", "row:0/1/1", "name:x",
                            "collective:0/1/1", "rank:0/stream:1", "steps:90..91"}) {
    const Status status = window.select(wrong, false);
    ASSERT_FALSE(status.ok()) << wrong;
    reader.read(to_qstring(status.error().what).remove(QLatin1String(wrong)));
  }
  window.show_model(std::make_shared<const view::Model>(bare_model()));
  reader.pages_and_docks();
}

TEST_F(LanguageTest, EverythingInTheWindowIsTranslated) {
  const fs::path file = write("dprof_xx.ts", foreign_texts());
  Look look(view::light_theme());
  const auto read_window = [&](const std::function<void(MainWindow&, Reader&)>& look_at) {
    MainWindow window(look);
    window.resize(1920, 1080);
    window.show();
    Reader reader(window, folder.path() / "window.svg");
    look_at(window, reader);
    return reader.found();
  };
  const Result<Language> language = set_language("xx");
  ASSERT_TRUE(language.ok()) << language.error().what;
  EXPECT_EQ(language->file, file);
  EXPECT_THAT(language->passed_over, IsEmpty());
  EXPECT_THAT(read_window(walk), IsEmpty()) << "say(), english() with translated(), or tr()";
  ASSERT_TRUE(set_language("en").ok());
  const auto no_run = [](MainWindow&, Reader& reader) { reader.picture(); };
  EXPECT_THAT(read_window(no_run), Contains("No run is open")) << "it can fail";
}

}  // namespace
}  // namespace dprof::widgets
