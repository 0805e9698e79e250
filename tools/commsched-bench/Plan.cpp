//===- Plan.cpp - Settings and plan of a benchmark ------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"

#include "Pattern.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace commsched::bench {

static llvm::Error fail(const llvm::Twine &text) {
  return llvm::createStringError(text);
}

llvm::Expected<int64_t> parseBytes(llvm::StringRef text,
                                   llvm::StringRef option) {
  llvm::StringRef digits = text;
  int64_t unit = 1;
  if (digits.consume_back("K"))
    unit = int64_t(1) << 10;
  else if (digits.consume_back("M"))
    unit = int64_t(1) << 20;
  else if (digits.consume_back("G"))
    unit = int64_t(1) << 30;
  int64_t number = 0;
  constexpr int64_t most = int64_t(1) << 40;
  if (digits.getAsInteger(10, number) || number < 1 || number > most / unit)
    return fail(option +
                " must be a number of bytes from 1 to 1024G, with K, "
                "M or G for powers of 1024, not '" +
                text + "'");
  return number * unit;
}

llvm::Expected<std::vector<int64_t>> makeSizes(int64_t minimum, int64_t maximum,
                                               int64_t factor) {
  if (factor < 2)
    return fail("--factor must be at least 2, not " + llvm::Twine(factor));
  if (minimum > maximum)
    return fail("--min-bytes is " + llvm::Twine(minimum) +
                ", but --max-bytes is only " + llvm::Twine(maximum));
  std::vector<int64_t> sizes = {minimum};
  while (sizes.back() <= maximum / factor)
    sizes.push_back(sizes.back() * factor);
  return sizes;
}

/// `options` are the names that there are; `result` takes each one's place in
/// them.
static llvm::Error parseNames(llvm::ArrayRef<std::string> names,
                              llvm::StringRef what,
                              llvm::ArrayRef<llvm::StringRef> options,
                              std::vector<size_t> &result) {
  for (const std::string &name : names) {
    const llvm::StringRef *found = llvm::find(options, name);
    if (found == options.end())
      return fail("unknown " + what + " '" + name + "'; there are " +
                  llvm::join(options, ", "));
    size_t index = found - options.begin();
    if (llvm::is_contained(result, index))
      return fail(what + " '" + name + "' is given twice");
    result.push_back(index);
  }
  return llvm::Error::success();
}

/// Reads names of `values`, each of which `getName` names.
template <typename T, typename GetName>
static llvm::Expected<std::vector<T>>
parseList(llvm::ArrayRef<std::string> names, llvm::StringRef what,
          const std::vector<T> &values, GetName getName) {
  std::vector<llvm::StringRef> options;
  for (const T &value : values)
    options.push_back(getName(value));
  std::vector<size_t> indices;
  if (llvm::Error error = parseNames(names, what, options, indices))
    return error;
  std::vector<T> result;
  for (size_t index : indices)
    result.push_back(values[index]);
  return result;
}

llvm::Expected<std::vector<Operation>>
parseOperations(llvm::ArrayRef<std::string> names) {
  return parseList<Operation>(names, "collective", getOperations().vec(),
                              stringifyOperation);
}

llvm::Expected<std::vector<const Element *>>
parseElements(llvm::ArrayRef<std::string> names) {
  std::vector<const Element *> all;
  for (const Element &element : getElements())
    all.push_back(&element);
  return parseList<const Element *>(
      names, "type", all, [](const Element *element) { return element->name; });
}

llvm::StringRef stringifyReduction(commsched_reduction reduction) {
  return commsched_reduction_name(reduction);
}

llvm::Expected<std::vector<commsched_reduction>>
parseReductions(llvm::ArrayRef<std::string> names) {
  return parseList<commsched_reduction>(
      names, "reduction",
      {COMMSCHED_SUM, COMMSCHED_AVG, COMMSCHED_PROD, COMMSCHED_MIN,
       COMMSCHED_MAX, COMMSCHED_BAND, COMMSCHED_BOR, COMMSCHED_BXOR},
      stringifyReduction);
}

