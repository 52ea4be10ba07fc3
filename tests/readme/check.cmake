# cmake -DREADME=README.md … -P tests/readme/check.cmake: fails where the README shows something else than
#   -DEXAMPLE=tests/readme/example.cpp   the program that is compiled
#   -DPROGRAM=build/release/bin/gpuhist  the table that `gpuhist columns --format markdown` prints
file(READ "${README}" readme)
if(EXAMPLE)
  file(READ "${EXAMPLE}" example)
  string(FIND "${readme}" "```cpp\n${example}```\n" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "The C++ block of ${README} is not ${EXAMPLE}: copy the file there")
  endif()
endif()
if(PROGRAM)
  execute_process(COMMAND "${PROGRAM}" columns --format markdown OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
  string(FIND "${readme}" "<!-- gpuhist columns --format markdown -->\n\n${table}\n<!-- end of the columns -->\n" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "The table of columns in ${README} is not what `gpuhist columns --format markdown` prints: copy it there")
  endif()
endif()
