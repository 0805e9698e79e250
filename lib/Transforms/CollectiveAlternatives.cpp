//===- CollectiveAlternatives.cpp - Implementations to choose from --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CollectiveAlternatives.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using cost::CollectiveQuery;

CollectiveAlternatives::CollectiveAlternatives(
    const Problem &problem, function_ref<Operation *(NodeId)> getOperation,
    OperationCosts &costs)
    : problem(problem), costs(costs), alternatives(problem.numNodes()),
      streams(getStreamCollectives(problem, getOperation)) {
  for (auto [index, stream] : llvm::enumerate(streams))
    streamOf[{stream.collective.getGroupKey(), stream.implementation}] =
        static_cast<StreamId>(index);
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (problem.kind(node) == schedule::NodeKind::Start)
      addAlternatives(cast<CollectiveOpInterface>(getOperation(node)), node);
}

StreamId CollectiveAlternatives::getStream(CollectiveOpInterface collective,
                                           StringAttr name) {
  auto [it, isNew] = streamOf.try_emplace(
      {collective.getGroupKey(), name}, static_cast<StreamId>(streams.size()));
  if (isNew)
    streams.push_back({collective, name});
  return it->second;
}

/// Whether the implementation of `collective` is fixed: by name; because its
/// time would be the same for all; or because another program, which may choose
/// otherwise, carries out the other end.
static bool isFixed(CollectiveOpInterface collective, OperationCosts &costs) {
  CollectiveKind kind = collective.getCollectiveKind();
  auto own = dyn_cast<CostOpInterface>(collective.getOperation());
  return collective->hasAttr(implementationAttrName) ||
         getPinnedRuntimeNs(collective) || (own && own.getKnownRuntimeNs()) ||
         isHostTransfer(kind) || kind == CollectiveKind::Send ||
         kind == CollectiveKind::Recv;
}

void CollectiveAlternatives::addAlternatives(CollectiveOpInterface collective,
                                             NodeId node) {
  if (isFixed(collective, costs))
    return;
  std::optional<CollectiveQuery> query = costs.getQuery(collective);
  if (!query || query->ranks <= 1)
    return;
  std::vector<schedule::Implementation> &ways = alternatives[node];
  ways.push_back({problem.costNs(node), problem.stream(node)});
  ArrayRef<cost::Implementation> known =
      costs.getTarget().implementations.get();
  for (size_t index = 1; index < known.size(); ++index) {
    query->implementation = static_cast<int32_t>(index);
    if (!known[index].isFor(query->bytes) ||
        costs.getCollectiveCost().findObstacle(*query))
      continue;
    auto name = StringAttr::get(collective.getContext(), known[index].name);
    names[{node, static_cast<int32_t>(ways.size())}] = name;
    std::optional<int64_t> measured =
        costs.findMeasuredNs(collective, known[index].name);
    ways.push_back({measured.value_or(costs.estimateCollective(*query).timeNs),
                    getStream(collective, name)});
  }
  if (ways.size() == 1)
    ways.clear();
}