llvm::Expected<std::vector<GroupShape>>
parseGroups(llvm::ArrayRef<std::string> names) {
  std::vector<GroupShape> groups;
  for (const std::string &name : names) {
    GroupShape group;
    group.name = name;
    auto [kind, size] = llvm::StringRef(name).split(':');
    bool known = name == "world" || kind == "rows" || kind == "columns";
    if (!known)
      return fail("unknown group '" + name +
                  "'; there are world, rows:SIZE, columns:SIZE");
    if (name != "world") {
      group.kind =
          kind == "rows" ? GroupShape::Kind::Rows : GroupShape::Kind::Columns;
      if (size.getAsInteger(10, group.size) || group.size < 1)
        return fail("group '" + name +
                    "' needs a positive number of ranks, as in " + kind + ":2");
    }
    if (llvm::any_of(groups,
                     [&](const GroupShape &g) { return g.name == name; }))
      return fail("group '" + name + "' is given twice");
    groups.push_back(std::move(group));
  }
  return groups;
}

llvm::Expected<GroupImplementation> parseImplementation(llvm::StringRef name,
                                                        llvm::StringRef method,
                                                        int32_t channels) {
  if (name.empty())
    return fail("--implementation needs a name");
  constexpr llvm::StringLiteral methods[] = {"nccl", "copy-engine",
                                             "symmetric"};
  if (method.empty())
    method = name;
  if (!llvm::is_contained(methods, method))
    return fail("implementation '" + name +
                "' needs --method=nccl, copy-engine or symmetric" +
                (method == name ? "" : ", not '" + method + "'"));
  if (channels < 0)
    return fail("--channels must not be negative, but is " +
                llvm::Twine(channels));
  if (channels > 0 && method != "nccl")
    return fail("--channels is for the method 'nccl' only, not for '" + method +
                "'");
  return GroupImplementation{name.str(), method.str(), channels};
}

std::vector<int32_t> PlanGroup::getMembers(int32_t rank) const {
  int32_t block = size * stride;
  int32_t first = rank / block * block + rank % stride;
  std::vector<int32_t> members;
  for (int32_t i = 0; i < size; ++i)
    members.push_back(first + i * stride);
  return members;
}

namespace {

/// Fills the plan and its program.
class PlanBuilder {
public:
  PlanBuilder(const Settings &settings, int32_t numRanks)
      : settings(settings), numRanks(numRanks) {}

  llvm::Expected<Plan> build();

private:
  llvm::Error addGroup(const GroupShape &shape);
  llvm::Error addPoints(Operation operation, int32_t group);
  llvm::Error addPoint(Point point, int64_t size);
  /// Returns the site's index.
  int32_t addSite(llvm::StringRef kind, int32_t group, llvm::json::Object site);
  void addSites(Point &point);

  const Settings &settings;
  int32_t numRanks;
  Plan plan;
  llvm::json::Array groups;
  llvm::json::Array sites;
};

} // namespace

llvm::Error PlanBuilder::addGroup(const GroupShape &shape) {
  PlanGroup group;
  group.name = shape.name;
  group.size = shape.kind == GroupShape::Kind::World ? numRanks : shape.size;
  if (numRanks % group.size != 0)
    return llvm::createStringError("group '" + shape.name +
                                   "' does not divide the " +
                                   llvm::Twine(numRanks) + " ranks evenly");
  if (shape.kind == GroupShape::Kind::Columns)
    group.stride = numRanks / group.size;
  llvm::json::Object description{
      {"name", group.name}, {"size", group.size}, {"stride", group.stride}};
  if (const auto &implementation = settings.implementation) {
    llvm::json::Object object{{"name", implementation->name},
                              {"method", implementation->method}};
    if (implementation->channels > 0)
      object["channels"] = implementation->channels;
    description["implementation"] = std::move(object);
  }
  groups.push_back(std::move(description));
  plan.groups.push_back(std::move(group));
  return llvm::Error::success();
}

int32_t PlanBuilder::addSite(llvm::StringRef kind, int32_t group,
                             llvm::json::Object site) {
  int32_t index = sites.size();
  site["name"] = (kind + "#" + llvm::Twine(index)).str();
  site["location"] = "commsched-bench";
  site["kind"] = kind;
  site["group"] = group;
  sites.push_back(std::move(site));
  return index;
}

