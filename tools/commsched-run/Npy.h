//===- Npy.h - Reads and writes files of NumPy arrays -----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NumPy's file format for one array, version 1.0 (and 2.0 for reading),
// row-major and little endian. Formats that NumPy lacks, such as bf16, are
// written as unsigned integers of the same bits; what NumPy saves for arrays of
// ml_dtypes, opaque elements of the same size, is read too.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_NPY_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_NPY_H

#include "Values.h"

namespace mlir::commsched::run {

/// Writes the elements of a value of that type. The file appears when it is
/// complete.
llvm::Error writeNpy(StringRef path, const ValueType &type, const Bytes &bytes);

/// Reads the elements of a value of that type. Fails, with a text that names
/// the file and both types, when it holds an array of another type or shape.
llvm::Expected<Bytes> readNpy(StringRef path, const ValueType &type);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_NPY_H
