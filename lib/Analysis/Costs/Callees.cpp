//===- Callees.cpp - What the functions of a module call ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/Callees.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/CalleeSummary.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "mlir/Analysis/CallGraph.h"
#include "llvm/ADT/SCCIterator.h"

using namespace mlir;
using namespace mlir::commsched;
using Effects = CalleeSummary::Effects;

//===----------------------------------------------------------------------===//
// Which functions call which
//===----------------------------------------------------------------------===//

Callees::Callees(ModuleOp module) : module(module) {
  CallGraph graph(module);
  // Private functions that nobody calls are read, too.
  for (CallGraphNode *node : graph)
    graph.getExternalCallerNode()->addAbstractEdge(node);
  DenseMap<Operation *, size_t> levelOf;
  auto getFunction = [](CallGraphNode *node) {
    return node->isExternal() ? nullptr
                              : node->getCallableRegion()->getParentOp();
  };
  int64_t numCycles = 0;
  const CallGraph *known = &graph;
  for (auto cycle = llvm::scc_begin(known); !cycle.isAtEnd(); ++cycle) {
    size_t level = 0;
    for (CallGraphNode *node : *cycle)
      for (const CallGraphNode::Edge &edge : *node)
        // Not yet there if it is of the same cycle.
        if (auto it = levelOf.find(getFunction(edge.getTarget()));
            it != levelOf.end())
          level = std::max(level, it->second + 1);
    for (CallGraphNode *node : *cycle)
      if (Operation *function = getFunction(node)) {
        levelOf[function] = level;
        cycles[function] = cycle.hasCycle() ? numCycles : -1;
      }
    ++numCycles;
  }
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto function = dyn_cast<FunctionOpInterface>(op);
    auto call = dyn_cast<CallOpInterface>(op);
    auto it = levelOf.find(function ? op
                           : call   ? op->getParentOfType<FunctionOpInterface>()
                                    : nullptr);
    if (it == levelOf.end())
      return;
    levels.resize(std::max(levels.size(), it->second + 1));
    Level &level = levels[it->second];
    if (function)
      level.functions.push_back(function);
    else
      level.calls.push_back(call);
  });
}

FunctionOpInterface Callees::findCallee(CallOpInterface call) {
  Region *body = getCalledBody(call, symbolTables);
  return body ? dyn_cast<FunctionOpInterface>(body->getParentOp())
              : FunctionOpInterface();
}

bool Callees::isRecursive(CallOpInterface call,
                          FunctionOpInterface callee) const {
  Operation *caller = call->getParentOfType<FunctionOpInterface>();
  return isRecursive(callee) && cycles.lookup(caller) == cycles.lookup(callee);
}

std::vector<Callees::Barrier> Callees::findBarriers(size_t level) {
  std::vector<Barrier> barriers;
  for (CallOpInterface call : levels[level].calls) {
    auto symbol = dyn_cast<SymbolRefAttr>(call.getCallableForCallee());
    std::string name =
        symbol ? "@" + makePrintable(symbol.getLeafReference()) : "";
    FunctionOpInterface callee = findCallee(call);
    Operation *target = call.resolveCallableInTable(&symbolTables);
    if (callee && isRecursive(call, callee))
      barriers.push_back({call, name + ", " + getLocationText(callee.getLoc()) +
                                    ", calls itself"});
    else if (!symbol)
      barriers.push_back({call, "which function it calls is not known"});
    else if (!callee && hasUnknownMemoryEffects(call))
      barriers.push_back(
          {call,
           name +
               (target ? ", " + getLocationText(target->getLoc()) + "," : "") +
               " has no body"});
  }
  return barriers;
}

//===----------------------------------------------------------------------===//
// What they take
//===----------------------------------------------------------------------===//

