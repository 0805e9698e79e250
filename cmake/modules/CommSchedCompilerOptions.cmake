# Flags for every target. LLVM's own build decides about RTTI and exceptions,
# since objects cross that border.

add_compile_options(-Wall -Wextra -Wno-unused-parameter)

# Costs decide orders, and every rank must decide alike: no fused multiply-adds
# on some machines only.
add_compile_options(-ffp-contract=off)

# Nobody replaces single functions of the libraries, so that g++ may inline them.
add_compile_options(
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-semantic-interposition>)

if(COMMSCHED_ENABLE_WERROR)
  add_compile_options(-Werror)
endif()
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
if(CMAKE_UNITY_BUILD)
  # g++ takes the sources of a unity batch for headers, in which an anonymous
  # namespace would be a mistake.
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endif()
if(NOT LLVM_ENABLE_RTTI)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
endif()
if(NOT LLVM_ENABLE_EH)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)
endif()

# The distribution's MLIR is built with NDEBUG, and the size of Pass::Statistic
# depends on it: a Debug build would hand the library objects of another layout.
add_compile_definitions(NDEBUG)

if(COMMSCHED_SANITIZERS)
  # vptr checks need type information of classes that live in libMLIR.so.
  add_compile_options(-fsanitize=${COMMSCHED_SANITIZERS} -fno-sanitize=vptr
                      -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${COMMSCHED_SANITIZERS} -fno-sanitize=vptr)
endif()

if(COMMSCHED_LIBFUZZER)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

if(COMMSCHED_CCACHE AND NOT EXISTS "${COMMSCHED_CCACHE}")
  unset(COMMSCHED_CCACHE CACHE)
endif()
find_program(COMMSCHED_CCACHE ccache)
if(COMMSCHED_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${COMMSCHED_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${COMMSCHED_CCACHE})
endif()
