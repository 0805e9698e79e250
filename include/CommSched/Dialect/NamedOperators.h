//===- NamedOperators.h - Classes of operators by name ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the operators that `commsched.compute` names do. The dialect knows none
// of them; tables of operations do.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_DIALECT_NAMEDOPERATORS_H
#define COMMSCHED_DIALECT_NAMEDOPERATORS_H

#include "CommSched/Support/OperatorClass.h"
#include "mlir/IR/DialectInterface.h"
#include "llvm/ADT/StringMap.h"
#include <optional>

namespace mlir::commsched {

/// An interface of the commsched dialect.
class NamedOperators : public DialectInterface::Base<NamedOperators> {
public:
  explicit NamedOperators(Dialect *dialect) : Base(dialect) {}

  /// Of operators "namespace.name"; replaces what was known of one.
  void add(StringRef name, OperatorClass kind);

  /// The class of the operator `callee`, with or without an ".overload" behind
  /// its name; none for an operator that is not listed.
  std::optional<OperatorClass> lookup(StringRef callee) const;

private:
  llvm::StringMap<OperatorClass> classes;
};

} // namespace mlir::commsched

#endif // COMMSCHED_DIALECT_NAMEDOPERATORS_H
