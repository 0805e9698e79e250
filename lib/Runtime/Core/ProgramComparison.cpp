//===- ProgramComparison.cpp - Comparison of the ranks' programs ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Core/Program.h"

#include "Numerics/ElementTypes.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>

using namespace commsched::runtime;

/// Without line breaks: a text has one line for each site.
static std::string escape(const std::string &name) {
  std::string text;
  for (char c : name)
    text += c == '\n' ? std::string("\\n") : std::string(1, c);
  return text;
}

/// "'dp'", or "'dp' (nccl-4)" with an implementation.
static std::string quoteGroup(const GroupDescription &group) {
  std::string text = "'" + escape(group.name) + "'";
  return group.implementation
             ? text + " (" + escape(group.implementation->name) + ")"
             : text;
}

static std::string describeGroup(const GroupDescription &group) {
  std::string text = "group " + quoteGroup(group);
  if (group.implementation) {
    text += concat(" by ", getName(group.implementation->method));
    if (group.implementation->channels)
      text += concat(" with ", group.implementation->channels, " channels");
    if (group.implementation->stream != group.implementation->name)
      text += " on stream '" + escape(group.implementation->stream) + "'";
  }
  if (group.ranks.empty())
    return concat(text, " of ", group.size, " ranks in steps of ",
                  group.stride);
  text += " of ranks";
  for (const std::vector<int32_t> &row : group.ranks) {
    text += " [";
    for (size_t i = 0; i < row.size(); ++i)
      text += concat(i ? ", " : "", row[i]);
    text += "]";
  }
  return text;
}

static std::string describeSiteLine(const Site &site, const Program &program) {
  std::string text = concat("site ", site.collective, ", ", getName(site.kind),
                            " '", escape(site.name), "' on group ",
                            quoteGroup(program.groups[site.group]));
  if (site.reduction)
    text += concat(" reduction ", getName(*site.reduction));
  if (site.peer >= 0)
    text += concat(" peer ", site.peer);
  if (isPointToPoint(site.kind))
    text += concat(" tag ", site.tag);
  for (const auto &[source, target] : site.pairs)
    text += concat(" [", source, ", ", target, "]");
  const char *separator = ": ";
  for (const Tensor &tensor : site.tensors) {
    text += separator + tensor.element.name;
    if (site.hasSplitValues())
      text +=
          concat(" in rows of ", tensor.rowElements, ", as many as values say");
    else if (isUnevenAllToAll(site))
      text += " in uneven parts";
    else
      text += concat(" ", tensor.inputs, " -> ", tensor.outputs);
    separator = ", ";
  }
  return text;
}

std::string commsched::runtime::describeProgram(const Program &program) {
  std::string text;
  for (const GroupDescription &group : program.groups)
    text += describeGroup(group) + "\n";
  for (const Site &site : program.sites)
    if (!isTransfer(site.kind))
      text += describeSiteLine(site, program) + "\n";
  return text;
}

std::string commsched::runtime::digest(const std::string &text) {
  // FNV-1a.
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016" PRIx64, hash);
  return digits;
}

/// An error that describes the first difference between texts of
/// `describeProgram`, one for each rank; success when all are equal.
static Status findDifference(const std::vector<std::string> &texts) {
  const std::string &mine = texts.front();
  // Where the first line begins that differs on a rank.
  size_t first = std::string::npos, firstRank = 0;
  for (size_t rank = 1; rank < texts.size(); ++rank) {
    const std::string &other = texts[rank];
    size_t common = std::min(mine.size(), other.size());
    common = std::mismatch(mine.begin(), mine.begin() + common, other.begin())
                 .first -
             mine.begin();
    size_t begin = mine.substr(0, common).rfind('\n') + 1;
    if (other != mine && begin < first) {
      first = begin;
      firstRank = rank;
    }
  }
  if (firstRank == 0)
    return Status();
  auto describe = [&](size_t rank) {
    const std::string &text = texts[rank];
    return concat("rank ", rank, " has ",
                  first == text.size()
                      ? "nothing more"
                      : text.substr(first, text.find('\n', first) - first));
  };
  return "ranks run different programs: " + describe(0) + ", but " +
         describe(firstRank);
}

std::string commsched::runtime::describeSplits(const Program &program) {
  nlohmann::json splits = nlohmann::json::array();
  for (const Site &site : program.sites)
    if (isUnevenAllToAll(site))
      for (const Tensor &tensor : site.tensors)
        splits.push_back({tensor.inputSplits, tensor.outputSplits});
  return splits.empty() ? std::string() : splits.dump();
}

Status commsched::runtime::checkSplits(const Program &program,
                                       const std::vector<Rows> &rows,
                                       const std::vector<std::string> &texts) {
  std::vector<nlohmann::json> splits;
  for (const std::string &text : texts)
    splits.push_back(nlohmann::json::parse(text));
  size_t tensorIndex = 0;
  for (const Site &site : program.sites) {
    if (!isUnevenAllToAll(site))
      continue;
    for (size_t t = 0; t < site.tensors.size(); ++t, ++tensorIndex)
      for (const std::vector<int32_t> &row : rows[site.group])
        for (size_t i = 0; i < row.size(); ++i)
          for (size_t j = 0; j < row.size(); ++j) {
            int64_t sent = splits[row[i]][tensorIndex][0][j];
            int64_t expected = splits[row[j]][tensorIndex][1][i];
            if (sent != expected)
              return concat(describeSite(site), ", tensor ", t, ": rank ",
                            row[i], " sends ", sent, " elements to rank ",
                            row[j], ", which expects ", expected);
          }
  }
  return Status();
}

Status commsched::runtime::comparePrograms(const Program &program,
                                           const std::vector<Rows> &rows,
                                           const Exchange &exchange) {
  std::string text = describeProgram(program);
  std::vector<std::string> all;
  COMMSCHED_TRY(exchange(digest(text), all));
  bool differ = std::any_of(all.begin(), all.end(), [&](const auto &other) {
    return other != all.front();
  });
  if (differ) {
    COMMSCHED_TRY(exchange(text, all));
    return findDifference(all);
  }
  std::string splits = describeSplits(program);
  if (splits.empty())
    return Status();
  COMMSCHED_TRY(exchange(splits, all));
  return checkSplits(program, rows, all);
}
