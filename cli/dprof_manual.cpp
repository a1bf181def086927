// SPDX-License-Identifier: Apache-2.0
// dprof-manual FOLDER VERSION: writes the man(1) pages and shell completions, laid out as in
// /usr/share.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "cli/manual.h"
#include "cli/subcommand.h"

namespace {

bool write(const std::filesystem::path& path, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file.fail()) std::fprintf(stderr, "dprof-manual: cannot write %s\n", path.c_str());
  return !file.fail();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: dprof-manual FOLDER VERSION DATE\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const std::string version = argv[2];
  const std::string date = argv[3];
  CLI::App app;
  const auto verbs = dprof::cli::declare_command_line(app);
  const std::filesystem::path pages = folder / "man/man1";
  bool good = write(pages / "dprof.1", dprof::cli::man_page(app, version, date));
  for (const auto& verb : verbs) {
    const std::string name(verb->name());
    good = write(pages / ("dprof-" + name + ".1"),
                 dprof::cli::man_page(*app.get_subcommand(name), version, date)) &&
           good;
  }
  good =
      write(folder / "bash-completion/completions/dprof", dprof::cli::bash_completion(app)) && good;
  good = write(folder / "zsh/site-functions/_dprof", dprof::cli::zsh_completion(app)) && good;
  good = write(folder / "fish/vendor_completions.d/dprof.fish", dprof::cli::fish_completion(app)) &&
         good;
  return good ? 0 : 1;
}
