//===- Opt.cpp - Passes on a module in the Python process -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Extension.h"

#include "CommSched/Tools/InProcess.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

namespace nb = nanobind;
using namespace mlir::commsched;

namespace {

struct Texts {
  std::string output, errors;
};

} // namespace

static const char *toString(OptStatus status) {
  switch (status) {
  case OptStatus::Succeeded:
    return "succeeded";
  case OptStatus::Failed:
    return "failed";
  case OptStatus::InvalidOption:
    return "invalid option";
  case OptStatus::Unsupported:
    return "unsupported";
  }
  return "unknown";
}

/// Returns the status in words, the output and the errors.
static nb::tuple runFlags(nb::bytes module,
                          const std::vector<std::string> &flags,
                          bool wantsOutput) {
  std::vector<const char *> pointers;
  for (const std::string &flag : flags)
    pointers.push_back(flag.c_str());
  auto output = [](const char *text, size_t size, void *texts) {
    static_cast<Texts *>(texts)->output.append(text, size);
  };
  auto errors = [](const char *text, size_t size, void *texts) {
    static_cast<Texts *>(texts)->errors.append(text, size);
  };
  Texts texts;
  OptStatus status;
  {
    nb::gil_scoped_release release;
    status =
        runOpt(module.c_str(), module.size(), pointers.data(), pointers.size(),
               wantsOutput ? +output : nullptr, errors, &texts);
  }
  return nb::make_tuple(toString(status),
                        nb::bytes(texts.output.data(), texts.output.size()),
                        nb::bytes(texts.errors.data(), texts.errors.size()));
}

void addOpt(nb::module_ &module) {
  module.def("run", &runFlags, nb::arg("module"), nb::arg("flags"),
             nb::arg("wants_output"));
}
