//===- Statements.h - Small graphs as text ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the texts of problems and of joint graphs have in common: statements of
// words, each up to the end of its line or a semicolon, most of which name a
// node.
//
//   NAME = WORD...
//   WORD...
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TESTSUPPORT_STATEMENTS_H
#define COMMSCHED_TESTSUPPORT_STATEMENTS_H

#include "CommSched/Support/Result.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace mlir::commsched::testing {

struct Statement {
  int32_t line;
  /// Empty if the statement has none.
  std::string name;
  std::vector<std::string> words;

  Error error(const std::string &reason) const {
    return {"line " + std::to_string(line) + ": " + reason};
  }
};

inline std::vector<Statement> readStatements(const std::string &text) {
  std::vector<Statement> statements;
  std::istringstream lines(text);
  std::string line, part, word;
  for (int32_t number = 1; std::getline(lines, line); ++number) {
    std::istringstream parts(line);
    while (std::getline(parts, part, ';')) {
      std::istringstream words(part);
      Statement statement = {number, "", {}};
      while (words >> word)
        if (word == "=" && statement.words.size() == 1) {
          statement.name = statement.words.front();
          statement.words.clear();
        } else {
          statement.words.push_back(word);
        }
      if (!statement.words.empty() || !statement.name.empty())
        statements.push_back(statement);
    }
  }
  return statements;
}

/// A number that is the whole of `word`.
inline std::optional<int64_t> readNumber(const std::string &word) {
  std::istringstream stream(word);
  int64_t number = 0;
  if (word.empty() || !(stream >> number) || !stream.eof())
    return std::nullopt;
  return number;
}

/// `text` once for each number below `count`: the number stands where it has a
/// `$`, and the number before where it has a `^`.
inline std::string repeat(int32_t count, const std::string &text) {
  std::string result;
  for (int32_t number = 0; number < count; ++number, result += ';')
    for (char letter : text)
      result += letter == '$'   ? std::to_string(number)
                : letter == '^' ? std::to_string(number - 1)
                                : std::string(1, letter);
  return result;
}

/// The names of nodes, which are numbered as they are added.
class NodeNames {
public:
  /// Returns false if there is one of this name already.
  bool add(const std::string &name) {
    names.push_back(name);
    return numbers.insert({name, int32_t(names.size()) - 1}).second;
  }

  /// A node of this name or, behind a `#`, of this number.
  std::optional<int32_t> find(const std::string &name) const {
    if (auto found = numbers.find(name); found != numbers.end())
      return found->second;
    std::optional<int64_t> number;
    if (!name.empty() && name.front() == '#')
      number = readNumber(name.substr(1));
    return number;
  }

  /// The node of this name. Without one the test fails.
  int32_t get(const std::string &name) const {
    std::optional<int32_t> found = find(name);
    EXPECT_TRUE(found) << "no node is named '" << name << "'";
    return found.value_or(-1);
  }

  /// The nodes of these names.
  std::vector<int32_t> list(const std::string &text) const {
    std::istringstream words(text);
    std::string word;
    std::vector<int32_t> nodes;
    while (words >> word)
      nodes.push_back(get(word));
    return nodes;
  }

  /// The names of these nodes.
  std::string tell(const std::vector<int32_t> &nodes) const {
    std::string text;
    for (int32_t node : nodes) {
      bool isNamed = node >= 0 && node < int32_t(names.size());
      text += (text.empty() ? "" : " ") +
              (isNamed ? names[node] : "#" + std::to_string(node));
    }
    return text;
  }

private:
  std::vector<std::string> names;
  std::map<std::string, int32_t> numbers;
};

} // namespace mlir::commsched::testing

#endif // COMMSCHED_TESTSUPPORT_STATEMENTS_H
