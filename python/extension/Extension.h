//===- Extension.h - Parts of the Python extension --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_PYTHON_EXTENSION_EXTENSION_H
#define COMMSCHED_PYTHON_EXTENSION_EXTENSION_H

#include <nanobind/nanobind.h>

/// Adds the classes and functions of the scheduler.
void addSolver(nanobind::module_ &module);

/// Adds the function that runs passes.
void addOpt(nanobind::module_ &module);

#endif // COMMSCHED_PYTHON_EXTENSION_EXTENSION_H
