# Runs at installation (install.cmake). A recipe is written for the prefix /usr; what is installed names the real one.
get_filename_component(INSTALLED_PREFIX "${CMAKE_INSTALL_PREFIX}" ABSOLUTE)

# Install SOURCE below the prefix, in FOLDER. TYPE: FILE, or PROGRAM if it is to be executable.
function(install_recipe SOURCE FOLDER TYPE)
  file(READ "${SOURCE}" text)
  string(REGEX REPLACE "/usr/(lib|libexec|share)/crosswind" "${INSTALLED_PREFIX}/\\1/crosswind" text "${text}")
  get_filename_component(name "${SOURCE}" NAME)
  file(WRITE "${INSTALLED_COPIES}/${FOLDER}/${name}" "${text}")
  file(INSTALL "${INSTALLED_COPIES}/${FOLDER}/${name}" DESTINATION "${INSTALLED_PREFIX}/${FOLDER}" TYPE ${TYPE})
  set(CMAKE_INSTALL_MANIFEST_FILES "${CMAKE_INSTALL_MANIFEST_FILES}" PARENT_SCOPE)
endfunction()
