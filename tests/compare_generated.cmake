# SPDX-License-Identifier: Apache-2.0
# Fails if FILE differs from what `PROGRAM WHAT` prints. SOURCE: what PROGRAM was made from.
execute_process(COMMAND "${PROGRAM}" "${WHAT}" OUTPUT_VARIABLE fresh RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ${WHAT} failed: ${result}")
endif()
file(READ "${FILE}" kept)
if(NOT fresh STREQUAL kept)
  message(FATAL_ERROR "${FILE} is not what ${SOURCE} says.\nhint: ${PROGRAM} ${WHAT} > ${FILE}")
endif()
