//===- SiteText.h - Sites of programs as text -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sites of a program as tests write them down, one a statement
// (Statements.h):
//
//   a = all_gather bf16 2 -> 4, i8 1 -> 2    Of two tensors: what a rank sends,
//                                            and what it receives.
//   b = send f32 8 : peer=1 tag=3            Of one, and further keys.
//   c = all_to_all i32 row=2 : input_splits=values
//
// Values of keys are JSON, or words. Sites are on group 0, unless a key names
// another one or they are transfers.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_RUNTIME_SITETEXT_H
#define COMMSCHED_UNITTESTS_RUNTIME_SITETEXT_H

#include "Statements.h"

#include <cctype>

namespace commsched::runtime::testing {

/// The elements of the list "sites" of a program description.
inline std::string makeSites(const std::string &text) {
  std::string sites;
  for (const auto &[line, name, words] :
       mlir::commsched::testing::readStatements(text)) {
    std::string tensors, keys, side;
    const std::string &kind = words.at(0);
    bool isTensor = true;
    for (auto word = words.begin() + 1; word != words.end(); ++word) {
      size_t equals = word->find('=');
      if (*word == ":") {
        isTensor = false;
      } else if (equals != std::string::npos) {
        std::string value = word->substr(equals + 1);
        bool isText = std::isalpha(static_cast<unsigned char>(value[0]));
        (isTensor ? tensors : keys) +=
            ", \"" + word->substr(0, equals) +
            "\": " + (isText ? '"' + value + '"' : value);
      } else if (*word == "->") {
        side = "outputs";
      } else if (std::isdigit(static_cast<unsigned char>((*word)[0]))) {
        tensors += ", \"" + side + "\": " + word->substr(0, word->find(','));
      } else {
        tensors += (tensors.empty() ? "{\"type\": \"" : "}, {\"type\": \"") +
                   *word + '"';
        side = "inputs";
      }
    }
    if (keys.find("\"group\"") == std::string::npos && kind != "offload" &&
        kind != "reload")
      keys += ", \"group\": 0";
    if (!tensors.empty())
      keys += ", \"tensors\": [" + tensors + "}]";
    sites += (sites.empty() ? "" : ", ");
    sites +=
        "{\"name\": \"" + name + "\", \"kind\": \"" + kind + '"' + keys + '}';
  }
  return sites;
}

} // namespace commsched::runtime::testing

#endif // COMMSCHED_UNITTESTS_RUNTIME_SITETEXT_H
