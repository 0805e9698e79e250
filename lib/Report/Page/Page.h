//===- Page.h - The template of the page ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_REPORT_PAGE_PAGE_H
#define COMMSCHED_LIB_REPORT_PAGE_PAGE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

namespace mlir::commsched {

/// What stands once in the template, where the data belong.
inline constexpr llvm::StringLiteral pageDataMark = "{{data}}";

/// page.html with its style and scripts in it. CMake writes the definition.
StringRef getPageTemplate();

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_REPORT_PAGE_PAGE_H
