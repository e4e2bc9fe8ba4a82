# Runs at installation (install.cmake).
get_filename_component(INSTALLED_PREFIX "${CMAKE_INSTALL_PREFIX}" ABSOLUTE)

# The dynamic linker takes LD_PRELOAD apart at spaces and colons, and would complain of the parts at every exec; recipes name
# the prefix in scripts of four languages.
if(NOT INSTALLED_PREFIX MATCHES "^[A-Za-z0-9/._+,=@~-]+$")
  message(FATAL_ERROR "${INSTALLED_PREFIX}: name a prefix of letters, digits and / . _ + , = @ ~ - only")
endif()

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
