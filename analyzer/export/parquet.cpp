// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/parquet.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/export/csv.h"
#include "analyzer/import/text.h"

namespace dprof::analyzer {
namespace {

constexpr int kPollMs = 100;
constexpr size_t kMostAnswer = size_t{1} << 16;

std::string python() {
  const char* named = std::getenv("DPROF_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

// The script in its own process, which ends with this object.
class PythonScript {
 public:
  static Result<PythonScript> start(std::vector<std::string> arguments) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return fail(Code::kIo, "no pipe can be made");
    PythonScript script(ends[0]);
    arguments.insert(arguments.begin(), {python(), "-c", parquet_script()});
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
    const int error = posix_spawnp(&script.pid_, words[0], &files, nullptr, words.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    if (error == 0) return script;
    script.pid_ = 0;
    return fail(Code::kUnsupported, fmt::format("{}: cannot be started", words[0]));
  }
  PythonScript(PythonScript&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)), output_(std::exchange(other.output_, -1)) {}
  PythonScript& operator=(PythonScript&&) = delete;
  ~PythonScript() {
    if (output_ >= 0) close(output_);
    if (pid_ > 0) {
      kill(pid_, SIGTERM);
      waitpid(pid_, nullptr, 0);
    }
  }

  // Runs until it has ended; `line` gets its output, "" occasionally, and can stop it.
  Status follow(const std::function<Status(const std::string&)>& line) {
    std::string held;
    while (true) {
      pollfd polled{output_, POLLIN, 0};
      char text[1024];
      const bool ready = poll(&polled, 1, kPollMs) > 0;
      const ssize_t got = ready ? read(output_, text, sizeof text) : -1;
      if (ready && got == 0) break;
      if (got > 0) held.append(text, static_cast<size_t>(got));
      if (held.size() > kMostAnswer) held.erase(0, held.size() - kMostAnswer);
      for (size_t end = held.find('\n'); end != std::string::npos; end = held.find('\n')) {
        if (Status wanted = line(held.substr(0, end)); !wanted.ok()) return wanted;
        held.erase(0, end + 1);
      }
      if (Status wanted = line(""); !wanted.ok()) return wanted;
    }
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Done{};
    return fail(Code::kIo, "Python ended with an error");
  }

 private:
  explicit PythonScript(int output) : output_(output) {}

  pid_t pid_ = 0;
  int output_;
};

// "NAME:TYPE,TYPE…", as the script expects it.
std::string columns_of(const schema::Table& table, bool raw) {
  std::string words = fmt::format("{}:integer", table.name);  // the rank
  for (const schema::Column& column : table.columns) {
    const bool word = !raw && (column.type == schema::Type::kEnum || column.refers == "string");
    words += column.type == schema::Type::kBlob           ? ",bytes"
             : column.type == schema::Type::kText || word ? ",text"
                                                          : ",integer";
  }
  return words;
}

}  // namespace

Status has_parquet() {
  Result<PythonScript> script = PythonScript::start({});
  if (script.ok() && script->follow([](const std::string&) { return Done{}; }).ok()) return Done{};
  return fail(Code::kUnsupported, fmt::format("Parquet needs pyarrow, and {} has none", python()),
              "pip install pyarrow, and name a Python that has it in DPROF_PYTHON; "
              "or export as csv");
}

Status make_parquet(const std::filesystem::path& folder, bool raw, ExportJob& job) {
  std::vector<std::string> arguments = {folder.string()};
  const std::vector<const schema::Table*> tables = csv_tables(raw);
  for (const schema::Table* table : tables) arguments.push_back(columns_of(*table, raw));
  Result<PythonScript> script = PythonScript::start(std::move(arguments));
  if (!script.ok()) return fail(script.error());
  size_t done = 0;
  std::string said;
  const Status made = script->follow([&](const std::string& line) -> Status {
    if (done < tables.size() && line == tables[done]->name) {
      job.file(folder / fmt::format("{}.parquet", line));
      ++done;
    } else if (!line.empty()) {
      said = line;  // the last line of a traceback is the message
    }
    return job.report_progress("Parquet",
                               static_cast<double>(done) / static_cast<double>(tables.size()));
  });
  if (made.ok()) return made;
  if (said.empty()) return made;
  return fail(made.error().code, fmt::format("{}: {}", folder.string(), clean_utf8(said)),
              "export as csv, and convert that");
}

}  // namespace dprof::analyzer
