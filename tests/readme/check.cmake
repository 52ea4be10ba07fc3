# cmake -DREADME=README.md -DEXAMPLE=tests/readme/example.cpp -P tests/readme/check.cmake: fails where the README shows other code than is compiled.
file(READ "${README}" readme)
file(READ "${EXAMPLE}" example)
string(FIND "${readme}" "```cpp\n${example}```\n" position)
if(position EQUAL -1)
  message(FATAL_ERROR "The C++ block of ${README} is not ${EXAMPLE}: copy the file there")
endif()