/// What `body` does, whose calls say what they do.
static Effects getEffects(Region &body) {
  bool communicates = false;
  auto isKnown = [&](Operation *op) {
    if (hasUnknownMemoryEffects(op))
      return false;
    return llvm::all_of(getStatedEffects(op), [](const auto &effect) {
      return effect.getResource() == CommunicationResource::get();
    });
  };
  WalkResult result = body.walk([&](Operation *op) {
    if (op->getNumRegions() == 0 || isa<CollectiveOpInterface>(op))
      communicates |= getCommunicationEffect(op) != CommunicationEffect::None;
    return isKnown(op) ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return Effects::Unknown;
  return communicates ? Effects::Communication : Effects::None;
}

/// By value that `callee` returns: the argument that it is or is a view of, or
/// -1. Empty if it has several blocks.
static SmallVector<int64_t> findAliases(FunctionOpInterface callee) {
  SmallVector<int64_t> aliases;
  Region &body = callee.getFunctionBody();
  if (!body.hasOneBlock() || !body.front().mightHaveTerminator())
    return aliases;
  for (Value value : body.front().getTerminator()->getOperands()) {
    while (auto result = dyn_cast_if_present<OpResult>(value))
      value = getAliasedValue(result);
    auto argument = dyn_cast_if_present<BlockArgument>(value);
    bool isArgument = argument && argument.getOwner() == &body.front();
    aliases.push_back(isArgument ? static_cast<int64_t>(argument.getArgNumber())
                                 : -1);
  }
  return aliases;
}

/// The peak of the live bytes of `callee`, without those of its arguments and
/// of results with storage of their own.
static int64_t getInnerBytes(FunctionOpInterface callee,
                             ArrayRef<int64_t> aliases) {
  int64_t peakBytes = 0;
  for (Block &block : callee.getFunctionBody())
    peakBytes = std::max(peakBytes, simulateBlockMemory(block).peakBytes);
  Block &entry = callee.getFunctionBody().front();
  int64_t countedBytes =
      entry.getNumArguments() == 0 ? 0 : computeCountedBytes(entry);
  for (auto [index, type] : llvm::enumerate(callee.getResultTypes()))
    if (index >= aliases.size() || aliases[index] < 0)
      countedBytes =
          saturatingAdd(countedBytes, getStaticBytes(type).value_or(0));
  return peakBytes - countedBytes;
}

static DictionaryAttr summarize(FunctionOpInterface callee,
                                OperationCosts &costs) {
  CalleeSummary summary;
  Region &body = callee.getFunctionBody();
  summary.price = costs.priceRegion(body);
  summary.effects = getEffects(body);
  SmallVector<Attribute> streams = findStreamsInside(callee);
  summary.streams = streams;
  SmallVector<int64_t> aliases = findAliases(callee);
  summary.innerBytes = getInnerBytes(callee, aliases);
  if (llvm::any_of(aliases, [](int64_t index) { return index >= 0; }))
    summary.aliases = aliases;
  return summary.get(callee.getContext());
}

void Callees::describe(size_t level, OperationCosts &costs) {
  for (CallOpInterface call : levels[level].calls) {
    FunctionOpInterface callee = findCallee(call);
    if (!callee)
      continue;
    DictionaryAttr summary;
    if (isRecursive(call, callee)) {
      // How often a function calls itself is not known.
      CalleeSummary unknown;
      unknown.price = OperationPrice::assumed(costs.assumeNs(call));
      summary = unknown.get(call->getContext());
    } else {
      DictionaryAttr &known = summaries[callee];
      if (!known)
        known = summarize(callee, costs);
      summary = known;
    }
    call->setDiscardableAttr(calleeAttrName, summary);
  }
}

Callees::Callees(ModuleOp module, OperationCosts &costs) : Callees(module) {
  for (size_t level = 0; level < levels.size(); ++level)
    describe(level, costs);
}

Callees::~Callees() {
  // Passes may have made and erased calls since.
  if (!levels.empty())
    module.walk([](CallOpInterface call) {
      call->removeDiscardableAttr(calleeAttrName);
    });
}
