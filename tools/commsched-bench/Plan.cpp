//===- Plan.cpp - The measurements of a run -------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"

#include "Pattern.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace commsched::bench {

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
  groups.push_back(llvm::json::Object{
      {"name", group.name}, {"size", group.size}, {"stride", group.stride}});
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
