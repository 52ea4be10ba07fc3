# gpuhist_bundle(TARGET COMPONENT TEXTS [LIBRARIES]): installs the shared libraries that a program or module loads and that not every Linux has
# into the folder LIBRARIES, where the program finds them, and the licenses of these and of the slim libraries into the folder TEXTS. Without LIBRARIES
# the texts alone: in wheels auditwheel puts the libraries. Licenses are those that Debian's packages hold.
function(gpuhist_bundle target component texts)
  set(libraries ${ARGN})
  if(libraries)
    file(RELATIVE_PATH way "/${CMAKE_INSTALL_BINDIR}" "/${libraries}")
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/${way}")
    target_link_options(${target} PRIVATE -Wl,--disable-new-dtags) # the path is for what the libraries load, too
  endif()
  get_target_property(type ${target} TYPE)
  string(REGEX REPLACE "_LIBRARY$" "" type "${type}")
  set(slim ${GPUHIST_OPENCV} ${GPUHIST_ARCHIVE})
  list(TRANSFORM slim APPEND "/share/licenses")
  install(CODE "
    set(kind ${type}S)
    set(file \"$<TARGET_FILE:${target}>\")
    set(texts \"${texts}\")
    set(libraries \"${libraries}\")
    set(slim \"${slim}\")" COMPONENT ${component})
  install(SCRIPT "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/install_bundle.cmake" COMPONENT ${component})
endfunction()
