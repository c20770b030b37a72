# OpenBLAS (CBLAS and its thread control) with LAPACKE, as one target: OpenBLAS::Lapacke.
# Debian keeps LAPACKE in a library of its own; elsewhere OpenBLAS contains it.
find_library(OpenBLASLapacke_BLAS NAMES openblas)
find_library(OpenBLASLapacke_LAPACKE NAMES lapacke openblas)
# The reference BLAS has a cblas.h too, without openblas_set_num_threads: prefer OpenBLAS's own.
find_path(OpenBLASLapacke_INCLUDE_DIR NAMES openblas_config.h
  PATH_SUFFIXES openblas openblas-pthread openblas-openmp openblas-serial)
find_path(OpenBLASLapacke_LAPACKE_INCLUDE_DIR NAMES lapacke.h PATH_SUFFIXES openblas)
mark_as_advanced(OpenBLASLapacke_BLAS OpenBLASLapacke_LAPACKE OpenBLASLapacke_INCLUDE_DIR
                 OpenBLASLapacke_LAPACKE_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenBLASLapacke
  REQUIRED_VARS OpenBLASLapacke_BLAS OpenBLASLapacke_LAPACKE OpenBLASLapacke_INCLUDE_DIR
                OpenBLASLapacke_LAPACKE_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "on Debian: apt-get install libopenblas-dev liblapacke-dev")

if(OpenBLASLapacke_FOUND AND NOT TARGET OpenBLAS::Lapacke)
  add_library(OpenBLAS::Lapacke INTERFACE IMPORTED)
  set_target_properties(OpenBLAS::Lapacke PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES
      "${OpenBLASLapacke_INCLUDE_DIR};${OpenBLASLapacke_LAPACKE_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${OpenBLASLapacke_LAPACKE};${OpenBLASLapacke_BLAS}")
endif()
