// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/doctor/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/beside.h"
#include "cli/subcommand.h"

namespace dprof::cli {
namespace {

namespace fs = std::filesystem;
using recorder::Ability;
using recorder::Check;
using recorder::Diagnosis;
using recorder::Recordable;

constexpr char kDoctorDetails[] =
    "\n"
    "Checks the kernel, the libraries and the GPUs, and records a small child process to see whether\n"
    "recording works. "
    "It takes a few seconds, loads third-party libraries only in child processes,\n"
    "and leaves nothing behind. "
    "Run it where the job runs: in its container, venv or modules.\n\n"
    "Examples:\n"
    "  dprof doctor\n"
    "  srun -N4 --ntasks-per-node=1 dprof doctor\n"
    "  dprof doctor --format json\n\n"
    "Exit codes: 0 the checks ran, whatever they found; 2 usage; 125 dprof itself failed.\n";

constexpr size_t kWidest = 100;
constexpr size_t kStateColumn = 2;
constexpr size_t kNameColumn = 11;
constexpr size_t kTextColumn = 30;

std::string_view word_of(Ability state) {
  switch (state) {
    case Ability::kOk:
      return "ok";
    case Ability::kLimited:
      return "limited";
    case Ability::kNo:
      return "no";
  }
  return "";
}

std::string_view colour_of(Ability state) {
  switch (state) {
    case Ability::kOk:
      return "\x1b[32m";
    case Ability::kLimited:
      return "\x1b[33m";
    case Ability::kNo:
      return "\x1b[31m";
  }
  return "";
}

// Wraps a text at blanks into lines of `width`; a longer word stays whole.
std::vector<std::string> wrapped(std::string_view text, size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) {
      lines.emplace_back();
    }
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

class TextRendering {
 public:
  TextRendering(size_t width, bool colour) : width_(width), colour_(colour) {}

  std::string render(const Diagnosis& diagnosis) {
    text_ = fmt::format("dprof {} on {}\n", diagnosis.dprof_version, diagnosis.host);
    std::string_view area;
    for (const Check& check : diagnosis.checks) {
      if (check.area != area) text_ += fmt::format("\n{}\n", check.area);
      area = check.area;
      add(check);
    }
    add_summary("Can record:", diagnosis.recordable, true);
    add_summary("Cannot record:", diagnosis.recordable, false);
    return std::move(text_);
  }

 private:
  void add(const Check& check) {
    const std::string_view word = word_of(check.state);
    text_.append(kStateColumn, ' ');
    if (colour_) text_ += colour_of(check.state);
    text_ += word;
    if (colour_) text_ += "\x1b[0m";
    text_.append(kNameColumn - kStateColumn - word.size(), ' ');
    text_ += fmt::format("{:<{}}", check.name, kTextColumn - kNameColumn);
    add_paragraph(check.found, kTextColumn, true);
    if (!check.meaning.empty()) add_paragraph(check.meaning, kTextColumn, false);
    if (!check.hint.empty()) add_paragraph("hint: " + check.hint, kTextColumn, false);
  }

  // `begun`: the first line is already at the column.
  void add_paragraph(const std::string& paragraph, size_t column, bool begun) {
    for (const std::string& line : wrapped(paragraph, width_ - column)) {
      if (!begun) text_.append(column, ' ');
      begun = false;
      text_ += line + "\n";
    }
  }

  void add_summary(std::string_view title, const std::vector<Recordable>& all, bool can) {
    if (std::ranges::none_of(all, [&](const Recordable& one) { return one.can == can; })) return;
    text_ += fmt::format("\n{}\n", title);
    for (const Recordable& one : all) {
      if (one.can != can) continue;
      text_ += fmt::format("  {}\n", one.what);
      if (!can) add_paragraph(one.why_not, 4, false);
    }
  }

  size_t width_;
  bool colour_;
  std::string text_;
};

std::string render_json(const Diagnosis& diagnosis) {
  using nlohmann::ordered_json;
  const auto or_null = [](const std::string& text) {
    return text.empty() ? ordered_json(nullptr) : ordered_json(text);
  };
  ordered_json checks = ordered_json::array();
  for (const Check& check : diagnosis.checks) {
    checks.push_back({{"area", check.area},
                      {"name", check.name},
                      {"state", word_of(check.state)},
                      {"found", check.found},
                      {"meaning", or_null(check.meaning)},
                      {"hint", or_null(check.hint)}});
  }
  ordered_json recordable = ordered_json::array();
  for (const Recordable& one : diagnosis.recordable) {
    recordable.push_back({{"what", one.what}, {"can", one.can}, {"why_not", or_null(one.why_not)}});
  }
  const ordered_json whole = {{"schema", "dprof.doctor/1"},
                              {"dprof_version", diagnosis.dprof_version},
                              {"host", diagnosis.host},
                              {"checks", checks},
                              {"recordable", recordable}};
  return whole.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

class Doctor final : public Subcommand {
 public:
  std::string_view name() const override { return "doctor"; }
  std::string_view summary() const override {
    return "show what can be recorded here, and what cannot";
  }
  std::string_view details() const override { return kDoctorDetails; }

  void declare(CLI::App& app) override {
    app.add_option("--format", format_, "text or json")
        ->type_name("FORMAT")
        ->check(CLI::IsMember({"text", "json"}))
        ->capture_default_str();
    // Run by the self-test to record a range.
    app.add_flag("--emit-range", emit_range_)->group("");
    // Run by doctor and the recorder to try an unknown LibTorch.
    app.add_option("--probe-torch", probe_torch_)->expected(2)->group("");
  }

  Result<int> run(Console& console) override {
    if (emit_range_) {
      return code_of(recorder::emit_range() ? ExitCode::kGood : ExitCode::kInternal);
    }
    if (!probe_torch_.empty()) {
      console.print(recorder::probe_torch(probe_torch_[0], probe_torch_[1]) + "\n");
      return code_of(ExitCode::kGood);
    }
    recorder::DoctorOptions options;
    std::error_code error;
    options.program = program_folder() / "dprof";
    options.libraries = library_folder();
    options.folder = fs::current_path(error);
#ifdef DPROF_SANITIZED
    options.sanitized = true;
#endif
    const Result<Diagnosis> diagnosis = recorder::examine(options);
    if (!diagnosis.ok()) return fail(diagnosis.error());
    if (format_ == "json") {
      console.print(render_json(*diagnosis));
    } else {
      const auto width = static_cast<size_t>(std::max(console.width(), 60));
      console.print(TextRendering(std::min(width, kWidest), console.colour()).render(*diagnosis));
    }
    return code_of(ExitCode::kGood);
  }

 private:
  std::string format_ = "text";
  bool emit_range_ = false;
  std::vector<std::string> probe_torch_;  // libdprof_torch.so, libtorch_cpu.so
};

}  // namespace

std::unique_ptr<Subcommand> make_doctor() { return std::make_unique<Doctor>(); }

}  // namespace dprof::cli
