/* The command line of the load programs. */
#ifndef LOAD_OPTIONS_H
#define LOAD_OPTIONS_H

#include "load.h"

enum load_parsed { LOAD_GO, LOAD_HELPED, LOAD_MISUSED };

/* Read the arguments into `options` and the program's own options. Prints help, or one line about what is wrong, if
   `speaks`. */
enum load_parsed load_parse(int argc, char **argv, const struct load_program *program, struct load_options *options,
                            int speaks);

#endif
