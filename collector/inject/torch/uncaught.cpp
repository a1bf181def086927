// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/torch/uncaught.h"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "collector/inject/torch/core.h"

namespace dprof::inject::torch_source {
namespace {

constinit std::terminate_handler handler_before = nullptr;

void note_current() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type == nullptr) return core->note_exception("std::terminate without an exception");
  int failed = 0;
  char* name = abi::__cxa_demangle(type->name(), nullptr, nullptr, &failed);
  const char* shown = failed == 0 && name != nullptr ? name : type->name();
  char text[wire::kMaxTextBytes];
  snprintf(text, sizeof text, "%s", shown);
  try {
    throw;
  } catch (const std::exception& error) {
    snprintf(text, sizeof text, "%s: %s", shown, error.what());
  } catch (...) {
  }
  for (char* at = text; *at != '\0'; ++at) {
    if (*at == '\t') *at = ' ';  // tabs are reserved for frames (wire::Fact::kException)
  }
  core->note_exception(text);
  free(name);
}

[[noreturn]] void on_terminate() noexcept {
  // An exception raised here would end up here again.
  std::set_terminate(handler_before);
  note_current();
  if (handler_before != nullptr) handler_before();
  abort();
}

}  // namespace

void watch_terminate() noexcept {
  handler_before = std::get_terminate();  // before ours can be called
  std::set_terminate(&on_terminate);
}

}  // namespace dprof::inject::torch_source
