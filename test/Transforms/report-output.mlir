// RUN: rm -rf %t && mkdir %t
// RUN: commsched-opt %s --commsched-report="format=json output=%t/report.json" \
// RUN:   | FileCheck %s --check-prefix=IR
// RUN: FileCheck %s --check-prefix=FILE < %t/report.json

// A path that cannot be written is an error, and nothing is put out.
// RUN: %fails commsched-opt %s -o %t/out.mlir --commsched-report="format=json output=%t/missing/report.json" "error: cannot write the report to '{{.*}}report.json': {{N|n}}o such file or directory"
// RUN: not ls %t/out.mlir
// RUN: %fails commsched-opt %s --commsched-report="format=json output=%t" "error: cannot write the report to '{{.*}}': {{I|i}}s a directory"
// RUN: %fails commsched-opt %s --commsched-report="format=xml" 'xml'

// A file is written beside the path and then takes its place: a link stays one,
// a reader of the old file keeps it, and nothing else is left in the folder.
// RUN: mkdir %t/new && echo old > %t/new/target && ln %t/new/target %t/new/reader
// RUN: ln -s target %t/new/report
// RUN: commsched-opt %s --commsched-report="format=json output=%t/new/report" -o /dev/null
// RUN: ls -F %t/new | FileCheck %s --check-prefix=NEW
// RUN: FileCheck %s --check-prefix=FILE < %t/new/target
// RUN: FileCheck %s --check-prefix=OLD < %t/new/reader
// RUN: mkdir %t/5%% && commsched-opt %s -o /dev/null \
// RUN:   --commsched-report="format=json output=%t/5%%/report.json"
// RUN: FileCheck %s --check-prefix=FILE < %t/5%%/report.json
// A signal in the midst of it, here that of a file that gets too long, leaves
// nothing.
// RUN: mkdir %t/limited
// RUN: not --crash bash -c 'ulimit -f 1; commsched-opt %s -o /dev/null \
// RUN:   --commsched-report="format=html output=%t/limited/page.html"' 2>/dev/null
// RUN: ls -A %t/limited | count 0
// A full disk is an error, too, and a device is no file to replace.
// RUN: %fails commsched-opt %s --commsched-report="format=json output=/dev/full" "error: cannot write the report to '/dev/full': {{N|n}}o space left on device"
// RUN: commsched-opt %s --commsched-report="format=html output=/dev/stdout" -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=DEVICE

// NEW: reader
// NEW-NEXT: report@
// NEW-NEXT: target
// NEW-NOT: {{.}}
// OLD: old
// DEVICE: <!DOCTYPE html>

// IR-NOT: "function"
// IR: func.func @f
// FILE: {"function":"f",

func.func @f() {
  return
}
