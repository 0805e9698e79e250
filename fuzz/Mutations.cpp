//===- Mutations.cpp - Mutations of structured text -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Mutations.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <vector>

using namespace commsched::fuzz;

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

namespace {

enum class TokenKind { Number, Value, Symbol, Word, String, Other };

/// A token of a text, as a range of its characters.
struct Token {
  TokenKind kind;
  size_t begin, size;
};

} // namespace

static bool isWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ||
         c == '$' || c == '-';
}

/// The end of the token that begins at `begin`, and what it is.
static Token readToken(std::string_view text, size_t begin) {
  char first = text[begin];
  auto endWhile = [&](auto predicate) {
    size_t end = begin + 1;
    while (end < text.size() && predicate(text[end]))
      ++end;
    return end - begin;
  };
  if (first == '"') {
    size_t end = begin + 1;
    while (end < text.size() && text[end] != '"' && text[end] != '\n')
      end += text[end] == '\\' ? 2 : 1;
    return {TokenKind::String, begin, std::min(end + 1, text.size()) - begin};
  }
  if (first == '%')
    return {TokenKind::Value, begin, endWhile(isWordCharacter)};
  if (first == '@')
    return {TokenKind::Symbol, begin, endWhile(isWordCharacter)};
  auto isDigit = [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  };
  if (isDigit(first))
    return {TokenKind::Number, begin, endWhile(isDigit)};
  if (std::isalpha(static_cast<unsigned char>(first)) || first == '!')
    return {TokenKind::Word, begin, endWhile(isWordCharacter)};
  return {TokenKind::Other, begin, 1};
}

static std::vector<Token> tokenize(std::string_view text) {
  std::vector<Token> tokens;
  for (size_t begin = 0; begin < text.size();) {
    if (std::isspace(static_cast<unsigned char>(text[begin]))) {
      ++begin;
      continue;
    }
    tokens.push_back(readToken(text, begin));
    begin += tokens.back().size;
  }
  return tokens;
}

//===----------------------------------------------------------------------===//
// Single mutations
//===----------------------------------------------------------------------===//

static size_t draw(Random &random, size_t count) { return random() % count; }

template <typename Container>
static const auto &drawOne(Random &random, const Container &container) {
  return *std::next(std::begin(container),
                    draw(random, static_cast<size_t>(std::size(container))));
}

/// Numbers at which types, sizes and options have their limits.
static constexpr std::string_view limits[] = {"0",
                                              "1",
                                              "2",
                                              "3",
                                              "4",
                                              "7",
                                              "8",
                                              "16",
                                              "63",
                                              "64",
                                              "255",
                                              "4096",
                                              "65537",
                                              "2147483647",
                                              "2147483648",
                                              "4294967296",
                                              "1099511627776",
                                              "4611686018427387904",
                                              "9223372036854775807",
                                              "9223372036854775808",
                                              "18446744073709551616",
                                              "-1",
                                              "-9223372036854775808",
                                              "0.5",
                                              "1e300"};

/// Attributes of the dialect, as they stand in a dictionary.
static constexpr std::string_view attributes[] = {
    "commsched.name = \"a\"",
    "commsched.module = \"layers.1.mlp\"",
    "commsched.runtime_ns = 1000 : i64",
    "commsched.runtime_ns = 9223372036854775807 : i64",
    "commsched.runtime_ns = -1 : i64",
    "commsched.order = 1 : i64",
    "commsched.partition = \"forward\"",
    "commsched.partition = \"must_be_backward\"",
    "commsched.recompute = \"must_save\"",
    "commsched.recompute = \"must_recompute\"",
    "commsched.compile_with = {pipeline = \"cse\", region = \"r\"}",
    "commsched.role = \"parameter\"",
    "commsched.role = \"saved_activation\"",
    "commsched.freeable",
    "commsched.bucket = \"b\"",
    "commsched.baseline_peak_bytes = 1 : i64",
    "commsched.over_budget_bytes = 1 : i64",
    "commsched.carried = 0 : i64",
    "commsched.num_forward_outputs = 1 : i64",
    "commsched.implementation = \"nccl\"",
    "commsched.backend = \"mpi\"",
    "commsched.pure"};

/// Lines that end blocks without returning anything.
static constexpr std::string_view endings[] = {"ub.unreachable\n",
                                               "cf.br ^end\n^end:\n"};

static std::string replace(std::string_view text, const Token &token,
                           std::string_view by) {
  std::string result(text.substr(0, token.begin));
  result += by;
  result += text.substr(token.begin + token.size);
  return result;
}

