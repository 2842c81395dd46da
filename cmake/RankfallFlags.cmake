# rankfall_flags: how our own code is compiled. Never part of what is installed.
add_library(rankfall_flags INTERFACE)
target_compile_options(
  rankfall_flags
  INTERFACE -Wall
            -Wextra
            -Wpedantic
            -Wshadow
            -Wconversion
            -Wsign-conversion
            -Wnon-virtual-dtor
            -Wold-style-cast
            -Wcast-qual
            -Wundef)
if(RANKFALL_WERROR)
  target_compile_options(rankfall_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these inside inlined standard-library code (GCC bugs 105329, 105562), not in ours.
  target_compile_options(rankfall_flags INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # and this inside its own AVX-512 intrinsics (GCC bug 105593), which Eigen uses where the CPU has them. Clang and
    # clang-tidy still look.
    target_compile_options(rankfall_flags INTERFACE -Wno-uninitialized)
  endif()
endif()
if(RANKFALL_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A batch of sources is a file that includes them: to g++ their private types are those of a header.
  target_compile_options(rankfall_flags INTERFACE -Wno-subobject-linkage)
endif()
if(RANKFALL_UNITY AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Clang sees a local name shadow a private one of the batch's other sources; g++ and clang-tidy, which has no batches, look.
  target_compile_options(rankfall_flags INTERFACE -Wno-shadow)
endif()
if(RANKFALL_NATIVE)
  target_compile_options(rankfall_flags INTERFACE -march=native)
endif()
if(RANKFALL_DCHECKS)
  target_compile_definitions(rankfall_flags INTERFACE RANKFALL_DCHECKS=1)
else()
  target_compile_definitions(rankfall_flags INTERFACE EIGEN_NO_DEBUG)
endif()
if(NOT RANKFALL_SANITIZE)
  # Files are a stranger's: should one of them find a hole, it is a small one. Fortified functions need optimisation.
  target_compile_options(rankfall_flags INTERFACE -fstack-protector-strong
                                                  $<$<CONFIG:Release,RelWithDebInfo>:-U_FORTIFY_SOURCE>
                                                  $<$<CONFIG:Release,RelWithDebInfo>:-D_FORTIFY_SOURCE=2>)
  target_link_options(rankfall_flags INTERFACE -Wl,-z,relro -Wl,-z,now)
endif()
if(RANKFALL_SANITIZE)
  string(REPLACE ";" "," rankfall_sanitizers "${RANKFALL_SANITIZE}")
  target_compile_options(rankfall_flags INTERFACE -fsanitize=${rankfall_sanitizers} -fno-omit-frame-pointer
                                                  -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(rankfall_flags INTERFACE -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitizer_ignore.txt)
  endif()
  target_link_options(rankfall_flags INTERFACE -fsanitize=${rankfall_sanitizers})
  find_program(RANKFALL_LLD ld.lld)
  if(RANKFALL_LLD AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_link_options(rankfall_flags INTERFACE -fuse-ld=lld) # twice as fast, for some thirty programs
  endif()
endif()

# For code that nobody waits for: report, command line, files. Comes after the build type's own -O.
set(RANKFALL_COLD $<$<CONFIG:Release,RelWithDebInfo>:-O1>)

# Sanitizers make compiling slow: their presets have -O0, which halves it for what is made of Eigen's templates. What reads
# files is optimised all the same: hostile files are large.
set(RANKFALL_READERS base io linalg text input)

# rankfall_compile_together(target [n]): n sources at a time as one, so that headers are read once for all of them. A name
# in an anonymous namespace must then differ from those of its neighbours; clang-tidy compiles each source alone, which
# shows missing includes.
function(rankfall_compile_together target)
  set(batch 16)
  if(ARGC GREATER 1)
    set(batch ${ARGV1})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${RANKFALL_UNITY} UNITY_BUILD_BATCH_SIZE ${batch})
endfunction()

# rankfall_precompile(target layer|test [option...]): the target reads the headers of other libraries, which never change,
# from one file that the compiler made of them before. Targets of one kind and with the same options share it; the compiler
# refuses it (-Winvalid-pch) where options differ, so a source with options of its own needs SKIP_PRECOMPILE_HEADERS.
# A missing include goes unnoticed with it: the release preset and clang-tidy do without.
function(rankfall_precompile target kind)
  if(NOT RANKFALL_PCH)
    return()
  endif()
  string(MAKE_C_IDENTIFIER "rankfall_headers_${kind}${ARGN}" headers)
  if(NOT TARGET ${headers})
    set(source ${PROJECT_SOURCE_DIR}/cmake/precompiled.cc)
    if(kind STREQUAL "test")
      add_executable(${headers} EXCLUDE_FROM_ALL ${source}) # -fPIE instead of -fPIC
      target_link_libraries(${headers} PRIVATE GTest::gmock)
      target_precompile_headers(${headers} PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
    else()
      add_library(${headers} OBJECT EXCLUDE_FROM_ALL ${source})
    endif()
    target_compile_definitions(${headers} PRIVATE EIGEN_MAX_ALIGN_BYTES=64)
    target_link_libraries(${headers} PRIVATE Eigen3::Eigen fmt::fmt nlohmann_json::nlohmann_json rankfall_flags)
    target_compile_options(${headers} PRIVATE ${ARGN})
    target_precompile_headers(
      ${headers}
      PRIVATE
      <algorithm>
      <array>
      <cmath>
      <cstdint>
      <filesystem>
      <fstream>
      <functional>
      <limits>
      <map>
      <memory>
      <optional>
      <set>
      <span>
      <string>
      <string_view>
      <utility>
      <variant>
      <vector>
      <Eigen/Core>
      <fmt/format.h>
      <nlohmann/json.hpp>)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      # ccache must get the same file whenever it is made.
      target_compile_options(${headers} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    endif()
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()
