# Gives a target of this project its warnings and the definitions that describe the build:
# SHARPEN_VERSION, SHARPEN_COMPILER and SHARPEN_BUILD_TYPE, all string literals.
function(sharpen_configure target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wshadow -Wpedantic $<$<BOOL:${SHARPEN_WERROR}>:-Werror>)
  # GCC 12 sees overlapping copies in std::string's operator+ that cannot happen (GCC bug 105651).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict)
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
