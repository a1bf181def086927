// SPDX-License-Identifier: Apache-2.0
// A value, or an error that the user can act on.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace dprof {

// The kind of failure. It determines the process's exit code (see exit_code.h).
enum class Code {
  kUsage,        // invalid command line or setting
  kNotFound,     // a named file, folder or rank does not exist
  kNotATrace,    // the file is not a trace
  kTraceTooNew,  // written by a newer dprof
  kDamaged,      // was a trace once, but cannot be read (completely)
  kIo,           // the operating system refused
  kNoMemory,
  kUnsupported,  // this machine or build cannot do it
  kInternal,     // a bug in dprof
};

// `what` says what failed, in which file or rank; `hint` says what to do about it.
struct Error {
  Code code = Code::kInternal;
  std::string what;
  std::string hint;
};

// Returned by fail(); converts to every Result<T>.
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
