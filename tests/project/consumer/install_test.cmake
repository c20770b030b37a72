# One step of the proof that an installed Sharpen can be used. Run as
#   cmake -DSTEP=install|find_package|pkg_config -DBUILD=... -DWORK=... -DCXX=... -P install_test.cmake
# where BUILD is Sharpen's build folder and WORK a folder that belongs to this test.
cmake_minimum_required(VERSION 3.25)
unset(ENV{DESTDIR})
set(prefix "${WORK}/prefix")

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "failed (${result}): ${command}")
  endif()
endfunction()

if(STEP STREQUAL "install")
  file(REMOVE_RECURSE "${WORK}")
  run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}")

elseif(STEP STREQUAL "find_package")
  set(build "${WORK}/find_package")
  run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${build}" -G Ninja
      "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_PREFIX_PATH=${prefix}")
  run("${CMAKE_COMMAND}" --build "${build}")
  run("${build}/consumer")

elseif(STEP STREQUAL "pkg_config")
  file(GLOB_RECURSE pc "${prefix}/*/sharpen.pc")
  cmake_path(GET pc PARENT_PATH pc_dir)
  set(ENV{PKG_CONFIG_PATH} "${pc_dir}")
  execute_process(COMMAND pkg-config --cflags --libs sharpen
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  set(program "${WORK}/pkg_config_consumer")
  run("${CXX}" -std=c++20 "${CMAKE_CURRENT_LIST_DIR}/main.cpp" -o "${program}" ${flags})
  # Only a shared Sharpen needs telling where it is; it is not in a place the loader knows.
  cmake_path(GET pc_dir PARENT_PATH lib_dir)
  run("${CMAKE_COMMAND}" -E env "LD_LIBRARY_PATH=${lib_dir}" "${program}")

else()
  message(FATAL_ERROR "STEP is '${STEP}'; it must be install, find_package or pkg_config")
endif()