/// Another number: a limit, a neighbor, a half or the double.
static std::string changeNumber(std::string_view number, Random &random) {
  if (number.size() > 18 || draw(random, 2) == 0)
    return std::string(drawOne(random, limits));
  int64_t value = std::stoll(std::string(number));
  const int64_t others[] = {value - 1, value + 1, value / 2, value * 2};
  return std::to_string(drawOne(random, others));
}

static std::string changeToken(std::string_view text, Random &random) {
  std::vector<Token> tokens = tokenize(text);
  if (tokens.empty())
    return std::string(text);
  const Token &token = drawOne(random, tokens);
  std::string_view old = text.substr(token.begin, token.size);
  if (token.kind == TokenKind::Number)
    return replace(text, token, changeNumber(old, random));
  std::vector<Token> others;
  std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(others),
               [&](const Token &other) { return other.kind == token.kind; });
  const Token &other = drawOne(random, others);
  return replace(text, token, text.substr(other.begin, other.size));
}

static std::string removeToken(std::string_view text, Random &random) {
  std::vector<Token> tokens = tokenize(text);
  return tokens.empty() ? std::string(text)
                        : replace(text, drawOne(random, tokens), "");
}

/// Adds an attribute to a dictionary, or a dictionary to a line.
static std::string addAttribute(std::string_view text, Random &random) {
  std::vector<size_t> places;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '{')
      places.push_back(i + 1);
  if (places.empty())
    return std::string(text);
  std::string added(drawOne(random, attributes));
  return replace(text, {TokenKind::Other, drawOne(random, places), 0},
                 added + (draw(random, 4) ? ", " : ""));
}

static std::vector<std::string_view> splitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

static std::string join(const std::vector<std::string_view> &lines) {
  std::string text;
  for (std::string_view line : lines)
    text += line;
  return text;
}

/// Ends a block before a line other than the first, or in place of one that
/// returns or yields.
static std::string endBlock(std::string_view text, Random &random) {
  std::vector<std::string_view> lines = splitLines(text);
  if (lines.size() < 2)
    return std::string(text);
  std::vector<size_t> returns;
  for (size_t i = 1; i < lines.size(); ++i)
    if (lines[i].find("return") != std::string_view::npos ||
        lines[i].find("yield") != std::string_view::npos)
      returns.push_back(i);
  std::string_view ending = drawOne(random, endings);
  if (!returns.empty() && draw(random, 4)) {
    lines[drawOne(random, returns)] = ending;
    return join(lines);
  }
  size_t index = 1 + draw(random, lines.size() - 1);
  lines.insert(lines.begin() + static_cast<ptrdiff_t>(index), ending);
  return join(lines);
}

/// Removes, doubles, moves or exchanges lines other than the first.
static std::string changeLines(std::string_view text, Random &random) {
  std::vector<std::string_view> lines = splitLines(text);
  if (lines.size() < 3)
    return std::string(text);
  size_t index = 1 + draw(random, lines.size() - 1);
  size_t other = 1 + draw(random, lines.size() - 1);
  std::string_view line = lines[index];
  switch (draw(random, 4)) {
  case 0:
    lines.erase(lines.begin() + static_cast<ptrdiff_t>(index));
    break;
  case 1:
    lines.insert(lines.begin() + static_cast<ptrdiff_t>(other), line);
    break;
  case 2:
    lines.erase(lines.begin() + static_cast<ptrdiff_t>(index));
    lines.insert(lines.begin() +
                     static_cast<ptrdiff_t>(std::min(other, lines.size())),
                 line);
    break;
  default:
    std::swap(lines[index], lines[other]);
  }
  return join(lines);
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

std::string commsched::fuzz::mutate(std::string_view text, Random &random) {
  std::string result(text);
  for (size_t count = 1 + draw(random, 4); count > 0; --count) {
    switch (draw(random, 10)) {
    case 0:
      result = removeToken(result, random);
      break;
    case 1:
    case 2:
      result = addAttribute(result, random);
      break;
    case 3:
      result = endBlock(result, random);
      break;
    case 4:
    case 5:
      result = changeLines(result, random);
      break;
    default:
      result = changeToken(result, random);
    }
  }
  return result;
}

std::string commsched::fuzz::crossOver(std::string_view text,
                                       std::string_view other, Random &random) {
  std::vector<std::string_view> lines = splitLines(text);
  std::vector<std::string_view> others = splitLines(other);
  if (lines.empty() || others.empty())
    return std::string(text);
  if (draw(random, 4)) {
    lines[0] = others[0];
    return join(lines);
  }
  lines.resize(1 + draw(random, lines.size()));
  size_t begin = draw(random, others.size());
  lines.insert(lines.end(), others.begin() + static_cast<ptrdiff_t>(begin),
               others.end());
  return join(lines);
}
