//===- CommSchedTestDialect.h - Foreign dialect for tests -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dialect of another project, with which the tests show that
// CommSched needs nothing but its interfaces.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TEST_LIB_COMMSCHEDTESTDIALECT_H
#define COMMSCHED_TEST_LIB_COMMSCHEDTESTDIALECT_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "CommSchedTestDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "CommSchedTestTypes.h.inc"

#define GET_OP_CLASSES
#include "CommSchedTestOps.h.inc"

#endif // COMMSCHED_TEST_LIB_COMMSCHEDTESTDIALECT_H
