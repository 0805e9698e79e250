// RUN: rm -rf %t && mkdir %t
// RUN: commsched-opt %s -o /dev/null --commsched-report="format=html output=%t/alone.html"
// RUN: FileCheck %s --check-prefix=PAGE < %t/alone.html
// RUN: %python %S/Inputs/read_page.py %t/alone.html | FileCheck %s --check-prefix=ALONE

// The page has the data of a version before, by the names of functions, and a
// frontier, which may be JSON or CSV.
// RUN: %python -c "print('function,peak_bytes,step_time_ns,lower_bound_ns\n\"a,\"\"<b\",2,3,1')" > %t/points.csv
// RUN: commsched-opt %s -o /dev/null \
// RUN:   --commsched-report="format=html before=%s frontier=%t/points.csv output=%t/both.html"
// RUN: %python %S/Inputs/read_page.py %t/both.html | FileCheck %s --check-prefix=BOTH
// RUN: echo 'module {func.func @other() {return}}' > %t/other.mlir
// RUN: commsched-opt %t/other.mlir -o /dev/null \
// RUN:   --commsched-report="format=html before=%s output=%t/other.html"
// RUN: %python %S/Inputs/read_page.py %t/other.html | FileCheck %s --check-prefix=OTHER

// RUN: %fails commsched-opt %s --commsched-report="before=%s" "error: option 'before' of pass 'commsched-report' requires format=html"
// RUN: %fails commsched-opt %s --commsched-report="format=html before=%t/none.mlir" "error: cannot simulate the module before, of '{{.*}}none.mlir': could not open input file"
// RUN: echo 'func.func @f(' > %t/broken.mlir
// RUN: %fails commsched-opt %s --commsched-report="format=html before=%t/broken.mlir" "error: cannot simulate the module before, of '{{.*}}broken.mlir': line 1, column 14: expected"
// RUN: %fails commsched-opt %s --commsched-report="format=html frontier=%t/none.csv" "error: cannot read the frontier: cannot read '{{.*}}none.csv': {{N|n}}o such file"
// RUN: echo 'function,peak_bytes' > %t/columns.csv
// RUN: echo 'f,1,2' >> %t/columns.csv
// RUN: %fails commsched-opt %s --commsched-report="format=html frontier=%t/columns.csv" 'error: cannot read the frontier: {{.*}}columns.csv, row 1 has 3 values, but there are 2 columns'
// RUN: echo '[{"function": "f", "peak_bytes": -1}]' > %t/negative.json
// RUN: %fails commsched-opt %s --commsched-report="format=html frontier=%t/negative.json" "error: cannot read the frontier: {{.*}}negative.json, entry 0: 'peak_bytes' is not a number of at least 0, but '-1'"

// A page that cannot be written leaves nothing behind.
// RUN: mkdir %t/out
// RUN: not commsched-opt %s --commsched-report="format=html before=%t/none.mlir output=%t/out/page.html"
// RUN: %fails commsched-opt %s --commsched-report="format=html output=%t/none/page.html" "error: cannot write the page to '{{.*}}none/page.html': {{N|n}}o such file or directory"
// RUN: ls -A %t/out | count 0

// Nothing that a module names ends the element with the data.
// PAGE: <!DOCTYPE html>
// PAGE-NOT: </script><b
// PAGE: {"functions":
// PAGE-SAME: \u003c/script>\u003cb
// PAGE-NOT: {{[{][{]}}

// ALONE: function 'a,"<b' versions after
// ALONE-NEXT: figures 3 operations, step 110, peak 6144
// ALONE-NEXT: computation 0 10 '</script><b id=x>'
// ALONE-NEXT: collective 10 110 wait 10 exposed 100 all_gather_0 all_gather dp 4096 'nothing left to hide it: all computation has to precede it, needs it, or runs beside it'
// ALONE-NEXT: memory 0 2048
// ALONE-NEXT: memory 10 6144
// ALONE-NEXT: memory 110 5120
// ALONE-NEXT: buffer 0 110 1024 %arg0
// ALONE-NEXT: buffer 0 110 1024 '</script><b id=x>'
// ALONE-NEXT: buffer 10 110 4096 all_gather_0
// ALONE-NOT: {{.}}

// BOTH: function 'a,"<b' versions before after frontier 2 3 1
// OTHER: function other versions after
// OTHER: function 'a,"<b' versions before



commsched.group @dp size(4)

func.func @"a,\22<b"(%x: tensor<256xf32>) -> tensor<1024xf32> {
  %y = commsched.compute "cast"(%x)
      {commsched.name = "</script><b id=x>", commsched.runtime_ns = 10 : i64}
      : (tensor<256xf32>) -> tensor<256xf32>
  %f = commsched.all_gather %y on @dp dim(0) {commsched.runtime_ns = 100 : i64}
      : tensor<256xf32> -> !commsched.future<tensor<1024xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<1024xf32>>
  return %w : tensor<1024xf32>
}
