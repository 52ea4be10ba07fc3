# cmake -DPAGE=README.md … -P tests/examples/check.cmake: fails where the page shows something else than
#   -DEXAMPLE=tests/examples/mat.cpp     a file, in a block of code
#   -DPROGRAM=build/release/bin/gpuhist  the table that `gpuhist columns --format markdown` prints
file(READ "${PAGE}" page)
if(EXAMPLE)
  file(READ "${EXAMPLE}" example)
  string(FIND "${page}" "```cpp\n${example}```\n" cpp)
  string(FIND "${page}" "```cmake\n${example}```\n" cmake)
  if(cpp EQUAL -1 AND cmake EQUAL -1)
    message(FATAL_ERROR "No block of code in ${PAGE} is ${EXAMPLE}: copy the file there")
  endif()
endif()
if(PROGRAM)
  execute_process(COMMAND "${PROGRAM}" columns --format markdown OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
  string(FIND "${page}" "<!-- gpuhist columns --format markdown -->\n\n${table}\n<!-- end of the columns -->\n" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "The table of columns in ${PAGE} is not what `gpuhist columns --format markdown` prints: copy it there")
  endif()
endif()