void PlanBuilder::addSites(Point &point) {
  int64_t ranks = plan.groups[point.group].size;
  PartCounts parts = getPartCounts(point.operation, ranks);
  auto describe = [&](int64_t inputParts, int64_t outputParts) {
    return llvm::json::Object{
        {"tensors", llvm::json::Array{llvm::json::Object{
                        {"type", point.element->name},
                        {"inputs", inputParts * point.partElements},
                        {"outputs", outputParts * point.partElements}}}}};
  };
  if (point.operation == Operation::SendRecv) {
    llvm::json::Object send = describe(1, 0), recv = describe(0, 1);
    send["peer"] = 1;
    recv["peer"] = 0;
    send["tag"] = recv["tag"] = 0;
    point.site = addSite("send", point.group, std::move(send));
    addSite("recv", point.group, std::move(recv));
    return;
  }
  llvm::json::Object site = describe(parts.inputs, parts.outputs);
  if (point.reduction)
    site["reduction"] = stringifyReduction(*point.reduction);
  if (point.operation == Operation::Broadcast)
    site["peer"] = 0;
  if (point.operation == Operation::Permute) {
    llvm::json::Array pairs;
    for (int64_t rank = 0; rank < ranks; ++rank)
      pairs.push_back(llvm::json::Array{rank, (rank + 1) % ranks});
    site["pairs"] = std::move(pairs);
  }
  point.site = addSite(stringifyOperation(point.operation), point.group,
                       std::move(site));
}

llvm::Error PlanBuilder::addPoint(Point point, int64_t size) {
  const PlanGroup &group = plan.groups[point.group];
  int64_t parts = getPartCounts(point.operation, group.size).full();
  point.partElements = size / parts / point.element->bytes;
  if (point.partElements == 0)
    return llvm::createStringError(
        llvm::Twine(size) + " bytes hold no " + point.element->name + " for " +
        stringifyOperation(point.operation) + " on group '" + group.name +
        "', which takes " + llvm::Twine(parts * point.element->bytes) +
        " bytes at least");
  point.bytes = point.partElements * parts * point.element->bytes;
  addSites(point);
  plan.points.push_back(point);
  return llvm::Error::success();
}

llvm::Error PlanBuilder::addPoints(Operation operation, int32_t group) {
  Point point;
  point.operation = operation;
  point.group = group;
  int32_t ranks = plan.groups[group].size;
  if (ranks < getLeastRanks(operation))
    return llvm::Error::success();
  std::vector<std::optional<commsched_reduction>> reductions = {std::nullopt};
  if (isReduction(operation))
    reductions.assign(settings.reductions.begin(), settings.reductions.end());
  for (const Element *element : settings.elements) {
    point.element = element;
    for (std::optional<commsched_reduction> reduction : reductions) {
      point.reduction = reduction;
      if (!Pattern::exists(*element, reduction, ranks))
        return llvm::createStringError(
            "reduction '" + stringifyReduction(*reduction) + "' of " +
            element->name + " on the " + llvm::Twine(ranks) +
            " ranks of group '" + plan.groups[group].name +
            "' cannot be checked: its results are not exact");
      for (int64_t size : settings.sizes)
        if (llvm::Error error = addPoint(point, size))
          return error;
    }
  }
  return llvm::Error::success();
}

llvm::Expected<Plan> PlanBuilder::build() {
  for (const GroupShape &shape : settings.groups)
    if (llvm::Error error = addGroup(shape))
      return error;
  for (Operation operation : settings.operations)
    for (int32_t group = 0, e = plan.groups.size(); group < e; ++group)
      if (llvm::Error error = addPoints(operation, group))
        return error;
  if (plan.points.empty())
    return llvm::createStringError(
        "nothing to measure: the groups have one rank, and a send needs two");
  int32_t all = groups.size();
  groups.push_back(
      llvm::json::Object{{"name", "all"}, {"size", numRanks}, {"stride", 1}});
  plan.barrierSite = addSite("barrier", all, {});
  sites.back().getAsObject()->insert({"tensors", llvm::json::Array()});
  llvm::raw_string_ostream(plan.program) << llvm::json::Value(
      llvm::json::Object{{"version", 1},
                         {"groups", std::move(groups)},
                         {"sites", std::move(sites)},
                         {"operators", llvm::json::Array()}});
  return std::move(plan);
}

llvm::Expected<Plan> Plan::create(const Settings &settings, int32_t numRanks) {
  return PlanBuilder(settings, numRanks).build();
}

} // namespace commsched::bench
