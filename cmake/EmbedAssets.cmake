# Writes OUTPUT, a C++ source with the bytes of ASSETS: a list of NAME=FILE[+FILE...].
cmake_minimum_required(VERSION 3.25)
set(text "#include \"report/page_parts.hpp\"\n\nnamespace sharpen::report {\n")
foreach(asset IN LISTS ASSETS)
  string(REGEX MATCH "^([a-z_]+)=(.*)$" matched "${asset}")
  set(name "${CMAKE_MATCH_1}")
  string(REPLACE "+" ";" files "${CMAKE_MATCH_2}")
  set(bytes "")
  foreach(file IN LISTS files)
    file(READ "${file}" hex HEX)
    string(APPEND bytes "${hex}")
  endforeach()
  # A map of the sources would be asked for over the network: "//# sourceMappingURL=" to the end of
  # its line goes.
  string(REGEX REPLACE
    "2f2f2320736f757263654d617070696e6755524c3d([0-9a-f][0-9a-f])*$" "" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND text "\nstd::string_view ${name}() {\n  static constexpr char kBytes[] = {${bytes}};\n"
    "  return {kBytes, sizeof kBytes};\n}\n")
endforeach()
string(APPEND text "\n}  // namespace sharpen::report\n")
file(WRITE "${OUTPUT}" "${text}")
