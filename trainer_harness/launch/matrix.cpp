// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/launch/matrix.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "trainer_harness/common/usage_error.h"
#include "trainer_harness/launch/process.h"

namespace dprof::trainer_harness {
namespace {

constexpr int kInterrupted = 128;

[[noreturn]] void refuse_line(size_t number, const std::string& why, std::string_view hint) {
  throw UsageError(fmt::format("--matrix: line {}: {}\nhint: {}", number, why, hint));
}

void read_key(MatrixRun& run, size_t number, std::string_view word) {
  const std::string_view value = word.substr(word.find('=') + 1);
  if (word.starts_with("ranks=")) {
    const char* const end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, run.ranks);
    if (error != std::errc{} || stop != end || run.ranks < 0) {
      refuse_line(number, fmt::format("{} is no number of ranks", word), "write ranks=2");
    }
    return;
  }
  if (word != "expect=fail" && word != "expect=good") {
    refuse_line(number, fmt::format("{} is not known", word),
                "ranks=N and expect=fail come before the options");
  }
  run.should_fail = value == "fail";
}

MatrixRun parse_line(size_t number, std::string_view line) {
  std::vector<std::string> words = split_words(line);
  MatrixRun run;
  run.name = fmt::format("run-{}", number);
  size_t next = 0;
  if (words[0].ends_with(':') && !words[0].starts_with('-')) {
    run.name = words[0].substr(0, words[0].size() - 1);
    const bool good = !run.name.empty() && run.name[0] != '.' &&
                      std::ranges::all_of(run.name, [](unsigned char c) {
                        return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
                      });
    if (!good) {
      refuse_line(number, fmt::format("'{}' cannot be a folder's name", run.name),
                  "take letters, digits, '-', '_' and '.'");
    }
    next = 1;
  }
  for (; next < words.size() && !words[next].starts_with('-'); ++next) {
    read_key(run, number, words[next]);
  }
  run.arguments.assign(std::make_move_iterator(words.begin() + static_cast<int64_t>(next)),
                       std::make_move_iterator(words.end()));
  return run;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// Rank 0's account of a run, for the summary; empty without a truth file.
std::string truth_text(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) return "";
  const nlohmann::json truth = nlohmann::json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (!truth.is_object() || !truth.contains("ranks") || truth["ranks"].empty()) return "";
  const nlohmann::json& rank = truth["ranks"][0];
  std::vector<double> steps = rank.value("step_ns", std::vector<double>{});
  if (steps.empty()) return "no steps";
  const auto middle = steps.begin() + static_cast<int64_t>(steps.size() / 2);
  std::ranges::nth_element(steps, middle);
  std::string text = fmt::format("{} steps, median {:.2f} ms", steps.size(), *middle * 1e-6);
  if (rank.contains("last_loss") && rank["last_loss"].is_number()) {
    text += fmt::format(", loss {:.4f} -> {:.4f}", rank.value("first_loss", 0.0),
                        rank["last_loss"].get<double>());
  }
  return text;
}

// A temporary folder is removed at the end of the matrix, also if it is interrupted.
class WorkFolder {
 public:
  explicit WorkFolder(const std::filesystem::path& given) : path_(given), is_ours_(given.empty()) {
    if (!is_ours_) return;
    std::string name = (std::filesystem::temp_directory_path() / "dprof-matrix-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("cannot make a folder like " + name + "\nhint: give --truth DIR");
    }
    path_ = name;
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder() {
    std::error_code ignored;
    if (is_ours_) std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] bool is_ours() const { return is_ours_; }

 private:
  std::filesystem::path path_;
  bool is_ours_;
};

std::string read_matrix(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (in) return text;
  throw UsageError(
      fmt::format("--matrix {}: cannot be read\n"
                  "hint: it is a file with a run on each line, as in \"ranks=2 --steps 20\"",
                  file.string()));
}

}  // namespace

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = '\0';
  for (const char c : text) {
    if (quote != '\0') {
      if (c == quote) {
        quote = '\0';
      } else {
        words.back() += c;
      }
      continue;
    }
    if (c == ' ' || c == '\t' || c == '\r') {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == '"' || c == '\'') {
      quote = c;
    } else {
      words.back() += c;
    }
  }
  if (quote == '\0') return words;
  throw UsageError(fmt::format("{}: a quote is open\nhint: add {} at its end", text, quote));
}

