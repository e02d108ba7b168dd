# Compile flags of the library, as in meson.build: posenc_compile(), and the flags of hardening.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckLinkerFlag)

# posenc_supported(VARIABLE FLAG...): sets VARIABLE to the flags that the compiler knows, each behind those before it
function(posenc_supported variable)
  set(supported)
  set(before "${CMAKE_REQUIRED_FLAGS}")
  foreach(flag IN LISTS ARGN)
    string(MAKE_C_IDENTIFIER "POSENC_HAS${flag}" known)
    string(JOIN " " CMAKE_REQUIRED_FLAGS ${before} ${supported})
    check_c_compiler_flag(${flag} ${known})
    if(${known})
      list(APPEND supported ${flag})
    endif()
  endforeach()
  set(${variable} ${supported} PARENT_SCOPE)
endfunction()

# ---- The CPU that is compiled for, whatever the variables of a cross build say ----

set(posenc_cpu other)
set(macro_riscv64 "defined __riscv && __riscv_xlen == 64")
foreach(cpu x86_64 i386 aarch64 arm riscv64)
  if(NOT DEFINED macro_${cpu})
    set(macro_${cpu} "defined __${cpu}__")
  endif()
  check_c_source_compiles("#if !(${macro_${cpu}})\n#error\n#endif\nint main(void) { return 0; }" POSENC_IS_${cpu})
  if(POSENC_IS_${cpu})
    set(posenc_cpu ${cpu})
  endif()
endforeach()

# ---- Floating point as it is written ----

string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
if(CMAKE_CONFIGURATION_TYPES)
  set(build_type RELEASE) # of several
endif()
get_directory_property(options_of_parent COMPILE_OPTIONS)
separate_arguments(given UNIX_COMMAND "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${build_type}} ${options_of_parent}")
posenc_read_list(refused src/refused-flags.txt)
foreach(flag IN LISTS given)
  if(flag IN_LIST refused)
    set(rearranges TRUE)
  endif()
endforeach()

unset(POSENC_IS_AS_WRITTEN CACHE) # flags may have changed
# Method 16 is 0 with a _Float16 of its own (AVX512-FP16).
check_c_source_compiles("
  #if (__FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16) || defined __FAST_MATH__ || __FINITE_MATH_ONLY__
  #error
  #endif
  int main(void) { return 0; }" POSENC_IS_AS_WRITTEN)
if(rearranges OR NOT POSENC_IS_AS_WRITTEN)
  message(FATAL_ERROR "posenc needs float arithmetic in float, as it is written: no -ffast-math, -Ofast or part of "
    "them and no -ffp-contract or -ffp-model in C flags, and on 32-bit x86 -DCMAKE_C_FLAGS=\"-msse2 -mfpmath=sse\". "
    "Given: '${given}'")
endif()

# ---- Hardening, as distributions have it. A builder's own setting of a flag wins ----

set(posenc_hardening)
set(posenc_hardening_link)
set(posenc_hardening_kernels)
set(said "${given} ${CMAKE_SHARED_LINKER_FLAGS}")
string(REGEX MATCH "-O[123s]" optimizes "${given}")
if(NOT optimizes)
  message(NOTICE "posenc: without optimisation kernels are slow: CMAKE_BUILD_TYPE is '${CMAKE_BUILD_TYPE}'")
endif()
if(given MATCHES "-fsanitize" OR given MATCHES "-O0")
  set(optimizes "")
endif()
if(POSENC_HARDENING STREQUAL "enabled" OR (POSENC_HARDENING STREQUAL "auto" AND optimizes))
  # clang takes those of another CPU, without effect.
  set(of_cpu)
  if(posenc_cpu MATCHES "^(x86_64|i386)$")
    set(of_cpu -fcf-protection)
  elseif(posenc_cpu STREQUAL "aarch64")
    set(of_cpu -mbranch-protection=standard)
  endif()
  foreach(flag -fstack-protector-strong ${of_cpu})
    string(REGEX MATCH "(stack-protector|cf-protection|branch-protection)" name ${flag})
    # On Windows the protector is in a library of its own, which programs with the static library would have to name.
    if(NOT said MATCHES "${name}" AND NOT (WIN32 AND name STREQUAL "stack-protector"))
      posenc_supported(known ${flag})
      list(APPEND posenc_hardening ${known})
    endif()
  endforeach()
  # Kernels write to buffers of their callers alone, and a call may take no more than some ns.
  if("-fstack-protector-strong" IN_LIST posenc_hardening)
    set(posenc_hardening_kernels -fno-stack-protector)
  endif()
  foreach(word relro now)
    check_linker_flag(C "-Wl,-z,${word}" POSENC_LINKS_${word})
    if(POSENC_LINKS_${word} AND NOT said MATCHES "z,${word}")
      list(APPEND posenc_hardening_link "-Wl,-z,${word}")
    endif()
  endforeach()
  # Only glibc knows it, and some compilers define it themselves where they optimize.
  check_c_source_compiles("
    #include <stdlib.h>
    #if !defined __GLIBC__ || defined _FORTIFY_SOURCE
    #error
    #endif
    int main(void) { return 0; }" POSENC_CAN_FORTIFY)
  if(optimizes AND POSENC_CAN_FORTIFY AND NOT said MATCHES "FORTIFY_SOURCE")
    list(APPEND posenc_hardening $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>
      $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
  endif()
endif()

# ---- All sources ----

# Contraction is forbidden behind whatever a parent project gives to all that it builds.
posenc_supported(posenc_flags -fno-math-errno -ffp-contract=off)

# posenc_compile(TARGET): an object library of this project
function(posenc_compile target)
  target_compile_options(${target} PRIVATE ${posenc_flags})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_include_directories(${target} SYSTEM PRIVATE ${posenc_sleef_include})
  target_compile_definitions(${target} PRIVATE POSENC_SLEEF_FINZ=${posenc_sleef_finz})
  # Static names repeat from file to file, whatever a parent project builds as one.
  set_target_properties(${target} PROPERTIES C_STANDARD 11 C_EXTENSIONS ON POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden UNITY_BUILD OFF)
endfunction()
