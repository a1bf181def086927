// SPDX-License-Identifier: Apache-2.0
// A recorder for tests: accepts hellos on its own socket and reads the processes' records.
//
// Threading  one thread.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collector/wire/arena.h"
#include "collector/wire/hello.h"
#include "collector/wire/ring.h"

namespace dprof::inject {

struct SeenRecord {
  uint32_t ring = 0;
  uint32_t os_tid = 0;
  wire::Record record = {};
  std::string text;    // of record.string
  std::string domain;  // of the record's domain, if it has one
  std::vector<unsigned char> more;
};

// One process's session, as its hello announced it.
class SeenSession {
 public:
  SeenSession(int socket, int memory, const wire::Hello& hello, std::string texts);
  ~SeenSession();
  SeenSession(const SeenSession&) = delete;
  SeenSession& operator=(const SeenSession&) = delete;

  [[nodiscard]] const wire::Hello& hello() const { return hello_; }
  [[nodiscard]] const std::map<std::string, std::string>& texts() const { return texts_; }
  [[nodiscard]] bool has_memory() const { return mapping_.base != nullptr; }
  [[nodiscard]] bool sealed() const { return sealed_; }
  [[nodiscard]] wire::Header& header() const { return *mapping_.header(); }
  [[nodiscard]] const wire::Mapping& mapping() const { return mapping_; }
  [[nodiscard]] std::string fact(wire::Fact fact) const;
  [[nodiscard]] uint64_t remarks(wire::Remark remark) const;
  [[nodiscard]] uint64_t loss(wire::SharedLoss loss) const;
  [[nodiscard]] uint64_t dropped() const;

  // Reads all available records; frees the rings of ended threads.
  std::vector<SeenRecord> drain();

  void control(wire::CaptureState state, wire::DetailLevel detail) const;
  [[nodiscard]] bool hung_up() const;
  void hang_up();

 private:
  [[nodiscard]] std::string text_of(uint32_t id) const;

  int socket_;
  bool sealed_ = false;
  wire::Hello hello_;
  wire::Mapping mapping_;
  std::map<std::string, std::string> texts_;
  std::vector<wire::RingReader> readers_;
};

class MiniRecorder {
 public:
  explicit MiniRecorder(int backlog = 64);
  ~MiniRecorder();
  MiniRecorder(const MiniRecorder&) = delete;
  MiniRecorder& operator=(const MiniRecorder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }

  // The next process that sends a hello; null after `timeout_ms`.
  std::unique_ptr<SeenSession> accept(int timeout_ms = 20'000) const;

 private:
  int socket_ = -1;
  std::string folder_;
  std::string path_;
};

// A child process with pipes at stdin and stdout. Killed when the object goes.
class Child {
 public:
  Child(const std::vector<std::string>& command,
        const std::vector<std::pair<std::string, std::string>>& environment);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void say(const std::string& line) const;
  std::string hear();  // one line, without its end; "" when the child has ended
  int wait();          // exit code, or 128 + signal

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
};

}  // namespace dprof::inject
