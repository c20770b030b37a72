# Gives a target of this project its warnings and the definitions that describe the build:
# SHARPEN_VERSION, SHARPEN_COMPILER and SHARPEN_BUILD_TYPE, all string literals.
function(sharpen_configure target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wshadow -Wpedantic $<$<BOOL:${SHARPEN_WERROR}>:-Werror>)
  # GCC 12 sees overlapping copies in std::string's operator+ that cannot happen (GCC bug 105651).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict)
    # With precompiled headers it takes the standard library for ours, and sees copies beyond the
    # end of strings in it that cannot happen either.
    if(SHARPEN_PRECOMPILE)
      target_compile_options(${target} PRIVATE
        -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
    endif()
  endif()
  # Under a sanitizer GCC sees uninitialised values that are not there, in its own library too.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
  endif()
  target_compile_definitions(${target} PRIVATE
    "SHARPEN_VERSION=\"${PROJECT_VERSION}\""
    "SHARPEN_COMPILER=\"${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}\""
    "SHARPEN_BUILD_TYPE=\"$<CONFIG>\"")
endfunction()

# With SHARPEN_PRECOMPILE, reads what most sources include once for a whole target; `ARGN` names
# more of it. A source must not rely on that: the wheel is built without.
function(sharpen_precompile target)
  if(SHARPEN_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <cmath> <filesystem>
      <functional> <limits> <map> <optional> <span> <string> <string_view> <unordered_map> <vector>
      <fmt/format.h> ${ARGN})
  endif()
endfunction()

# With SHARPEN_UNITY, compiles the sources of a target as one for each folder; those that have flags
# of their own stay alone. A source must not rely on that: the wheel is built without.
function(sharpen_batch target)
  if(SHARPEN_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
      cmake_path(GET source PARENT_PATH folder)
      cmake_path(GET folder FILENAME folder)
      set_property(SOURCE "${source}" PROPERTY UNITY_GROUP ${folder})
    endforeach()
  endif()
endfunction()
