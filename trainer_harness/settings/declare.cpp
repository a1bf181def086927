// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/settings/declare.h"

#include <charconv>
#include <cmath>

#include "trainer_harness/common/usage_error.h"

namespace dprof::trainer_harness {
namespace {

// NaN if the text is not a finite number.
double number_in(const std::string& text) {
  size_t used = 0;
  try {
    const double value = std::stod(text, &used);
    return used == text.size() && std::isfinite(value) ? value : std::nan("");
  } catch (const std::exception&) {
    return std::nan("");
  }
}

}  // namespace

CLI::Validator above_zero() {
  return {[](std::string& text) {
            return number_in(text) > 0 ? std::string() : "'" + text + "' is not a number above 0";
          },
          ""};
}

CLI::Validator not_negative() {
  return {[](std::string& text) {
            return number_in(text) >= 0 ? std::string()
                                        : "'" + text + "' is not a number of 0 or more";
          },
          ""};
}

CLI::Validator share_of_one() {
  return {[](std::string& text) {
            const double value = number_in(text);
            return value > 0 && value <= 1 ? std::string()
                                           : "'" + text + "' is not a number above 0, up to 1";
          },
          ""};
}

std::vector<std::string> pieces_of(const std::string& option, const std::string& text) {
  std::vector<std::string> pieces(1);
  for (const char c : text) {
    if (c == ',') {
      pieces.emplace_back();
    } else {
      pieces.back() += c;
    }
  }
  for (const std::string& piece : pieces) {
    if (!piece.empty()) continue;
    throw UsageError(option + " " + text + ": an entry is empty\nhint: one entry for each rank, " +
                     "with commas between them");
  }
  return pieces;
}

bool is_on(const std::string& option, const std::string& word) {
  if (word == "on" || word == "true" || word.empty()) return true;  // CLI11's "true": no word
  if (word == "off") return false;
  throw UsageError(option + " " + word + " is not known\nhint: it takes on or off");
}

double real_number(const std::string& option, const std::string& text) {
  const double value = number_in(text);
  if (std::isnan(value)) {
    throw UsageError(option + ": '" + text + "' is not a number\nhint: write for example 0.5");
  }
  return value;
}

int64_t whole_number(const std::string& option, const std::string& text, int64_t lowest) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size() && value >= lowest) return value;
  throw UsageError(option + ": '" + text + "' is not a whole number\nhint: it must be " +
                   std::to_string(lowest) + " or more");
}

}  // namespace dprof::trainer_harness
