// A promise that a fuzz target finds broken ends the process, and libFuzzer keeps the input.
#pragma once

#include <cstdio>
#include <cstdlib>

#define SHARPEN_FUZZ_CHECK(holds)                                                      \
  do {                                                                                 \
    if (!(holds)) {                                                                    \
      std::fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #holds); \
      std::abort();                                                                    \
    }                                                                                  \
  } while (false)
