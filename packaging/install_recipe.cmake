# Runs at installation (install.cmake), after make_folder.cmake. A recipe is written for the prefix /usr; what is installed
# names the real one.

# Install SOURCE below the prefix, in FOLDER. TYPE: FILE, or PROGRAM if it is to be executable.
function(install_recipe SOURCE FOLDER TYPE)
  file(READ "${SOURCE}" text)
  string(REGEX REPLACE "/usr/(lib|libexec|share)/crosswind" "${INSTALLED_PREFIX}/\\1/crosswind" text "${text}")
  get_filename_component(name "${SOURCE}" NAME)
  file(WRITE "${INSTALLED_COPIES}/${FOLDER}/${name}" "${text}")
  make_folder("${FOLDER}")
  file(INSTALL "${INSTALLED_COPIES}/${FOLDER}/${name}" DESTINATION "${INSTALLED_PREFIX}/${FOLDER}" TYPE ${TYPE})
  set(CMAKE_INSTALL_MANIFEST_FILES "${CMAKE_INSTALL_MANIFEST_FILES}" PARENT_SCOPE)
endfunction()
