# Runs at installation (install.cmake).
get_filename_component(INSTALLED_PREFIX "${CMAKE_INSTALL_PREFIX}" ABSOLUTE)

# Make a FOLDER below the prefix, and those above that are missing, open to all whatever the umask is. What is there stays
# as it is.
function(make_folder FOLDER)
  make_missing("$ENV{DESTDIR}${INSTALLED_PREFIX}/${FOLDER}")
endfunction()

function(make_missing PATH)
  if(NOT PATH OR EXISTS "${PATH}")
    return()
  endif()
  get_filename_component(above "${PATH}" DIRECTORY)
  make_missing("${above}")
  file(MAKE_DIRECTORY "${PATH}")
  file(CHMOD "${PATH}" PERMISSIONS ${CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS})
endfunction()
