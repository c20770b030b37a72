# The library target: sharpen, alias sharpen::sharpen.

# The Python package of the tests links the library of another build, so that it is compiled once.
set(SHARPEN_PREBUILT "" CACHE PATH "A build directory whose libsharpen.a to use")
if(SHARPEN_PREBUILT)
  add_library(sharpen STATIC IMPORTED GLOBAL)
  add_library(sharpen::sharpen ALIAS sharpen)
  set_target_properties(sharpen PROPERTIES
    IMPORTED_LOCATION "${SHARPEN_PREBUILT}/libsharpen.a"
    INTERFACE_INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}/include"
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_LINK_LIBRARIES "TBB::tbb;fmt::fmt;spdlog::spdlog;tomlplusplus::tomlplusplus;\
OpenBLAS::Lapacke;ZLIB::ZLIB;SQLite::SQLite3;Threads::Threads")
  return()
endif()

file(GLOB_RECURSE library_sources CONFIGURE_DEPENDS src/*.cpp)

# Hot kernels exist twice: built for every x86-64, and (name_v3.cpp) for x86-64-v3, chosen at run
# time. Other processors never choose the second.
set(v3_sources ${library_sources})
list(FILTER v3_sources INCLUDE REGEX "_v3\\.cpp$")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  set(SHARPEN_HAVE_V3 ON)
  set_property(SOURCE ${v3_sources} APPEND PROPERTY COMPILE_OPTIONS -march=x86-64-v3)
else()
  set(SHARPEN_HAVE_V3 OFF)
endif()

# Loops over doubles that the compiler may vectorise and fuse, but never reorder: -ffast-math
# would break NaN handling and equal bits. -O3 is left to optimised builds.
set(kernel_sources ${library_sources})
list(FILTER kernel_sources INCLUDE REGEX "/src/[^/]+/kernels[^/]*\\.cpp$")
set_property(SOURCE ${kernel_sources} APPEND PROPERTY COMPILE_OPTIONS
  $<$<NOT:$<CONFIG:Debug>>:-O3> -fno-math-errno -fno-trapping-math -ffp-contract=fast)

# Random numbers and the simulated market have the same bits on every machine, whatever flags the
# build adds; what rounding took from a sum is found only if nothing is fused.
set_property(SOURCE
  "${PROJECT_SOURCE_DIR}/src/select/exact.cpp"
  "${PROJECT_SOURCE_DIR}/src/base/random.cpp"
  "${PROJECT_SOURCE_DIR}/src/market/simulate.cpp"
  APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=off)

# The thread sanitizer does not see how TBB's own library orders its tasks. Optimised, so that its
# templates are inlined, and not shared with sources that are watched.
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=thread")
  set_property(SOURCE "${PROJECT_SOURCE_DIR}/src/base/threads.cpp" APPEND PROPERTY COMPILE_OPTIONS
    -fno-sanitize=thread -O2 -DSHARPEN_ANNOTATE_THREADS)
endif()

# Optimising what a sanitizer has instrumented doubles the time to compile it: only the folders that
# compute for long are worth it. Sources with flags of their own would not be batched, so that a
# batch gets the flag itself.
set(sanitized_numerics "")
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  set(sanitized_numerics ${library_sources})
  list(FILTER sanitized_numerics INCLUDE REGEX "/src/(risk|layer|select|baseline|learn)/")
  if(SHARPEN_UNITY)
    foreach(folder risk layer select baseline learn)
      list(APPEND sanitized_numerics
        "${PROJECT_BINARY_DIR}/CMakeFiles/sharpen.dir/Unity/unity_${folder}_cxx.cxx")
    endforeach()
    list(FILTER sanitized_numerics INCLUDE REGEX "/(kernels[^/]*|exact)\\.cpp$|\\.cxx$")
  endif()
  set_property(SOURCE ${sanitized_numerics} APPEND PROPERTY COMPILE_OPTIONS -O1)
endif()

# Headers read once are of no use to sources with flags of their own.
set(own_flags ${v3_sources} ${kernel_sources} ${sanitized_numerics})
foreach(source base/random base/threads market/simulate)
  list(APPEND own_flags "${PROJECT_SOURCE_DIR}/src/${source}.cpp")
endforeach()
set_property(SOURCE ${own_flags} PROPERTY SKIP_PRECOMPILE_HEADERS ON)

add_library(sharpen ${library_sources})
add_library(sharpen::sharpen ALIAS sharpen)
sharpen_configure(sharpen)
sharpen_precompile(sharpen)
sharpen_batch(sharpen)
set_target_properties(sharpen PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_features(sharpen PUBLIC cxx_std_20)
target_compile_definitions(sharpen PRIVATE $<$<BOOL:${SHARPEN_HAVE_V3}>:SHARPEN_HAVE_V3=1>)
# Vector types never cross a translation unit, so their calling convention does not matter.
target_compile_options(sharpen PRIVATE -Wno-psabi)
target_include_directories(sharpen
  PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
         $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  PRIVATE "${PROJECT_SOURCE_DIR}/src")
# Header-only dependencies stay out of the installed package: nobody needs them to link.
target_link_libraries(sharpen PRIVATE
  TBB::tbb fmt::fmt spdlog::spdlog tomlplusplus::tomlplusplus OpenBLAS::Lapacke ZLIB::ZLIB
  SQLite::SQLite3 Threads::Threads
  $<BUILD_INTERFACE:Eigen3::Eigen>
  $<BUILD_INTERFACE:FastFloat::fast_float>
  $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
