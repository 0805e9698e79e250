# lit configuration of CommSched's regression tests.

import os
import shutil
import subprocess
import sys

import lit.formats

sys.path.append(os.path.dirname(__file__))

from seed import VARIABLE, find_seed

config.name = "CommSched"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "lib", "Unit"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.commsched_obj_root, "test")

bin_dir = os.path.join(config.commsched_obj_root, "bin")
config.environment["PATH"] = os.pathsep.join(
    [bin_dir, config.llvm_tools_dir, config.environment["PATH"]]
)

# With COMMSCHED_VERIFY_ROUNDTRIP set, every run of the tool also checks that
# its input survives text and bytecode.
opt = "commsched-opt"
if os.environ.get("COMMSCHED_VERIFY_ROUNDTRIP"):
    opt += " --verify-roundtrip"

seed = find_seed()
lit_config.note(f"random tests start from {VARIABLE}={seed}")

config.substitutions += [
    ("%cmake", config.cmake),
    ("%cxx", config.cxx),
    ("%errors", f"{config.python_executable} "
     f"{os.path.join(config.commsched_src_root, 'test', 'check_errors.py')}"),
    ("%examples", os.path.join(config.commsched_src_root, "examples")),
    ("%fails", f"{config.python_executable} "
     f"{os.path.join(config.commsched_src_root, 'test', 'check_errors.py')} --fails"),
    ("%generator", config.generator),
    ("%llvm_bin", config.llvm_tools_dir),
    ("%llvm_include", config.llvm_include_dir),
    ("%mpirun", config.mpirun),
    ("%orders", f"{config.python_executable} "
     f"{os.path.join(config.commsched_src_root, 'test', 'print_orders.py')}"),
    ("%plugin", os.path.join(config.commsched_obj_root, "lib",
                             "CommSchedPlugin" + config.shlib_ext)),
    ("%obj", config.commsched_obj_root),
    ("%prints", f"{config.python_executable} "
     f"{os.path.join(config.commsched_src_root, 'test', 'check_errors.py')} --prints"),
    ("%python", config.python_executable),
    # Every remark of the passes, on the error stream.
    ("%remarks", "--remark-policy=all --remark-format=emitRemark "
     "--remarks-filter=commsched"),
    ("%rows", f"{config.python_executable} "
     f"{os.path.join(config.commsched_src_root, 'test', 'expand_rows.py')}"),
    ("%{seed}", str(seed)),
    ("%src", config.commsched_src_root),
    ("%venv", os.path.dirname(os.path.dirname(config.python_executable))),
    ("%standins", os.path.join(config.commsched_obj_root, "unittests",
                               "Runtime", "Nccl", "Standin", "lib")),
    (r"\bcommsched-opt\b", opt),
    # FileCheck variables without `$` end at the next CHECK-LABEL, so that one
    # function's test cannot match another's values.
    (r"\bFileCheck\b", "FileCheck -enable-var-scope"),
    (r"\bmlir-opt\b", os.path.join(config.llvm_tools_dir, "mlir-opt")),
]

# Tests that build something outside of this build's tree.
if shutil.which("ccache"):
    config.environment["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"

if shutil.which("clang-format-22"):
    config.available_features.add("clang-format")
if os.path.exists(os.path.join(config.commsched_obj_root, "bin", "commsched-peers")):
    config.available_features.add("benchmarks")
if config.chakra:
    config.available_features.add("chakra")
if shutil.which("protoc"):
    config.available_features.add("protoc")
if config.mpirun:
    config.available_features.add("mpi")
    # Containers run as root, and machines have fewer cores than tests ranks.
    config.environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
    config.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    config.environment["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
# The backend for GPUs runs with stand-ins for CUDA and NCCL, or with a GPU.
if os.path.exists(os.path.join(config.commsched_obj_root, "lib",
                               "libCommSchedRuntimeNccl.so")):
    config.available_features.add("nccl")
    if (shutil.which("nvidia-smi") and
            b"GPU" in subprocess.run(["nvidia-smi", "-L"], capture_output=True).stdout):
        config.available_features.add("gpu")
if os.path.exists(os.path.join(config.commsched_obj_root, "python", "commsched")):
    config.available_features.add("python-extension")
# Tests that compute on arrays want the package; there are builds without it.
if subprocess.run([config.python_executable, "-c", "import numpy"],
                  stderr=subprocess.DEVNULL).returncode == 0:
    config.available_features.add("numpy")
if config.sanitizers:
    config.available_features.add("sanitizers")
    # libMLIR.so keeps its registries for the process's life.
    # Allocators that are part inlined here, part in libMLIR.so, which is built
    # without sanitizers, disagree about what is poisoned.
    config.environment["ASAN_OPTIONS"] = "detect_leaks=0:allow_user_poisoning=0"
