# One short run that is the same every time: the corpus, then RUNS inputs from a fixed seed. What
# libFuzzer finds on the way goes to WORK, which starts empty; the corpus is only read.
file(GLOB seeds "${CORPUS}/*")
if(NOT seeds)
  message(FATAL_ERROR "no corpus in ${CORPUS}")
endif()
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
execute_process(
  COMMAND "${PROGRAM}" -runs=${RUNS} -seed=1 -max_len=2048 -timeout=10 -rss_limit_mb=2048
          "-artifact_prefix=${WORK}/" "${WORK}" "${CORPUS}"
  RESULT_VARIABLE result OUTPUT_VARIABLE log ERROR_VARIABLE log)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${log}\nThe input is in ${WORK}; add it to ${CORPUS} with the fix.")
endif()
