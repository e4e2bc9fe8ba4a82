# Runs at installation (install.cmake).
get_filename_component(INSTALLED_PREFIX "${CMAKE_INSTALL_PREFIX}" ABSOLUTE)

# Make a FOLDER below the prefix, and those above that are missing, open to all whatever the umask is. What is there stays
# as it is.
function(make_folder FOLDER)
  set(missing)
  set(path "$ENV{DESTDIR}${INSTALLED_PREFIX}/${FOLDER}")
  while(path AND NOT EXISTS "${path}")
    list(PREPEND missing "${path}")
    get_filename_component(path "${path}" DIRECTORY)
  endwhile()
  foreach(path IN LISTS missing)
    file(MAKE_DIRECTORY "${path}")
    file(CHMOD "${path}" PERMISSIONS ${CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS})
  endforeach()
endfunction()
