// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/kineto/document.h"

#include <fmt/format.h>

#include <cstring>
#include <vector>

namespace dprof::analyzer::kineto {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// The part of the file in memory: unused text, followed by newly read text.
class Window {
 public:
  explicit Window(Input& input) : input_(input) {}

  [[nodiscard]] std::string_view text() const { return {buffer_.data() + at_, end_ - at_}; }
  void use_to(const char* at) { at_ = static_cast<size_t>(at - buffer_.data()); }
  void use(size_t bytes) { at_ += bytes; }

  // Appends the next block after text(); false at the end of the file.
  bool more() {
    const std::string_view block = input_.next();
    if (block.empty()) return false;
    if (at_ > 0) std::memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
    end_ -= at_;
    at_ = 0;
    if (buffer_.size() < end_ + block.size()) buffer_.resize(end_ + block.size());
    std::memcpy(buffer_.data() + end_, block.data(), block.size());
    end_ += block.size();
    return true;
  }

 private:
  Input& input_;
  std::vector<char> buffer_;
  size_t at_ = 0;
  size_t end_ = 0;
};

class Reader {
 public:
  Reader(Input& input, DocumentHandler& handler)
      : input_(input), window_(input), handler_(handler) {}

  DocumentEnd run() {
    while (window_.text().size() < kByteOrderMark.size() && refill()) {
    }
    if (window_.text().starts_with(kByteOrderMark)) window_.use(kByteOrderMark.size());
    const char first = peek();
    if (first == '[') {
      end_.has_events = true;
      end_.whole = read_array();
    } else if (first == '{') {
      end_.whole = read_object();
    } else {
      end_.why = first == '\0' ? "the file is empty" : "the file is not JSON";
    }
    if (!end_.whole && !input_.failure().empty()) end_.why = input_.failure();
    return std::move(end_);
  }

 private:
  // False: the end of the file, or the handler stopped.
  bool refill() {
    if (end_.stopped) return false;
    if (!handler_.go_on()) {
      end_.stopped = true;
      return false;
    }
    return window_.more();
  }

  bool cut(std::string_view where) {
    if (end_.why.empty()) end_.why = fmt::format("the file ends {}", where);
    return false;
  }

  // First character that is not white space; '\0' at the end of the file.
  char peek() {
    while (true) {
      Cursor cursor(window_.text());
      const char c = cursor.peek();
      window_.use_to(cursor.at());
      if (!cursor.at_end()) return c == '\0' ? ' ' : c;
      if (!refill()) return '\0';
    }
  }

  bool read_object() {
    window_.use(1);
    while (true) {
      char c = peek();
      if (c == ',') {
        window_.use(1);
        c = peek();
      }
      if (c == '\0') return cut("within the outermost object");
      if (c == '}') return true;
      if (c != '"') {
        end_.why = "where a key of the outermost object should be, there is none";
        return false;
      }
      if (!read_member()) return false;
    }
  }

  bool read_member() {
    std::string key;
    const auto read_key = [&](Cursor& cursor) {
      Value value;
      const Scan scan = cursor.string(value);
      key = value.raw;
      return scan;
    };
    if (attempt(read_key) != Scan::kDone) return cut("within a key");
    if (const char colon = peek(); colon != ':') {
      if (colon == '\0') return cut("after a key");
      end_.why = "a key of the outermost object has no value";
      return false;
    }
    window_.use(1);
    if (const char first = peek(); key == "traceEvents" && first == '[') {
      end_.has_events = true;
      return read_array();
    }
    const auto read_value = [&](Cursor& cursor) {
      Value value;
      const Scan scan = cursor.value(value);
      if (scan == Scan::kDone) handler_.member(key, value);
      return scan;
    };
    switch (attempt(read_value)) {
      case Scan::kDone:
        return true;
      case Scan::kMore:
        return cut(fmt::format("within \"{}\"", key));
      case Scan::kTooDeep:
        return skip_balanced();
      case Scan::kBad:
        break;
    }
    end_.why = fmt::format("the value of \"{}\" is no JSON", key);
    return false;
  }

  // Calls `read` on the window, and again with more of the file while it needs more. Returns
  // kTooDeep also if the window would become too long.
  template <typename Read>
  Scan attempt(Read&& read) {
    while (true) {
      Cursor cursor(window_.text());
      const Scan scan = read(cursor);
      if (scan == Scan::kDone) window_.use_to(cursor.at());
      if (scan != Scan::kMore) return scan;
      if (window_.text().size() > kMaxElement) {
        too_long_ = true;
        return Scan::kTooDeep;
      }
      if (!refill()) return Scan::kMore;
    }
  }

  bool read_array() {
    window_.use(1);
    while (true) {
      char c = peek();
      while (c == ',') {
        window_.use(1);
        c = peek();
      }
      if (c == '\0') return cut("before the end of its events");
      if (c == ']') {
        window_.use(1);
        return true;
      }
      if (!read_element(c)) return false;
    }
  }

  bool read_element(char first) {
    too_long_ = false;
    const bool is_object = first == '{';
    const auto read = [&](Cursor& cursor) {
      Value ignored;
      return is_object ? read_event(cursor, event_) : cursor.value(ignored);
    };
    switch (attempt(read)) {
      case Scan::kDone:
        is_object ? handler_.event(event_) : handler_.bad_element(BadElement::kNotAnObject);
        return true;
      case Scan::kMore:
        return cut("within an event");
      case Scan::kTooDeep:
        handler_.bad_element(too_long_ ? BadElement::kTooLong : BadElement::kTooDeep);
        return skip_balanced();
      case Scan::kBad:
        break;
    }
    handler_.bad_element(BadElement::kNotJson);
    window_.use(1);
    return find_next_event();
  }

  // Skips a value by its quotes and brackets, whatever its size and depth.
  bool skip_balanced() {
    int64_t depth = 0;
    bool in_string = false;
    bool escaped = false;
    do {
      const std::string_view text = window_.text();
      for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
          in_string = escaped || c != '"';
          escaped = !escaped && c == '\\';
          if (in_string || depth > 0) continue;
          window_.use(i + 1);
          return true;
        }
        if (depth == 0 && (c == ',' || c == '}' || c == ']')) {  // after a bare word
          window_.use(i);
          return true;
        }
        if (c == '"') {
          in_string = true;
        } else if (c == '{' || c == '[') {
          ++depth;
        } else if ((c == '}' || c == ']') && --depth <= 0) {
          window_.use(i + 1);
          return true;
        }
      }
      window_.use(text.size());
    } while (refill());
    return cut("within a value that is too long or nested too deep");
  }

  // After invalid JSON: goes to the next `}, {`, whose '{' should begin an event.
  bool find_next_event() {
    enum class Seen : uint8_t { kNothing, kClose, kComma } seen = Seen::kNothing;
    do {
      const std::string_view text = window_.text();
      for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '{' && seen == Seen::kComma) {
          window_.use(i);
          return true;
        }
        if (c == '}') {
          seen = Seen::kClose;
        } else if (c == ',' && seen == Seen::kClose) {
          seen = Seen::kComma;
        } else if (c != ' ' && c != '\n' && c != '\r' && c != '\t') {
          seen = Seen::kNothing;
        }
      }
      window_.use(text.size());
    } while (refill());
    return cut("after something that is not JSON");
  }

  Input& input_;
  Window window_;
  DocumentHandler& handler_;
  Event event_;
  DocumentEnd end_;
  bool too_long_ = false;
};

}  // namespace

DocumentEnd read_document(Input& input, DocumentHandler& handler) {
  return Reader(input, handler).run();
}

}  // namespace dprof::analyzer::kineto
