# Gives a target of this project its warnings and the definitions that describe the build:
# SHARPEN_VERSION, SHARPEN_COMPILER and SHARPEN_BUILD_TYPE, all string literals.
function(sharpen_configure target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wshadow -Wpedantic $<$<BOOL:${SHARPEN_WERROR}>:-Werror>)
  target_compile_definitions(${target} PRIVATE
    "SHARPEN_VERSION=\"${PROJECT_VERSION}\""
    "SHARPEN_COMPILER=\"${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}\""
    "SHARPEN_BUILD_TYPE=\"$<CONFIG>\"")
endfunction()
