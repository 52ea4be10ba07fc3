# Untested: there was no vcpkg to try it with. The sources are those around it.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

# vcpkg has stb's headers at the top, gpuhist includes them as stb/, as Debian has them.
file(COPY "${CURRENT_INSTALLED_DIR}/include/stb_truetype.h" DESTINATION "${CURRENT_BUILDTREES_DIR}/include/stb")

set(cuda OFF)
if("cuda" IN_LIST FEATURES)
  set(cuda ON)
endif()
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DGPUHIST_TESTS=OFF -DGPUHIST_CUDA=${cuda} "-DGPUHIST_STB_INCLUDE_DIR=${CURRENT_BUILDTREES_DIR}/include")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/gpuhist)
vcpkg_copy_tools(TOOL_NAMES gpuhist AUTO_CLEAN)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/io/report/fonts/LICENSE" "${SOURCE_PATH}/app/licenses/stb_truetype.txt"
  "${SOURCE_PATH}/app/licenses/cli11.txt" "${SOURCE_PATH}/app/licenses/json.txt" "${SOURCE_PATH}/app/licenses/cub.txt")