std::vector<MatrixRun> parse_matrix(std::string_view text) {
  std::vector<MatrixRun> runs;
  std::set<std::string> names;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || line[first] == '#') continue;
    MatrixRun run = parse_line(number, line);
    if (!names.insert(run.name).second) {
      refuse_line(number, fmt::format("a second run is called {}", run.name), "rename one");
    }
    runs.push_back(std::move(run));
  }
  if (!runs.empty()) return runs;
  throw UsageError(
      "--matrix: the file has no runs\nhint: a line is a run, as in \"ranks=2 --steps 20\"");
}

std::vector<std::string> matrix_command(const MatrixRun& run, const std::string& prefix,
                                        const std::string& program, const std::string& folder,
                                        const std::vector<std::string>& common) {
  std::vector<std::string> command;
  for (std::string word : split_words(prefix)) {
    word = replaced(std::move(word), "{ranks}", std::to_string(run.ranks));
    word = replaced(std::move(word), "{name}", run.name);
    command.push_back(replaced(std::move(word), "{dir}", folder));
  }
  command.push_back(program);
  if (prefix.empty() && run.ranks > 0) {
    command.insert(command.end(), {"--spawn", std::to_string(run.ranks)});
  }
  command.insert(command.end(), {"--truth", folder + "/truth.json"});
  command.insert(command.end(), common.begin(), common.end());
  command.insert(command.end(), run.arguments.begin(), run.arguments.end());
  return command;
}

int run_matrix(const Options& options, const std::vector<std::string>& common) {
  const std::vector<MatrixRun> runs = parse_matrix(read_matrix(options.launch.matrix));
  const WorkFolder work(options.output.truth);
  int unexpected = 0;
  for (const MatrixRun& run : runs) {
    const std::filesystem::path folder = work.path() / run.name;
    std::filesystem::create_directories(folder);
    std::filesystem::remove(folder / "truth.json");
    const auto begin = std::chrono::steady_clock::now();
    ChildGroup group;
    group.start(
        matrix_command(run, options.launch.matrix_command, own_program(), folder.string(), common),
        {}, work.is_ours() ? std::filesystem::path() : folder / "output.txt");
    const ChildGroup::Event event = group.wait_event();
    if (!event.child) {
      group.end_all();
      return kInterrupted + event.signal;
    }
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const bool failed = event.ending.code != 0;
    const std::string_view verdict = failed == run.should_fail ? "good" : "BAD";
    if (failed != run.should_fail) ++unexpected;
    const std::string truth = failed ? "" : truth_text(folder / "truth.json");
    fmt::print("matrix: {:<4} {}: exit code {}{}, {:.1f} s{}{}\n", verdict, run.name,
               event.ending.code, run.should_fail ? " (should fail)" : "", seconds,
               truth.empty() ? "" : ", ", truth);
    std::fflush(stdout);
  }
  fmt::print("matrix: {} of {} runs ended as expected\n",
             runs.size() - static_cast<size_t>(unexpected), runs.size());
  return unexpected == 0 ? 0 : 1;
}

std::vector<std::string> without_options(std::vector<std::string> arguments,
                                         const std::vector<std::string>& names) {
  std::vector<std::string> rest;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const size_t equals = arguments[i].find('=');
    const std::string name = arguments[i].substr(0, equals);
    if (std::ranges::find(names, name) == names.end()) {
      rest.push_back(std::move(arguments[i]));
    } else if (equals == std::string::npos) {
      ++i;  // its value
    }
  }
  return rest;
}

}  // namespace dprof::trainer_harness
