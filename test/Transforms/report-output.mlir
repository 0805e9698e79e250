// RUN: rm -rf %t && mkdir %t
// RUN: commsched-opt %s --commsched-report="format=json output=%t/report.json" \
// RUN:   | FileCheck %s --check-prefix=IR
// RUN: FileCheck %s --check-prefix=FILE < %t/report.json

// A path that cannot be written is an error, and nothing is put out.
// RUN: not commsched-opt %s -o %t/out.mlir \
// RUN:   --commsched-report="format=json output=%t/missing/report.json" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MISSING
// RUN: not ls %t/out.mlir
// RUN: not commsched-opt %s --commsched-report="format=json output=%t" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=FOLDER
// RUN: not commsched-opt %s --commsched-report="format=xml" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=FORMAT

// IR-NOT: "function"
// IR: func.func @f
// FILE: {"function":"f",
// MISSING: error: cannot write the report: cannot open output file '{{.*}}report.json': {{N|n}}o such file or directory
// FOLDER: error: cannot write the report: cannot open output file '{{.*}}': {{I|i}}s a directory
// FORMAT: xml

func.func @f() {
  return
}
