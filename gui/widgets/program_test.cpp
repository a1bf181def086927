// SPDX-License-Identifier: Apache-2.0
// dprof-gui as a program: outputs and exit codes.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/paths.h"
#include "tests/support/run_builder.h"
#include "tests/support/temporary_folder.h"

namespace dprof {
namespace {

class ProgramTest : public ::testing::Test {
 protected:
  // Returns the exit code; `err` gets what was written to stderr.
  int run(const std::string& arguments, std::string* err = nullptr) {
    const std::filesystem::path log = folder.path() / "stderr";
    const std::string command = "env -u DISPLAY -u WAYLAND_DISPLAY -u QT_QPA_PLATFORM timeout 50 " +
                                test_support::bin_dir() + "/dprof-gui " + arguments +
                                " >/dev/null 2>" + log.string();
    const int status = std::system(command.c_str());
    if (err != nullptr) *err = read(log);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  static std::string read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::string make_run(int64_t events_per_rank = 0) {
    test_support::RunSpec spec;
    if (events_per_rank > 0) spec = test_support::volume_spec(events_per_rank);
    spec.delays.push_back({.rank = 1, .phase = test_support::Phase::kInput, .ns = 8'000'000});
    EXPECT_TRUE(test_support::write_run(folder.path() / "run", spec).ok());
    return (folder.path() / "run").string();
  }
  [[nodiscard]] std::string path(const char* name) const { return (folder.path() / name).string(); }

  test_support::TemporaryFolder folder;
};

TEST_F(ProgramTest, WritesAllOutputsTwiceTheSame) {
  const std::string run_folder = make_run();
  std::string err;
  ASSERT_EQ(run(run_folder + " --screenshot " + path("a.png") + " --dump-state " + path("a.json") +
                    " --dump-draw-list " + path("a.txt") + " --size 1000x700",
                &err),
            0)
      << err;
  EXPECT_EQ(err, "");
  ASSERT_EQ(run(run_folder + " --screenshot " + path("b.png") + " --dump-state " + path("b.json") +
                " --dump-draw-list " + path("b.txt") + " --size 1000x700"),
            0);
  for (const char* name : {"png", "json", "txt"}) {
    const std::string once = read(folder.path() / (std::string("a.") + name));
    EXPECT_FALSE(once.empty()) << name;
    EXPECT_EQ(once, read(folder.path() / (std::string("b.") + name))) << name;
  }
  const auto state = nlohmann::json::parse(read(path("a.json")));
  EXPECT_EQ(state["selection"]["ranks"], nlohmann::json::array({1}));
  EXPECT_EQ(state["pending"], 0);
}

TEST_F(ProgramTest, WithoutADisplayItSaysWhatWorksThere) {
  std::string err;
  EXPECT_EQ(run("some/run", &err), 2);
  EXPECT_EQ(err,
            "dprof-gui: there is no display here (neither DISPLAY nor WAYLAND_DISPLAY is set)\n"
            "hint: dprof gui some/run --screenshot run.png, "
            "or dprof report some/run --format html -o run.html\n");
}

TEST_F(ProgramTest, PagesHaveNames) {
  const std::string run_folder = make_run();
  ASSERT_EQ(run(run_folder + " --view heatmap --dump-state " + path("h.json") +
                " --dump-draw-list " + path("h.txt")),
            0);
  EXPECT_EQ(nlohmann::json::parse(read(path("h.json")))["page"], "heatmap");
  EXPECT_NE(read(path("h.txt")).find("Own delay"), std::string::npos);
  std::string err;
  EXPECT_EQ(run(run_folder + " --view nothing --dump-state " + path("n.json"), &err), 2);
  EXPECT_NE(
      err.find(
          "overview, timeline, heatmap, collectives, matrix, memory, compare, what-if, topology, "
          "selection"),
      std::string::npos)
      << err;
}

TEST_F(ProgramTest, ASavedViewFitsAnotherRun) {
  const std::string run_folder = make_run();
  std::ofstream(path("view.json"))
      << R"({"schema": "dprof.view/1", "page": "matrix", "selectors": ["rank:1"],
            "tracks": {"pinned": ["rank:*/thread:main"]}})";
  ASSERT_EQ(run(run_folder + " --restore " + path("view.json") + " --dump-state " + path("v.json")),
            0);
  const nlohmann::json state = nlohmann::json::parse(read(path("v.json")));
  EXPECT_EQ(state["page"], "matrix");
  EXPECT_EQ(state["pinned"], nlohmann::json::array({"rank:*/thread:main"}));
  EXPECT_EQ(state["rows"][0]["track"], "pinned");
  EXPECT_EQ(state["selection"]["ranks"], nlohmann::json::array({1}));
  EXPECT_FALSE(std::filesystem::exists(run_folder + "/dprofview.json"))
      << "an output keeps nothing";
  std::ofstream(path("bad.json")) << "{}";
  std::string err;
  EXPECT_EQ(
      run(run_folder + " --restore " + path("bad.json") + " --dump-state " + path("b.json"), &err),
      3)
      << err;
  EXPECT_NE(err.find("holds no saved view"), std::string::npos) << err;
}

TEST_F(ProgramTest, EventsThatDoNotFitAreNotLoaded) {
  const std::string run_folder = make_run(30'000);
  const auto state_with = [&](const std::string& options) {
    EXPECT_EQ(run(run_folder + " --select rank:1 " + options + " --dump-state " + path("m.json")),
              0);
    return nlohmann::json::parse(read(path("m.json")));
  };
  const nlohmann::json all = state_with("");
  const nlohmann::json one = state_with("--memory 1M");
  EXPECT_GT(all["memory_bytes"], one["memory_bytes"]);
  EXPECT_LE(one["memory_bytes"], 1 << 20);
  EXPECT_NE(one.dump().find("do not fit into"), std::string::npos) << one["messages"];
  EXPECT_EQ(all.dump().find("do not fit into"), std::string::npos);
  std::string err;
  for (const char* wrong : {"8", "8Q", "-1G", "1K", "99999999999T", ""}) {
    EXPECT_EQ(run(run_folder + " --memory '" + wrong + "' --dump-state " + path("w.json"), &err), 2)
        << wrong;
  }
}

TEST_F(ProgramTest, SpeaksAnotherLanguage) {
  const std::string run_folder = make_run();
  std::filesystem::create_directories(folder.path() / "dprof" / "texts");
  const std::string file = path("dprof/texts/dprof_de.ts");
  std::ofstream(file) << R"(<TS version="2.1" language="de"><context><name>view</name>
      <message><source>Rank by rank</source><translation>Rang für Rang</translation></message>
      <message><source>{} events, {} lost</source><translation>verloren</translation></message>
      </context></TS>)";
  setenv("XDG_DATA_HOME", folder.path().c_str(), 1);
  setenv("LANGUAGE", "de", 1);
  const auto page_with = [&](const std::string& options, std::string* err) {
    EXPECT_EQ(run(run_folder + " --view overview --dump-draw-list " + path("l.txt") + options, err),
              0);
    return read(path("l.txt"));
  };
  std::string err;
  EXPECT_NE(page_with("", &err).find("\"Rank by rank\""), std::string::npos)
      << "an output is the same for everybody";
  for (const std::string& wanted : {std::string("de"), file}) {
    const std::string page = page_with(" --language " + wanted, &err);
    EXPECT_NE(page.find("\"Rang für Rang\""), std::string::npos) << page;
    EXPECT_NE(page.find(" events, 0 lost\""), std::string::npos) << page;
    EXPECT_NE(err.find("1 text stays English"), std::string::npos) << err;
  }
  for (const char* wrong : {"fr", "none.ts"}) {
    EXPECT_EQ(run(run_folder + " --dump-state " + path("l.json") + " --language " + wrong, &err),
              2);
    EXPECT_NE(err.find(wrong), std::string::npos) << err;
  }
  unsetenv("XDG_DATA_HOME");
  unsetenv("LANGUAGE");
}

TEST_F(ProgramTest, TheVisibleRangeCanBeGiven) {
  const std::string run_folder = make_run();
  ASSERT_EQ(run(run_folder + " --from 10ms --to 0.02s --dump-state " + path("r.json")), 0);
  const nlohmann::json state = nlohmann::json::parse(read(path("r.json")));
  EXPECT_EQ(state["range_ns"], nlohmann::json::array({10'000'000, 20'000'000})) << state.dump();
  std::string err;
  EXPECT_EQ(run(run_folder + " --from 20ms --to 10ms --dump-state " + path("r.json"), &err), 2);
  EXPECT_NE(err.find("--from is not before --to"), std::string::npos) << err;
  EXPECT_EQ(run(run_folder + " --from soon --dump-state " + path("r.json"), &err), 2);
}

TEST_F(ProgramTest, AnotherRunIsOpenedBesideTheFirst) {
  const std::string run_folder = make_run();
  std::string err;
  EXPECT_EQ(run(run_folder + " --compare " + run_folder + " --view compare --dump-draw-list " +
                    path("c.txt"),
                &err),
            0)
      << err;
  EXPECT_NE(read(path("c.txt")).find("run beside run"), std::string::npos);
  EXPECT_NE(read(path("c.txt")).find("mean step"), std::string::npos);
  EXPECT_EQ(
      run(run_folder + " --compare " + path("nowhere") + " --dump-state " + path("c.json"), &err),
      3);
  EXPECT_NE(err.find("nowhere"), std::string::npos) << err;
}

TEST_F(ProgramTest, PicturesThatCanBeEnlargedHaveTextsAsTexts) {
  const std::string run_folder = make_run();
  ASSERT_EQ(run(run_folder + " --screenshot " + path("p.svg")), 0);
  EXPECT_NE(read(path("p.svg")).find("forward"), std::string::npos) << "a slice's label";
  ASSERT_EQ(run(run_folder + " --screenshot " + path("p.pdf")), 0);
  EXPECT_EQ(read(path("p.pdf")).substr(0, 5), "%PDF-");
  EXPECT_GT(std::filesystem::file_size(path("p.pdf")), 10'000U);
  std::string err;
  EXPECT_EQ(run(run_folder + " --screenshot " + path("p.bmp"), &err), 2);
  EXPECT_NE(err.find(".png, .svg or .pdf"), std::string::npos) << err;
}

TEST_F(ProgramTest, WhatIfAndThePathWithoutAScreen) {
  const std::string run_folder = make_run();
  std::string err;
  ASSERT_EQ(run(run_folder + " --view what-if --what-if rank:1=peers --dump-state " +
                    path("q.json") + " --dump-draw-list " + path("q.txt"),
                &err),
            0)
      << err;
  const nlohmann::json state = nlohmann::json::parse(read(path("q.json")));
  EXPECT_EQ(state["page"], "what-if");
  EXPECT_EQ(state["what_if"]["changes"], nlohmann::json::array({"rank:1=peers"}));
  EXPECT_NEAR(state["what_if"]["answer"]["gain_ns"].get<double>(), 8e6, 2e6)
      << state["what_if"].dump();
  EXPECT_NE(read(path("q.txt")).find("less per step"), std::string::npos);
  std::ofstream(path("why")) << "why\n"
                                "assert path.shown == true\n"
                                "assert path.length_ns > 0\n"
                                "assert dock == path\n"
                                "what-if input=0\n"
                                "assert what_if.answer.gain_ns > 0\n";
  EXPECT_EQ(run(run_folder + " --script " + path("why"), &err), 0) << err;
  EXPECT_EQ(run(run_folder + " --what-if nothing=0 --dump-state " + path("q.json"), &err), 2);
  EXPECT_NE(err.find("input=0"), std::string::npos) << err;
  EXPECT_EQ(run(run_folder + " --what-if rank:99=peers --dump-state " + path("q.json"), &err), 2);
  EXPECT_NE(err.find("rank 99"), std::string::npos) << err;
}

TEST_F(ProgramTest, AScriptWalksTheRunAndAsserts) {
  const std::string run_folder = make_run();
  std::ofstream(path("walk")) << "# from the page to an event\n"
                                 "view heatmap\n"
                                 "assert page == heatmap\n"
                                 "view table\n"
                                 "select rank:1\n"
                                 "key Ctrl+2 W Shift+T\n"
                                 "search forward\n"
                                 "wait-idle 20s\n"
                                 "assert page == timeline\n"
                                 "assert dock == table\n"
                                 "assert selection.selectors contains \"name:*forward*\"\n"
                                 "screenshot "
                              << path("walk.png")
                              << "\n"
                                 "dump-state "
                              << path("walk.json") << "\n";
  std::string err;
  EXPECT_EQ(run(run_folder + " --script " + path("walk"), &err), 0) << err;
  EXPECT_GT(std::filesystem::file_size(path("walk.png")), 10'000U);
  EXPECT_EQ(nlohmann::json::parse(read(path("walk.json")))["pending"], 0);
  std::ofstream(path("wrong")) << "\nassert page == memory\n";
  EXPECT_EQ(run(run_folder + " --script " + path("wrong"), &err), 1);
  EXPECT_NE(err.find("line 2: page == memory does not hold: it is \"timeline\""), std::string::npos)
      << err;
  std::ofstream(path("bad")) << "dance\n";
  EXPECT_EQ(run(run_folder + " --script " + path("bad"), &err), 2);
  EXPECT_NE(err.find("line 1: 'dance' is no command"), std::string::npos) << err;
  std::ofstream(path("keys")) << "key Ctrl+Shift+F12\n";
  EXPECT_EQ(run(run_folder + " --script " + path("keys"), &err), 2);
}

TEST_F(ProgramTest, AScriptAsksTheTraces) {
  const std::string run_folder = make_run();
  std::ofstream(path("ask")) << "sql SELECT count(*) AS n FROM step\n"
                                "assert dock == sql\n"
                                "assert sql.rows == 2\n"
                                "assert sql.columns == [\"rank\",\"n\"]\n"
                                "assert sql.first_rows.1 == [1,30]\n"
                                "sql DROP TABLE step\n"
                                "assert sql.error contains never\n"
                                "assert sql.rows == 2\n"
                                "sql SELECT id, start_ns, duration_ns FROM host_range LIMIT 3\n"
                                "assert sql.error == null\n"
                                "key Alt+Down\n"
                                "assert selection.selectors contains \"row:0/host_range/1\"\n"
                                "screenshot "
                             << path("ask.png") << "\n";
  std::string err;
  EXPECT_EQ(run(run_folder + " --script " + path("ask"), &err), 0) << err;
  EXPECT_GT(std::filesystem::file_size(path("ask.png")), 10'000U);
  EXPECT_EQ(run(run_folder + " --view sql --dump-state " + path("s.json")), 0);
  EXPECT_EQ(nlohmann::json::parse(read(path("s.json")))["dock"], "sql");
}

TEST_F(ProgramTest, SelectorsStepsAndRanksChangeWhatIsShown) {
  const std::string run_folder = make_run();
  ASSERT_EQ(run(run_folder + " --dump-state " + path("s.json") +
                " --steps 5:20 --ranks 1 --select step:9 --select rank:1 --theme dark --scale 2"),
            0);
  const auto state = nlohmann::json::parse(read(path("s.json")));
  EXPECT_EQ(state["selection"]["selectors"][0], "step:9");
  EXPECT_EQ(state["rows"][1]["track"], "rank:1");
  EXPECT_EQ(state["rows"][1]["y"], state["rows"][0]["height"]);
}

TEST_F(ProgramTest, ExitCodesAreThoseOfTheArchitecture) {
  const std::string run_folder = make_run();
  std::ofstream(path("text.dprof")) << "no trace\n";
  const std::string output = " --dump-state " + path("x.json");
  std::string err;
  EXPECT_EQ(run("--help"), 0);
  EXPECT_EQ(run("--version"), 0);
  EXPECT_EQ(run("--bogus"), 2);
  EXPECT_EQ(run(run_folder + " --size huge" + output), 2);
  EXPECT_EQ(run(run_folder + " --steps 9:3" + output), 2);
  EXPECT_EQ(run(run_folder + " --ranks a" + output), 2);
  EXPECT_EQ(run(run_folder + " --select step:777" + output), 2);
  EXPECT_EQ(run("--screenshot " + path("x.png")), 2) << "no RUN";
  EXPECT_EQ(run(path("missing") + output, &err), 3);
  EXPECT_NE(err.find("missing"), std::string::npos) << err;
  EXPECT_NE(err.find("hint: "), std::string::npos) << err;
  EXPECT_EQ(run(path("text.dprof") + output), 3);
  EXPECT_EQ(run(run_folder + output + " --timeout 1ms"), 4);
  EXPECT_EQ(run(run_folder + " --screenshot /nowhere/x.png", &err), 125);
  EXPECT_NE(err.find("/nowhere/x.png"), std::string::npos) << err;
}

TEST_F(ProgramTest, OneDamagedTraceLeavesTheOthers) {
  const std::string run_folder = make_run();
  std::filesystem::resize_file(run_folder + "/rank-00001.dprof", 50);
  EXPECT_EQ(run(run_folder + " --dump-state " + path("x.json")), 3);
  const auto state = nlohmann::json::parse(read(path("x.json")));
  EXPECT_EQ(state["rows"].size() > 1, true);
}

}  // namespace
}  // namespace dprof
