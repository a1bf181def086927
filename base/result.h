// SPDX-License-Identifier: Apache-2.0
// A value or an error that somebody can act on.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace dprof {

// What kind of failure it is. The process's exit code follows from it (see exit_code.h).
enum class Code {
  kUsage,        // the command line or a setting makes no sense
  kNotFound,     // a file, folder or rank that was named is not there
  kNotATrace,    // the file is something else
  kTraceTooNew,  // written by a newer dprof
  kDamaged,      // it was a trace once, and cannot be read (wholly)
  kIo,           // the operating system refused
  kNoMemory,
  kUnsupported,  // this machine or build cannot do it
  kInternal,     // a fault of dprof
};

// `what` says what failed, in which file or rank; `hint` says what to do about it.
struct Error {
  Code code = Code::kInternal;
  std::string what;
  std::string hint;
};

// What fail() returns; it converts to every Result<T>.
struct Failure {
  Error error;
};

[[nodiscard]] inline Failure fail(Code code, std::string what, std::string hint = {}) {
  return {Error{code, std::move(what), std::move(hint)}};
}
[[nodiscard]] inline Failure fail(Error error) { return {std::move(error)}; }

// Holds a T, or the Error that prevented it. Check ok() before the value is used.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : expected_(std::move(value)) {}                                         // NOLINT
  Result(Failure failure) : expected_(tl::unexpected<Error>(std::move(failure.error))) {}  // NOLINT

  [[nodiscard]] bool ok() const { return expected_.has_value(); }
  [[nodiscard]] const Error& error() const { return expected_.error(); }

  [[nodiscard]] T& operator*() & { return *expected_; }
  [[nodiscard]] const T& operator*() const& { return *expected_; }
  [[nodiscard]] T&& operator*() && { return *std::move(expected_); }
  [[nodiscard]] T* operator->() { return &*expected_; }
  [[nodiscard]] const T* operator->() const { return &*expected_; }

 private:
  tl::expected<T, Error> expected_;
};

// Success without a value.
struct Done {};
using Status = Result<Done>;

}  // namespace dprof
