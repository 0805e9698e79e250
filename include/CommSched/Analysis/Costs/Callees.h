//===- Callees.h - What the functions of a module call ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call is to its function what a loop is to its body: it takes what the
// callee takes in the callee's own order. This writes that on the calls of a
// module (CalleeSummary), callees before callers and each of them read once.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_COSTS_CALLEES_H
#define COMMSCHED_ANALYSIS_COSTS_CALLEES_H

#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <string>
#include <vector>

namespace mlir::commsched {

class Callees {
public:
  /// Linear in the operations of `module`.
  explicit Callees(ModuleOp module);
  /// For what changes no function: all calls say what their callees take.
  Callees(ModuleOp module, OperationCosts &costs);
  /// Takes off the calls what was written on them.
  ~Callees();
  Callees(const Callees &) = delete;
  Callees &operator=(const Callees &) = delete;

  size_t getNumLevels() const { return levels.size(); }
  /// The functions with a body that call those of lower levels, or each other;
  /// in the order of the module.
  ArrayRef<FunctionOpInterface> getFunctions(size_t level) const {
    return levels[level].functions;
  }

  /// Whether `function` calls itself, perhaps by others.
  bool isRecursive(FunctionOpInterface function) const {
    auto it = cycles.find(function);
    return it != cycles.end() && it->second >= 0;
  }

  bool hasCalls(size_t level) const { return !levels[level].calls.empty(); }

  /// Writes on the calls in the functions of `level` what their callees take,
  /// which those of lower levels do as they are now.
  void describe(size_t level, OperationCosts &costs);

  /// A call that is a barrier since nothing is known of its callee, and why.
  struct Barrier {
    CallOpInterface call;
    std::string reason;
  };
  /// Those in the functions of `level`.
  std::vector<Barrier> findBarriers(size_t level);

private:
  struct Level {
    SmallVector<FunctionOpInterface> functions;
    std::vector<CallOpInterface> calls;
  };

  /// The function with a body that `call` calls, or null.
  FunctionOpInterface findCallee(CallOpInterface call);
  /// Whether `call` is one of a cycle of calls.
  bool isRecursive(CallOpInterface call, FunctionOpInterface callee) const;

  ModuleOp module;
  SymbolTableCollection symbolTables;
  std::vector<Level> levels;
  /// By function with a body; only functions of one cycle have the same.
  DenseMap<Operation *, int64_t> cycles;
  /// By function that has been read.
  DenseMap<Operation *, DictionaryAttr> summaries;
};

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_COSTS_CALLEES_H
