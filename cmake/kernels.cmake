# The tiers: each compiles the same families of kernels with its own flags. Sets posenc_kernels, object libraries, and
# posenc_have, what the dispatch is told of them.
set(flags_scalar -fno-tree-vectorize -fno-vectorize -fno-slp-vectorize)
set(flags_avx2 -mavx2 -mfma -mf16c)
if(WIN32 AND CMAKE_C_COMPILER_ID STREQUAL "GNU") # see meson.build
  list(APPEND flags_avx2 -Wa,-muse-unaligned-vector-move)
endif()
set(flags_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl ${flags_avx2})
set(flags_neon)
posenc_supported(flags_scalar ${flags_scalar})

# Features of some CPUs of a tier, for its kernels of quantised rows: each with its flag.
set(features_avx2 vnni=-mavxvnni)
set(features_avx512 vnni=-mavx512vnni)
set(features_neon dotprod=-march=armv8.2-a+dotprod i8mm=-march=armv8.2-a+dotprod+i8mm)
set(flags_amx -mamx-tile -mamx-bf16 -mamx-int8)

set(tiers scalar)
if(posenc_cpu STREQUAL "x86_64")
  list(APPEND tiers avx2 avx512)
elseif(posenc_cpu STREQUAL "aarch64")
  list(APPEND tiers neon)
endif()

posenc_read_list(families src/kernels/families.txt)
posenc_supported(loops_begin_lines -falign-loops=64) # else where a loop begins is a draw of each build: see meson.build
posenc_supported(without_lto -fno-lto) # inlined into baseline code, AVX would run on any CPU
set(posenc_kernels)
set(posenc_have)

# posenc_source(VARIABLE TIER NAME FAMILY): the tier's own NAME, or else the family's body for all vector tiers
function(posenc_source variable tier name family)
  set(path "${PROJECT_SOURCE_DIR}/src/${tier}/${name}.c")
  if(NOT EXISTS "${path}")
    set(path "${PROJECT_SOURCE_DIR}/src/simd/${family}.c")
  endif()
  set(${variable} "${path}" PARENT_SCOPE)
endfunction()

# posenc_add_kernels(VARIANT TIER SOURCES FLAGS DEFINITIONS): lists by value
function(posenc_add_kernels variant tier sources flags definitions)
  string(TOUPPER ${tier} TIER)
  add_library(posenc_${variant} OBJECT "${PROJECT_SOURCE_DIR}/src/kernels/table.c" ${sources})
  posenc_compile(posenc_${variant})
  target_compile_options(posenc_${variant} PRIVATE
    ${posenc_hardening} ${flags_${tier}} ${flags} ${posenc_hardening_kernels} ${without_lto})
  target_compile_definitions(posenc_${variant} PRIVATE
    POSENC_VARIANT=${variant} POSENC_TIER=POSENC_ISA_${TIER} ${definitions})
  target_include_directories(posenc_${variant} PRIVATE "${PROJECT_SOURCE_DIR}/src/${tier}") # whose vec.h
  set_target_properties(posenc_${variant} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
  set(posenc_kernels ${posenc_kernels} posenc_${variant} PARENT_SCOPE)
  string(TOUPPER ${variant} VARIANT)
  if(NOT variant STREQUAL "scalar")
    set(posenc_have ${posenc_have} POSENC_HAVE_${VARIANT} PARENT_SCOPE)
  endif()
endfunction()

foreach(tier IN LISTS tiers)
  posenc_supported(known ${flags_${tier}})
  if(NOT tier STREQUAL "scalar" AND NOT (tier IN_LIST POSENC_ISA AND "${known}" STREQUAL "${flags_${tier}}"))
    continue()
  endif()
  set(sources)
  foreach(family IN LISTS families)
    posenc_source(source ${tier} ${family} ${family})
    list(APPEND sources "${source}")
  endforeach()
  posenc_add_kernels(${tier} ${tier} "${sources}" "${loops_begin_lines}" "")
  foreach(feature IN LISTS features_${tier})
    string(REGEX MATCH "^([a-z0-9]+)=(.*)$" feature ${feature})
    set(variant ${tier}_${CMAKE_MATCH_1})
    set(flag ${CMAKE_MATCH_2})
    posenc_source(source ${tier} quant_${CMAKE_MATCH_1} quant)
    posenc_supported(known ${flag})
    if(known)
      posenc_add_kernels(${variant} ${tier} "${source}" "${flag};${loops_begin_lines}"
        "POSENC_KERNELS_OF=${tier};POSENC_QUANTS_OF=${variant}")
    endif()
  endforeach()
endforeach()

# CPUs with AMX have VNNI. Only of Linux it is known how to ask for tiles.
posenc_supported(known ${flags_amx})
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND TARGET posenc_avx512_vnni AND "${known}" STREQUAL "${flags_amx}")
  posenc_add_kernels(avx512_amx avx512
    "${PROJECT_SOURCE_DIR}/src/avx512/tiles.c;${PROJECT_SOURCE_DIR}/src/avx512/tiles_quant.c"
    "${flags_amx};${loops_begin_lines}"
    "POSENC_KERNELS_OF=avx512;POSENC_QUANTS_OF=avx512_vnni;POSENC_PRODUCTS_OF=avx512_amx;POSENC_TILES_OF=avx512_amx")
endif()
